"""From what a caller names to the file, its format, and how it is to be read."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dlsched import library
from dlsched.errors import OptionError, UnknownName
from dlsched.records.readers.columns import ColumnsLike, make_columns, parse_names
from dlsched.records.readers.format import RESOURCES, Source
from dlsched.records.readers.formats import FORMATS, detect, in_folder, no_format
from dlsched.records.readers.formats.tables import FORMATS as TABLES
from dlsched.records.readers.table import CHUNK
from dlsched.records.readers.values import find_zone

if TYPE_CHECKING:
    import pandas as pd

SHIPPED: Final = {
    "synthetic-1": "synthetic-1.csv.gz",
    "sample-philly": "samples/philly/cluster_job_log",
    "sample-helios": "samples/helios/cluster_log.csv",
    "sample-acme": "samples/acme/trace_kalos.csv",
    "sample-pai": "samples/pai/pai_task_table.csv",
    "sample-openb": "samples/openb/openb_pod_list_default.csv",
}
"""The traces that come with dlsched, and their files."""


def open_source(
    given: str | Path | pd.DataFrame,
    format: str,
    columns: ColumnsLike | None,
    names: str | Sequence[str] | None,
    *,
    delimiter: str | None = None,
    timezone: str | None = None,
    resource: str = "gpu",
    history: bool = False,
    limit: int | None = None,
) -> Source:
    """Return how a file or a data frame is read; `history` is whether starts are wanted."""
    if resource not in RESOURCES:
        raise UnknownName("resource", str(resource), RESOURCES)
    if format not in ("auto", *FORMATS):
        raise UnknownName("format", str(format), ["auto", *FORMATS])
    named = make_columns(columns) if columns is not None else ()
    header = None if names is None else parse_names(names)
    is_shipped = False
    frame: Any = None
    if hasattr(given, "columns"):
        frame, path, where, layout = given, Path(), "frame", "csv" if format == "auto" else format
    else:
        where = str(given)
        path, is_shipped = _locate(where)
        layout = format
        if os.path.isdir(path):
            path = in_folder(path, where, format)
        if layout == "auto":
            layout = _layout(path, where, bool(named), header, history)
    for option, value, takes in (
        ("columns", columns, TABLES),
        ("names", names, ("sacct", "csv")),
        ("delimiter", delimiter, ("sacct", *TABLES)),
    ):
        if value is not None and layout not in takes:
            raise OptionError(f"the format {layout} has columns of its own; leave {option}= out")
    if layout == "swf" and resource == "gpu":
        resource = "cpu"
    known = FORMATS[layout]
    source = Source(
        path,
        where,
        layout,
        known,
        is_shipped,
        frame,
        find_zone(timezone),
        timezone is not None,
        resource,
        named,
        header,
        delimiter,
        CHUNK if limit is None else min(CHUNK - 1, max(1000, 2 * limit)),
        history,
        known.has_durations,
    )
    if known.time is not None and format == "auto" and not {c.field for c in named} & {"submit"}:
        source.notes.append(
            f"the header is that of {known.title}: its times are taken as {known.time}; state "
            "another unit as columns={'submit': ('submit_time', 's'), 'duration': ('duration', "
            "'s')} (--column submit=submit_time:s)"
        )
    return source


def _layout(
    path: Path, where: str, named: bool, header: Sequence[str] | None, history: bool
) -> str:
    """Return the format of a file that is to be found out."""
    if header is not None:
        return "sacct" if {"jobid", "jobidraw"} & {name.lower() for name in header} else "csv"
    found = detect(path, where)
    if named and (found is None or not FORMATS[found].columns):
        return found or "csv"
    if found is None and not history and not named:
        raise no_format(path, where)
    return found or "csv"


def _locate(source: str) -> tuple[Path, bool]:
    """Return the path of a trace, and whether it comes with dlsched."""
    path = Path(source)
    if os.path.exists(path):  # of pathlib, a name too long is an OSError
        return path, False
    if source in SHIPPED:
        return library.root() / "traces" / SHIPPED[source], True
    if re.fullmatch(r"(sample|synthetic)-\w*", source):
        raise UnknownName("trace", source, SHIPPED)
    return path, False

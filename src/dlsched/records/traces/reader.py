"""Reading a trace: a published one as it is, or any CSV file by a mapping of its columns."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path

from dlsched import library
from dlsched.errors import InstanceError, OptionError, UnknownName
from dlsched.records.traces import rows
from dlsched.records.traces.choice import Choice, make_choice
from dlsched.records.traces.columns import MAPPINGS, Column, MappingLike, columns, record_fields
from dlsched.records.traces.formats import FORMATS, detect, format_names, in_folder
from dlsched.records.traces.job import RECORD, TraceJob
from dlsched.records.traces.lines import open_text
from dlsched.records.traces.record import TraceFormat
from dlsched.records.traces.selection import Selection
from dlsched.records.traces.table import Table
from dlsched.records.traces.trace import Trace

logger = logging.getLogger(__name__)

SHIPPED = {
    "synthetic-1": "synthetic-1.csv.gz",
    "sample-philly": "samples/philly/cluster_job_log",
    "sample-helios": "samples/helios/cluster_log.csv",
    "sample-acme": "samples/acme/trace_kalos.csv",
    "sample-pai": "samples/pai/pai_task_table.csv",
    "sample-openb": "samples/openb/openb_pod_list_default.csv",
}
"""The traces that come with dlsched, and their files."""
_DEFAULTS = {
    "states": None,
    "clusters": None,
    "min_gpus": 0,
    "fractional": "up",
    "plausibility": True,
}


def read_trace(
    source: str | Path,
    mapping: MappingLike = "auto",
    *,
    name: str | None = None,
    states: str | Sequence[str] | None = None,
    clusters: str | Sequence[str] | None = None,
    min_gpus: int = 0,
    fractional: str = "up",
    plausibility: bool = True,
) -> Trace:
    """Read a job trace: a published one as it is, or any ``.csv`` file; gzipped ones as well.

    What is left out or rounded is counted in `Trace.notes`, and logged under "dlsched" as warnings.

    Parameters
    ----------
    source
        A path, or the name of a trace that comes with dlsched (``"synthetic-1"``,
        ``"sample-philly"``). Of a folder or a tar archive the trace's file is taken.
    mapping
        The format: a name in `dlsched.records.FORMATS` (traces as they are published) or in
        `dlsched.records.MAPPINGS` (formats of one table), or ``"auto"``, by the beginning of the
        file. Or which column holds which field: ``{field: column or (column, unit)}``; see
        `dlsched.records.traces.columns.columns`. Columns that a mapping does not name are not read.
    name
        Name of the trace; by default that of the file without its suffixes.
    states
        The states of jobs that are taken, as the file spells them; by default all, failed jobs
        too, since they held their GPUs.
    clusters
        The clusters whose jobs are taken; `TraceFormat.cluster` says what that is. By default all.
    min_gpus
        Fewest GPUs of a job that is taken; 1 leaves out the jobs that have none.
    fractional
        How workers count that share a GPU, in the formats that have them: ``"up"``, the share of
        each worker is rounded up to whole GPUs; ``"total"``, the sum of a job's shares is;
        ``"drop"``, such jobs are left out.
    plausibility
        Whether values are refused that no trace has, as a job of 50 years.

    Raises
    ------
    InstanceError
        Naming the file, the row (the header is row 1), the column, the flaw and the remedy.
    OptionError, UnknownName
        If an option cannot be used, or no job has a state or a cluster that was asked for.
    """
    if not isinstance(source, str | PathLike):
        raise OptionError(
            f"read_trace takes the path of a file, not {type(source).__name__}; "
            "for a data frame there is Trace.from_frame"
        )
    if not str(source):
        raise OptionError("read_trace: the path is empty; name a trace's file")
    wanted = _columns(mapping)
    choice = make_choice(states, clusters, min_gpus, fractional, plausibility)
    where = str(source)
    path, is_shipped = _locate(where)
    layout = mapping if isinstance(mapping, str) else ""
    if wanted is None and os.path.isdir(path):
        path = in_folder(path, where, layout)
    if layout == "auto":
        layout = detect(path, where)
        wanted = _columns(layout)
    if wanted is None:
        jobs, notes = _read_format(path, where, layout, choice)
    else:
        optional = RECORD if layout in MAPPINGS else ()
        jobs, notes = _read_columns(path, where, wanted, choice, optional), ()
    if not jobs:
        raise _empty(where, notes, choice, FORMATS.get(layout))
    for note in notes:
        logger.warning("%s: %s", where, note)
    shown = repr(where if is_shipped else path.name)
    if (layout or mapping) != "muri" and not is_shipped:
        shown += f", {layout or mapping!r}"
    given = (states, clusters, min_gpus, fractional, plausibility)
    for (option, default), value in zip(_DEFAULTS.items(), given, strict=True):
        if value != default:
            shown += f", {option}={value!r}"
    return Trace(
        name=name or (where if is_shipped else _stem(path)) or "trace",
        jobs=tuple(jobs),
        source=f"read_trace({shown})",
        notes=tuple(notes),
    )


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


def _columns(mapping: MappingLike) -> tuple[Column, ...] | None:
    """Return the columns of a mapping; None for a published format, or one to be found out."""
    if not isinstance(mapping, str):
        return columns(mapping)
    if mapping in FORMATS or mapping == "auto":
        return None
    if mapping not in MAPPINGS:
        raise UnknownName("trace format", mapping, ["auto", *format_names()])
    return columns(mapping)


def _stem(path: Path) -> str:
    name = path.name
    for suffix in (".gz", ".tar", ".csv", ".json"):
        name = name.removesuffix(suffix)
    return name


def _read_format(
    path: Path, where: str, name: str, choice: Choice
) -> tuple[list[TraceJob], tuple[str, ...]]:
    layout = FORMATS[name]
    if choice.clusters is not None and layout.cluster is None:
        raise OptionError(f"{layout.title}, records no clusters; leave clusters out")
    notes: list[str] = []
    selection = Selection(layout, where, choice)
    jobs = selection.jobs(layout.read(path, where, notes))
    return jobs, (*selection.notes(), *notes)


def _read_columns(
    path: Path, where: str, wanted: Sequence[Column], choice: Choice, optional: Sequence[str]
) -> list[TraceJob]:
    """Return the chosen jobs; columns of `optional` fields are read where they are there."""
    for option in ("states", "clusters"):
        field = option.removesuffix("s")
        if getattr(choice, option) is not None and field not in {c.field for c in wanted}:
            raise OptionError(f"{option} needs mapping[{field!r}]; name the column that holds it")

    def found(table: Table, wanted: Sequence[Column]) -> Iterator[tuple[str, Sequence[str]]]:
        remedy = "rename one, or pass mapping="
        places = [table.place(column.name, remedy) for column in wanted]
        for row, cells in table.rows():
            yield f"row {row}", [cells[place] for place in places]

    with open_text(path, where) as text:
        table = Table(text, where)
        there = record_fields(name for name in optional if table.header.count(name) == 1)
        every = (*wanted, *there)
        return rows.jobs(found(table, every), where, every, rows.cell_value, choice)


def _empty(
    where: str, notes: Sequence[str], choice: Choice, layout: TraceFormat | None
) -> InstanceError:
    if not choice.met_states.total():
        in_rows = layout is None or layout.unit == "row"
        place, remedy = ("row 2", "write one row per job") if in_rows else ("", "list a job")
        return InstanceError(where, place, "there is no job", remedy)
    problem = "no job is left" + (f" ({notes[0]})" if notes else "")
    return InstanceError(where, "", problem, "choose other states, clusters, or fewer min_gpus")

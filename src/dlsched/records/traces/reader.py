"""Reading a trace: a published one as it is, a scheduler's record, or any table by its columns."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dlsched.errors import OptionError
from dlsched.records.readers.columns import ColumnsLike
from dlsched.records.readers.opening import open_source
from dlsched.records.traces.selection import Choice, select
from dlsched.records.traces.trace import Trace

if TYPE_CHECKING:
    pass

logger = logging.getLogger(__name__)

_DEFAULTS: Final[dict[str, Any]] = {
    **dict.fromkeys(("columns", "names", "delimiter", "timezone", "states", "clusters")),
    **{"min_gpus": 0, "fractional": "up", "missing": "error", "plausibility": True},
    **dict.fromkeys(("seconds", "limit")),
}


def read_trace(
    source: str | Path,
    format: str | ColumnsLike = "auto",
    *,
    columns: ColumnsLike | None = None,
    names: str | Sequence[str] | None = None,
    delimiter: str | None = None,
    timezone: str | None = None,
    name: str | None = None,
    states: str | Sequence[str] | None = None,
    clusters: str | Sequence[str] | None = None,
    min_gpus: int = 0,
    fractional: str = "up",
    missing: str = "error",
    plausibility: bool = True,
    seconds: Mapping[str, float] | None = None,
    limit: int | None = None,
) -> Trace:
    """Read a job trace: a published one as it is, a scheduler's record, or any table.

    What is left out or rounded is counted in `Trace.notes`, and logged under "dlsched" as warnings.

    Parameters
    ----------
    source
        A path, or the name of a trace that comes with dlsched (``"synthetic-1"``,
        ``"sample-philly"``). Of a folder or a tar archive the trace's file is taken. Gzipped files
        are read as well.
    format
        A name in `dlsched.records.FORMATS`, or ``"auto"``, by the beginning of the file; or what is
        meant for `columns`.
    columns
        Which column holds which field: ``{field: column or (column, unit)}``; see
        `dlsched.records.readers.columns.make_columns`. Columns that are called like a field need
        not be named. With a named format, in place of its own columns.
    names, delimiter
        Of a table without a header, the names of its columns in order; what is between them.
    timezone
        The zone of dates without one, as ``"Europe/Berlin"``; None for UTC.
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
        How workers count that share a GPU: ``"up"``, the share of each worker is rounded up to
        whole GPUs; ``"total"``, the sum of a job's shares is; ``"drop"``, such jobs are left out.
    missing
        What becomes of a row of a table that lacks a time or GPUs: ``"error"``, or ``"drop"``, left
        out and counted, as in published traces.
    plausibility
        Whether values are refused that no trace has, as a job of 50 years.
    seconds
        For traces that record no durations (Gavel's, Pollux'): by model, seconds of an iteration,
        or of a whole job where no iterations are recorded.
    limit
        Most jobs that are taken, from the first of the file on; no more is read than they need.

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
    given = dict(locals())
    if isinstance(format, Mapping):
        columns, format = format, "csv"
        given["columns"] = columns
    choice = Choice(
        states, clusters, min_gpus, fractional, missing, plausibility, seconds or {}, limit
    )
    options: dict[str, Any] = {"delimiter": delimiter, "timezone": timezone, "limit": limit}
    opened = open_source(source, str(format), columns, names, **options)
    jobs, notes = select(opened, choice)
    where = str(source)
    for note in notes:
        logger.warning("%s: %s", where, note)
    shown = repr(where if opened.is_shipped else opened.source.path.name)
    if opened.format not in ("muri", "csv") and not opened.is_shipped:
        shown += f", {opened.format!r}"
    for option, default in _DEFAULTS.items():
        if given[option] != default:
            shown += f", {option}={given[option]!r}"
    return Trace(
        name=name or (where if opened.is_shipped else _stem(opened.source.path)) or "trace",
        jobs=jobs,
        source=f"read_trace({shown})",
        notes=notes,
    )


def _stem(path: Path) -> str:
    name = path.name
    for suffix in (".gz", ".tar", ".csv", ".json", ".trace"):
        name = name.removesuffix(suffix)
    return name

"""`read_history`: a scheduler's record becomes a history."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from dlsched.errors import OptionError, UnknownName
from dlsched.records.history import from_trace, kueue, sacct, swf, table
from dlsched.records.history.assembly import Assembly, horizon_of
from dlsched.records.history.fields import FORMATS, RESOURCES
from dlsched.records.history.history import History
from dlsched.records.history.raw import Record
from dlsched.records.history.times import find_zone
from dlsched.records.traces.formats import FORMATS as PUBLISHED
from dlsched.records.traces.lines import open_text
from dlsched.records.traces.reader import SHIPPED, read_trace
from dlsched.records.traces.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)


def read_history(
    source: str | Path | pd.DataFrame | Trace,
    format: str = "auto",
    *,
    timezone: str | None = None,
    resource: str = "gpu",
    nodes: str | Path | pd.DataFrame | None = None,
    columns: Sequence[str] | Mapping[str, str] | None = None,
    delimiter: str | None = None,
) -> History:
    """Read what a scheduler recorded.

    Parameters
    ----------
    source
        A file, plain or gzipped; for ``"csv"`` a data frame, too; a job trace whose jobs have a
        record, or the name of one that comes with dlsched (``"sample-helios"``).
    format
        ``"sacct"`` (Slurm), ``"swf"`` (Standard Workload Format 2.2), ``"kueue"`` (workloads as
        JSON), ``"csv"`` (a table with named columns), the name of a published trace
        (`dlsched.records.FORMATS`: ``"philly"``, ``"helios"``, ...), or ``"auto"``, by the file's
        beginning.
    timezone
        The zone of times without one, as ``"Europe/Berlin"``; None for UTC, which a note says.
    resource
        What jobs are counted in: ``"gpu"``, ``"cpu"`` or ``"node"``; the processors of SWF are
        CPUs.
    nodes
        The cluster's nodes: a CSV file or data frame with the columns ``name``, ``gpus``,
        ``gpu_type``, ``partitions``, or what ``sinfo -N -o "%N|%G|%P"`` prints; None for the peak
        of the recorded occupancy, which a note says.
    columns
        Of ``"sacct"`` without a header: the names of the fields in order. Of ``"csv"``: which
        column holds which field, as ``{"submit": "qtime"}``; by default they are called alike.
    delimiter
        Between columns; by default found out from the first line.

    Raises
    ------
    InstanceError
        If the file as a whole cannot be used, naming row, column and remedy. A single row that
        cannot be used is in `History.dropped`.
    OptionError, UnknownName
        If an option cannot be used.
    """
    where = _name(source)
    if resource not in RESOURCES:
        raise UnknownName("resource", str(resource), RESOURCES)
    if format not in ("auto", *FORMATS, *PUBLISHED):
        raise UnknownName("format of a history", str(format), ("auto", *FORMATS, *PUBLISHED))
    zone = find_zone(timezone)
    layout = _format(source, where, format)
    if layout == "swf" and resource == "gpu":
        resource = "cpu"
    record = _read(source, where, layout, zone, resource, columns, delimiter)
    if record.zone is not None and timezone is None:
        zone = find_zone(record.zone)
    made = Assembly(record, where, resource, zone, timezone is not None, nodes).run()
    for note in (*made.warnings, *made.notes):
        logger.warning("%s: %s", where, note)
    return History(
        jobs=made.jobs,
        dropped=made.dropped,
        notes=tuple(made.notes),
        warnings=tuple(made.warnings),
        capacity=made.capacity,
        rows=record.raw.size,
        where=where,
        format=layout,
        resource=resource,
        timezone=zone.key,
        dated=record.dated,
        recorded_waits="model" not in record.raw.columns,
        horizon=horizon_of(record.raw),
    )


def _name(source: str | Path | pd.DataFrame | Trace) -> str:
    """Return what the source is called in errors."""
    if isinstance(source, Trace):
        return source.name
    return "frame" if hasattr(source, "columns") else str(source)


def _format(source: str | Path | pd.DataFrame | Trace, where: str, format: str) -> str:
    """Return the format, by the beginning of the file if it is to be found out."""
    if isinstance(source, Trace) or (isinstance(source, str) and source in SHIPPED):
        return "trace"
    if hasattr(source, "columns"):
        if format not in ("auto", "csv"):
            raise OptionError(f"a data frame is read as 'csv', not as {format!r}")
        return "csv"
    return detect(Path(source), where) if format == "auto" else format


def detect(path: Path, where: str) -> str:
    """Return the format of a file, by its beginning.

    Raises
    ------
    InstanceError
        If it cannot be read.
    """
    with open_text(path, where) as text:
        head = text.read(2**16)
    line = head.lstrip("\n\r").partition("\n")[0]
    if sacct.recognises(line):
        return "sacct"
    published = next((name for name, one in PUBLISHED.items() if one.recognises(head)), None)
    if published is not None:
        return published
    if kueue.recognises(head):
        return "kueue"
    return "swf" if swf.recognises(line) else "csv"


def _read(
    source: str | Path | pd.DataFrame | Trace,
    where: str,
    layout: str,
    zone: ZoneInfo,
    resource: str,
    columns: Sequence[str] | Mapping[str, str] | None,
    delimiter: str | None,
) -> Record:
    """Return the rows of the source."""
    if layout not in ("sacct", "csv") and (columns is not None or delimiter is not None):
        raise OptionError(f"the format {layout} has columns of its own; leave columns= out")
    if layout == "trace" or layout in PUBLISHED:
        if resource != "gpu":
            raise OptionError(f"a trace counts GPUs, not resource={resource!r}; leave it out")
        if isinstance(source, Trace):
            return from_trace.read(source)
        return from_trace.read(read_trace(str(source), "auto" if layout == "trace" else layout))
    if layout == "csv":
        if columns is not None and not isinstance(columns, Mapping):
            raise OptionError("columns of a table are {field: column}, as {'submit': 'qtime'}")
        frame: Any = source if hasattr(source, "columns") else Path(str(source))
        return table.read(frame, where, zone, columns, delimiter)
    path = Path(str(source))
    if layout == "swf":
        return swf.read(path, where, resource)
    if layout == "kueue":
        return kueue.read(path, where, resource)
    if isinstance(columns, Mapping):
        raise OptionError("columns of sacct are names in order, as ['jobid', 'submit', ...]")
    return sacct.read(path, where, zone, resource, columns, delimiter)

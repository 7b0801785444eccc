"""What a scheduler recorded: its jobs, what was left out of them, and the nodes."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched.errors import InstanceError, OptionError
from dlsched.records.assembly import Assembly
from dlsched.records.capacity import Capacity, read_nodes
from dlsched.records.projection import names_of
from dlsched.records.readers.format import Source, TraceFormat
from dlsched.records.readers.opening import open_source
from dlsched.records.readers.rows import NUMBERS, Rows, empty, join, objects
from dlsched.records.readers.values import counted, find_zone
from dlsched.records.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)
OF_TRACE = TraceFormat("a job trace", lambda source: iter(()), lambda head: False)
"""The format of a trace that is read already."""


@dataclass(frozen=True)
class JobRecord:
    """What a scheduler recorded.

    The columns of `jobs`:

    ========= ==================== ==========================================================
    field     type                 meaning
    ========= ==================== ==========================================================
    id        text                 unique; a further run of an id is ``id#2``, ``id#3``
    user      text or None         who submitted it
    account   text or None         project or group that it was charged to
    partition text or None         partition or queue
    gpus      int                  amount of the resource that it held, or asked for if
                                   it never started: GPUs, or CPUs, or nodes
    gpu_type  text or None         type of its GPUs, as ``a100``; ``a100|h100`` if it may
                                   have either, ``a100+v100`` if it held both
    submit    float                when it was submitted
    eligible  float or NaN         when it could have started for the first time
    start     float or NaN         when it started; NaN if it never did
    end       float or NaN         when it ended; NaN if it still ran, or never started
    state     text or None         state by its first word, as ``COMPLETED``
    limit     float or NaN         its time limit in seconds; infinite if it has none
    nodes     tuple of (text, int) the nodes that it held, and how much on each; empty
                                   if they are not recorded
    row       int                  its row in the file, the first row being 1
    cpus      float or NaN         CPUs in total
    memory    float or NaN         GB of memory in total
    features  text or None         what it needs of its nodes, as ``ib&a100|h100``
    qos       text or None         its quality of service
    priority  float or NaN         its priority; what is high is the scheduler's to say
    cluster   text or None         the cluster that it ran on
    ========= ==================== ==========================================================

    Moments are in seconds since 1970 in UTC. Where the record has no dates (SWF without
    UnixStartTime), they count from the record's own origin.

    Attributes
    ----------
    jobs
        Data frame with one row per job, in the order of submission.
    dropped
        Data frame with one row per row of the file that is no job here: ``row``, ``id``,
        ``reason``.
    others
        Data frame of the jobs that hold nothing of the resource, but CPUs of the nodes: ``id``,
        ``cpus``, ``start``, ``end``, ``nodes`` (names).
    notes
        Sentences: what was assumed, left out or corrected, with counts.
    warnings
        Those of the notes that belong at the head of a report.
    capacity
        The nodes, and where they are known from.
    rows
        Rows of the file, without its header.
    where
        The file's name.
    format
        One of `dlsched.records.FORMATS`, or ``"trace"``.
    resource
        ``"gpu"``, ``"cpu"`` or ``"node"``: what the column ``gpus`` counts.
    timezone
        The zone in which the file's times were taken.
    dated
        Whether moments are seconds since 1970; otherwise they count from the record's own origin.
    recorded_waits
        Whether the record says when jobs started; models of workloads do not.
    horizon
        The latest moment of the record: what has no end by then still ran.
    """

    jobs: pd.DataFrame
    dropped: pd.DataFrame
    others: pd.DataFrame = field(repr=False)
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    capacity: Capacity
    rows: int
    where: str
    format: str
    resource: str
    timezone: str
    dated: bool
    recorded_waits: bool
    horizon: float

    @property
    def window(self) -> tuple[float, float]:
        """First submission and latest moment of the record, in seconds since 1970."""
        return float(self.jobs["submit"].min()), self.horizon

    @property
    def partitions(self) -> list[str]:
        """The partitions of the jobs, those with most jobs first."""
        return [str(name) for name in self.jobs["partition"].value_counts().index]


def read_record(
    source: str | Path | pd.DataFrame | Trace,
    format: str = "auto",
    *,
    resource: str = "gpu",
    nodes: str | Path | pd.DataFrame | None = None,
    clusters: str | Sequence[str] | None = None,
    limit: int | None = None,
    **options: Any,
) -> JobRecord:
    """Read what a scheduler recorded; see `dlsched.read_history` for the options."""
    chosen = names_of("clusters", clusters)
    if isinstance(source, Trace):
        opened = Source(Path(), source.name, "trace", OF_TRACE, notes=[*source.notes])
        rows = _rows_of(source)
    else:
        options = {"columns": None, "names": None, "resource": resource, **options}
        opened = open_source(source, format, history=True, limit=limit, **options)
        rows = _read(opened, limit)
    if opened.zone_named is not None and not opened.zone_given:
        opened.zone = find_zone(opened.zone_named)
    if not opened.layout.record:
        if resource != "gpu":
            raise OptionError(f"a trace counts GPUs, not resource={resource!r}; leave it out")
        _as_record(rows, opened)
    made = Assembly(rows, opened, None if nodes is None else read_nodes(nodes), chosen)
    made.run()
    for note in (*made.warnings, *made.notes):
        logger.warning("%s: %s", opened.where, note)
    return JobRecord(
        jobs=made.jobs,
        dropped=made.dropped(),
        others=made.others,
        notes=tuple(made.notes),
        warnings=tuple(made.warnings),
        capacity=made.capacity,
        rows=rows.size,
        where=opened.where,
        format="trace" if opened.is_shipped else opened.format,
        resource=opened.resource,
        timezone=opened.zone.key,
        dated=opened.dated,
        recorded_waits=not opened.is_model,
        horizon=made.horizon,
    )


def _read(source: Source, limit: int | None) -> Rows:
    """Return the rows of a source, as many as are wanted."""
    parts: list[Rows] = []
    for rows in source.layout.read(source):
        parts.append(rows)
        if limit is not None and sum(part.size for part in parts) >= limit:
            break
    if not parts:
        raise InstanceError(source.where, "", "there is no job", "read a file that has jobs")
    return join(parts).head(limit)


def _rows_of(trace: Trace) -> Rows:
    """Return the jobs of a trace as rows; a job runs for its duration from its first start on."""
    jobs = trace.jobs
    rows = empty(len(jobs))
    columns = rows.columns
    for name in ("id", "user", "account", "partition", "gpu_type", "state", "qos"):
        columns[name] = np.array([getattr(job, name) for job in jobs], object)
    for name in ("gpus", "submit", "duration", "eligible", "start", "limit", *NUMBERS):
        values = [getattr(job, name) for job in jobs]
        columns[name] = np.array([np.nan if v is None else float(v) for v in values])
    columns["elapsed"] = columns.pop("duration")
    columns["end"] = columns["start"] + columns["elapsed"]
    columns["nodes"] = objects([tuple(name for name, _ in job.nodes) for job in jobs])
    columns["amounts"] = objects([tuple(gpus for _, gpus in job.nodes) for job in jobs])
    return rows


def _as_record(rows: Rows, source: Source) -> None:
    """Make rows of a trace those of a record, of which starts and ends are known."""
    columns = rows.columns
    if np.isnan(columns["start"]).all():
        raise InstanceError(
            source.where, "jobs", "have no recorded start", "read a format that has it, as helios"
        )
    for name in ("id", "gpus", *("submit", "eligible", "start", "end")):
        source.fields.setdefault(name, name)
    stated = rows.get("unknown")
    lacks = np.isnan(columns["end"] - columns["start"])
    reasons = [text or "without a start or an end" for text in stated[lacks]]
    rows.refuse(lacks, source.fields["end"], reasons, fault=False)
    shares = rows.usable & (rows.get("share") % 1 > 0)
    if shares.any():
        source.notes.append(
            f"{counted(int(shares.sum()), 'job')} with a fraction of a GPU: each worker's share is "
            "rounded up to whole GPUs"
        )
    early = columns["start"] < columns["submit"]
    columns["submit"][early] = columns["start"][early]
    if early.any():
        source.notes.append(
            f"{counted(int(early.sum()), 'job')} started before the submission, as clocks differ: "
            "submitted at the start"
        )

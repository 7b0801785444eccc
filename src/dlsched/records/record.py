"""What a scheduler recorded: its jobs, what was left out of them, and the nodes."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dlsched.errors import InstanceError, OptionError
from dlsched.records.assembly import Assembly
from dlsched.records.capacity import Capacity, read_nodes
from dlsched.records.projection import names_of
from dlsched.records.readers.columns import ColumnsLike
from dlsched.records.readers.format import Source, TraceFormat
from dlsched.records.readers.opening import Opened, open_source
from dlsched.records.readers.rows import NUMBERS, Rows, empty, join, tuples
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

    Attributes
    ----------
    jobs
        Data frame with one row per job, in the order of submission; its columns are described in
        `dlsched.records.fields`.
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
    columns: ColumnsLike | None = None,
    names: str | Sequence[str] | None = None,
    delimiter: str | None = None,
    timezone: str | None = None,
    resource: str = "gpu",
    nodes: str | Path | pd.DataFrame | None = None,
    clusters: str | Sequence[str] | None = None,
    limit: int | None = None,
) -> JobRecord:
    """Read what a scheduler recorded; see `dlsched.read_history`."""
    chosen = names_of("clusters", clusters)
    if isinstance(source, Trace):
        if resource != "gpu":
            raise OptionError(f"a trace counts GPUs, not resource={resource!r}; leave it out")
        opened = Opened(Source(Path(), source.name), "trace", OF_TRACE, False)
        opened.source.notes += source.notes
        rows = _rows_of(source)
    else:
        opened = open_source(
            source,
            format,
            columns,
            names,
            delimiter=delimiter,
            timezone=timezone,
            resource=resource,
            history=True,
            limit=limit,
        )
        rows = _read(opened, limit)
    facts, layout = opened.source, opened.layout
    zone = facts.zone
    if facts.zone_named is not None and timezone is None:
        zone = find_zone(facts.zone_named)
    if not layout.record:
        if resource != "gpu":
            raise OptionError(f"a trace counts GPUs, not resource={resource!r}; leave it out")
        _as_record(rows, facts)
    listed = None if nodes is None else read_nodes(nodes)
    made = Assembly(rows, facts, layout, zone, timezone is not None, listed, chosen)
    made.run()
    for note in (*made.warnings, *made.notes):
        logger.warning("%s: %s", facts.where, note)
    return JobRecord(
        jobs=made.jobs,
        dropped=made.dropped(),
        others=made.others,
        notes=tuple(made.notes),
        warnings=tuple(made.warnings),
        capacity=made.capacity,
        rows=rows.size,
        where=facts.where,
        format=opened.format if not opened.is_shipped else "trace",
        resource=facts.resource,
        timezone=zone.key,
        dated=facts.dated,
        recorded_waits=not facts.is_model,
        horizon=made.horizon,
    )


def _read(opened: Opened, limit: int | None) -> Rows:
    """Return the rows of a source, as many as are wanted."""
    parts: list[Rows] = []
    size = 0
    for rows in opened.layout.read(opened.source):
        parts.append(rows)
        size += rows.size
        if limit is not None and size >= limit:
            break
    if not parts:
        where = opened.source.where
        raise InstanceError(where, "", "there is no job", "read a file that has jobs")
    return join(parts).head(limit)


def _rows_of(trace: Trace) -> Rows:
    """Return the jobs of a trace as rows; a job runs for its duration from its first start on."""
    jobs = trace.jobs
    rows = empty(len(jobs))
    columns = rows.columns
    columns["row"] = np.arange(1, rows.size + 1)
    columns["id"] = np.array([job.id for job in jobs], object)
    columns["gpus"] = np.array([job.gpus for job in jobs], float)
    for name in ("user", "account", "partition", "gpu_type", "state", "qos"):
        columns[name] = np.array([getattr(job, name) for job in jobs], object)
    for name in ("submit", "eligible", "start", "limit", *NUMBERS):
        values = [getattr(job, name) for job in jobs]
        columns[name] = np.array([np.nan if v is None else float(v) for v in values])
    columns["elapsed"] = np.array([float(job.duration) for job in jobs])
    columns["end"] = columns["start"] + columns["elapsed"]
    columns["nodes"] = tuples([tuple(name for name, _ in job.nodes) for job in jobs])
    columns["amounts"] = tuples([tuple(gpus for _, gpus in job.nodes) for job in jobs])
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

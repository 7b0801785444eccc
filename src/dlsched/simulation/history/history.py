"""A cluster's history: what its scheduler recorded, checked, explained and replayed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dlsched.display.markup import lines_html
from dlsched.records.readers.columns import ColumnsLike
from dlsched.records.readers.values import find_zone, parse_moment
from dlsched.records.record import JobRecord, read_record
from dlsched.records.trace import Trace
from dlsched.results.result import Report
from dlsched.simulation.history.explanation import Explanation
from dlsched.simulation.history.period import Moment, Period, make_period
from dlsched.text.figures import shorten

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 10
"""Jobs that a notebook shows."""


@dataclass(frozen=True, repr=False)
class History(JobRecord):
    """What a scheduler recorded, to be checked, explained and replayed; see `JobRecord`."""

    def __repr__(self) -> str:
        """Return the file and counts of jobs, dropped rows and nodes."""
        started = int(self.jobs["start"].notna().sum())
        unit = {"gpu": "GPUs", "cpu": "CPUs", "node": "nodes"}[self.resource]
        return (
            f"<history {shorten(self.where, 60)!r} ({self.format}): {len(self.jobs):,} jobs, "
            f"{started:,} started; {len(self.dropped):,} rows dropped; {self.capacity.total:,} "
            f"{unit} on {len(self.capacity.nodes):,} nodes>"
        )

    def _repr_html_(self) -> str:
        """Return the same for a notebook, with the notes and the first jobs."""
        notes = (*self.warnings, *self.notes)
        jobs: str = self.jobs.head(_SHOWN).to_html(index=False)
        return lines_html(repr(self)[1:-1], *notes) + jobs

    def within(
        self,
        since: Moment | None = None,
        until: Moment | None = None,
        *,
        partition: str | None = None,
    ) -> Period:
        """Return a part of the history that can be replayed and simulated.

        Parameters
        ----------
        since, until
            A date (``"2026-01-08"``, ``"2026-01-08T12:00"``, in the history's time zone) or seconds
            since 1970; by default the whole record.
        partition
            The partition whose jobs are taken, with its nodes; by default all.

        Raises
        ------
        OptionError, UnknownName
            If a moment or the partition is none, or no job is left.
        """
        zone = find_zone(self.timezone)
        first, last = self.window
        begin = first if since is None else parse_moment(since, zone, "since")
        end = last if until is None else parse_moment(until, zone, "until")
        window, horizon = (begin, end), self.horizon
        return make_period(self.jobs, self.others, self.capacity, window, partition, horizon)

    def check(self) -> Report:
        """Return whether a replay of the recorded starts agrees with the record.

        See `dlsched.simulation.history.period.Period.check`.
        """
        return self.within().check()

    @property
    def explained(self) -> Explanation:
        """The recorded waiting of the whole history, divided by its causes."""
        return self.within().explained


def read_history(
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
) -> History:
    """Read what a scheduler recorded.

    Parameters
    ----------
    source
        A file, plain or gzipped; a data frame; a job trace whose jobs have a record, or the name of
        one that comes with dlsched (``"sample-helios"``).
    format
        ``"sacct"`` (Slurm, text or JSON), ``"swf"`` (Standard Workload Format 2.2), ``"kueue"``
        (workloads as JSON or YAML), ``"csv"`` (a table with named columns), the name of a published
        trace (`dlsched.records.FORMATS`: ``"philly"``, ``"helios"``, ...), or ``"auto"``, by the
        file's beginning.
    columns, names, delimiter, timezone
        As in `dlsched.records.read_trace`. A note says that no zone is given, or which is taken.
    resource
        What jobs are counted in: ``"gpu"``, ``"cpu"`` or ``"node"``; the processors of SWF are
        CPUs.
    nodes
        The cluster's nodes: a CSV file or data frame with the columns ``name``, ``gpus``,
        ``gpu_type``, ``partitions``, ``cluster``, or what ``sinfo -N -o "%N|%G|%P"`` prints; None
        for the peak of the recorded occupancy, which a note says.
    clusters
        The clusters whose jobs are read; by default all, each with ids, nodes and partitions of its
        own.
    limit
        Most rows that are read, from the first on; None for all.

    Raises
    ------
    InstanceError
        If the file as a whole cannot be used, naming row, column and remedy. A single row that
        cannot be used is in `History.dropped`.
    OptionError, UnknownName
        If an option cannot be used.
    """
    record = read_record(
        source,
        format,
        columns=columns,
        names=names,
        delimiter=delimiter,
        timezone=timezone,
        resource=resource,
        nodes=nodes,
        clusters=clusters,
        limit=limit,
    )
    return History(**vars(record))

"""A cluster's history: the jobs that its scheduler recorded, and what was left out of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dlsched.display.markup import block, heading, line
from dlsched.records.history.capacity import Capacity
from dlsched.records.history.explanation import Explanation
from dlsched.records.history.period import Moment, Period, make_period
from dlsched.records.readers.values import find_zone, parse_moment
from dlsched.results.result import Report
from dlsched.text.figures import shorten

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 10
"""Jobs that a notebook shows."""


@dataclass(frozen=True)
class History:
    """What a scheduler recorded.

    Attributes
    ----------
    jobs
        Data frame with one row per job, in the order of submission; its columns are described in
        `dlsched.records.history.fields`.
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
        notes = [line(note) for note in (*self.warnings, *self.notes)]
        jobs = self.jobs.head(_SHOWN).to_html(index=False)
        return block(heading("history", self.where), line(repr(self)[1:-1]), *notes, jobs)

    @property
    def window(self) -> tuple[float, float]:
        """First submission and latest moment of the record, in seconds since 1970."""
        return float(self.jobs["submit"].min()), self.horizon

    @property
    def partitions(self) -> list[str]:
        """The partitions of the jobs, those with most jobs first."""
        return [str(name) for name in self.jobs["partition"].value_counts().index]

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

        See `dlsched.records.history.period.Period.check`.
        """
        return self.within().check()

    @property
    def explained(self) -> Explanation:
        """The recorded waiting of the whole history, divided by its causes."""
        return self.within().explained

"""A cluster's history: the jobs that its scheduler recorded, and what was left out of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dlsched.history.capacity import Capacity
from dlsched.history.explanation import Explanation
from dlsched.history.period import Moment, Period
from dlsched.results.result import Report

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class History:
    """What a scheduler recorded.

    Attributes
    ----------
    jobs
        Data frame with one row per job, in the order of submission; its columns are described in
        `dlsched.history.fields`.
    dropped
        Data frame with one row per row of the file that is no job here: ``row``, ``id``,
        ``reason``.
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
        ``"sacct"``, ``"swf"``, ``"kueue"`` or ``"csv"``.
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
        """First submission and last moment of the record, in seconds since 1970."""
        raise NotImplementedError

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
        """
        raise NotImplementedError

    def check(self) -> Report:
        """Return whether a replay of the recorded starts agrees with the record.

        See `dlsched.history.period.Period.check`.
        """
        return self.within().check()

    @property
    def explained(self) -> Explanation:
        """The recorded waiting of the whole history, divided by its causes."""
        return self.within().explained

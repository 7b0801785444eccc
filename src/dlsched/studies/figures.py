"""The figures of a study: what became of a history's jobs, in the record and under policies."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from dlsched.errors import UnknownName
from dlsched.results.result import Report
from dlsched.simulation.history import Explanation, History, Knows, Period
from dlsched.studies.groups import GROUPS, group_rows
from dlsched.studies.limits import Limit
from dlsched.studies.outcome import Outcome, earlier, later

if TYPE_CHECKING:
    import pandas as pd

BOUND: Final = "no schedule below"
"""Name of the certified bound in the table."""
BOUND_SHARING: Final = "no schedule below, GPUs shared"
HOUR = 3600.0


@dataclass(frozen=True)
class Figures:
    """What a study says of a history.

    Attributes
    ----------
    history, period
        The record, and the part of it that is studied.
    knows
        What policies took for the durations of jobs.
    check
        Whether a replay of the recorded starts agrees with the record.
    recorded, outcomes
        What became of the counted jobs in the record, and under each policy.
    limits
        The certified lower bounds; empty if none was asked for.
    assumptions
        Sentences.
    """

    history: History
    period: Period
    knows: Knows
    check: Report
    recorded: Outcome
    outcomes: tuple[Outcome, ...]
    limits: tuple[Limit, ...]
    assumptions: tuple[str, ...] = field(repr=False)

    @property
    def explained(self) -> Explanation:
        """The recorded waiting of the counted jobs, divided by its causes."""
        return self.period.explained

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for the record, each policy and each bound; times in seconds.

        ``policy``; ``jobs``; mean, median, p95, p99 of ``jct`` (submission to end) and ``wait``;
        ``mean_slowdown`` (over the running time); ``utilization`` in the window; ``preemptions``;
        ``saved_wait`` and ``saved_jct``, the recorded mean less this one; ``gap``, the share of the
        mean completion time above the bound; ``wait_hours``, ``saved_hours``, ``idle_gpu_hours``
        (idle while jobs waited), ``earlier`` and ``later`` (jobs whose wait differs from the
        recorded one by more than a second): their sums over any `by` are these.
        """
        import pandas as pd

        rows = []
        for outcome in (self.recorded, *self.outcomes):
            row = outcome.row
            row["saved_wait"] = self.recorded.row["mean_wait"] - row["mean_wait"]
            row["saved_jct"] = self.recorded.row["mean_jct"] - row["mean_jct"]
            limit = self.limit_of(outcome)
            row["gap"] = None
            if limit is not None and row["mean_jct"]:
                row["gap"] = 1 - limit.mean_jct / row["mean_jct"]
            row |= self.sums(outcome)
            rows.append(row)
        for limit in self.limits:
            name = BOUND_SHARING if limit.sharing else BOUND
            rows.append({"policy": name, "jobs": len(self.recorded.jobs)})
            rows[-1] |= {"mean_jct": limit.mean_jct, "mean_wait": limit.mean_wait}
        return pd.DataFrame(rows)

    def sums(self, outcome: Outcome) -> dict[str, float]:
        """Return what is added up over jobs."""
        wait, recorded = outcome.jobs["wait"].sum(), self.recorded.jobs["wait"].sum()
        return {
            "wait_hours": float(wait) / HOUR,
            "saved_hours": float(recorded - wait) / HOUR,
            "idle_gpu_hours": float(outcome.jobs["idle"].sum()) / HOUR,
            "earlier": int(earlier(outcome, self.recorded).sum()),
            "later": int(later(outcome, self.recorded).sum()),
        }

    def limit_of(self, outcome: Outcome) -> Limit | None:
        """Return the bound that holds for an outcome; None if there is none."""
        fitting = [limit for limit in self.limits if limit.sharing == outcome.shares_gpus]
        return fitting[0] if fitting else None

    def by(self, what: str) -> pd.DataFrame:
        """Return who gains and who loses: one row for each group and policy.

        Columns: the group, ``policy``, ``jobs``, ``mean_wait`` (seconds), ``wait_hours``,
        ``saved_hours``, ``idle_gpu_hours``, ``earlier``, ``later``; groups with most recorded
        waiting first. The sums over groups are those of `table`.

        Parameters
        ----------
        what
            ``"user"``, ``"account"``, ``"partition"`` or ``"size"`` (GPUs, in powers of two).

        Raises
        ------
        UnknownName
            If it is none of these.
        """
        if what not in GROUPS:
            raise UnknownName("group", str(what), GROUPS)
        return group_rows(what, self.recorded, self.outcomes)

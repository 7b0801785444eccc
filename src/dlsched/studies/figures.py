"""The figures of a study: what became of a history's jobs, in the record and under policies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from dlsched.errors import UnknownName
from dlsched.results.result import Report
from dlsched.simulation.history import Explanation, History, Period
from dlsched.simulation.history.period import SENTENCES
from dlsched.studies.outcome import Outcome
from dlsched.studies.parts import Limit, Part
from dlsched.studies.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

BOUND: Final = "no schedule below"
"""Name of the certified bound in the table."""
GROUPS: Final = ("user", "account", "qos", "partition", "size")
UNKNOWN: Final = "(unknown)"
"""The group of jobs of which the record does not say it."""
ADDED: Final = ("wait_hours", "saved_hours", "earlier", "later")
"""Columns whose sums over the groups are those of the table."""


@dataclass(frozen=True)
class Figures:
    """What a study says of a history.

    Attributes
    ----------
    history, runs
        The record; the part of it that is studied, and how policies are simulated.
    check
        Whether a replay of the recorded starts agrees with the record.
    parts
        The partitions that divide the cluster; one part if none do.
    recorded, ran, outcomes
        What became of the counted jobs in the record, under the policy that the cluster is said to
        run, and under each policy.
    ran_delayed
        Mean wait under `ran` if each job held its nodes, before it runs, for as long as jobs were
        held back on average; None where that is not needed.
    limits
        The certified lower bounds; empty if none was asked for.
    nodes
        Data frame of waits against nodes: ``change``, ``nodes``, ``gpus``, ``policy``, ``terms``,
        ``mean_wait``, ``p95_wait`` (seconds), ``problem`` (why jobs cannot run then). Empty if no
        change of the nodes was asked for.
    """

    history: History
    runs: Runs
    check: Report
    parts: tuple[Part, ...]
    recorded: Outcome
    ran: Outcome
    ran_delayed: float | None
    outcomes: tuple[Outcome, ...]
    limits: tuple[Limit, ...]
    nodes: pd.DataFrame

    @property
    def period(self) -> Period:
        """The part of the record that is studied."""
        return self.runs.period

    @property
    def explained(self) -> Explanation:
        """The recorded waiting of the counted jobs, divided by its causes."""
        return self.period.explained

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for the record, what ran, each policy and each bound; times in seconds.

        ``policy``, ``terms`` (what its figures rest on); ``jobs``; mean, median, p95, p99 of
        ``jct`` (submission to end) and ``wait``; ``mean_slowdown`` (over the running time);
        ``utilization`` in the window; ``preemptions``; ``saved_wait`` and ``saved_jct``, the
        recorded mean less this one; ``gap``, the share of the mean completion time above the bound;
        ``idle_gpu_hours`` (idle while jobs waited); ``wait_hours``, ``saved_hours``, ``earlier``
        and ``later`` (jobs whose wait differs from the recorded one by more than a second): their
        sums over any `by` are these.
        """
        import pandas as pd

        rows, recorded = [], self.recorded.row
        for outcome in (self.recorded, self.ran, *self.outcomes):
            row = outcome.row
            for what in ("wait", "jct"):
                row[f"saved_{what}"] = recorded[f"mean_{what}"] - row[f"mean_{what}"]
            fitting = [one for one in self.limits if one.sharing == outcome.run.shares_gpus]
            row["gap"] = 1 - fitting[0].mean_jct / row["mean_jct"] if fitting else None
            rows.append(row | self._added(outcome).sum().to_dict())
        for limit in self.limits:
            name = BOUND + ", GPUs shared" * limit.sharing
            rows.append({"policy": name, "terms": "", "jobs": len(self.recorded.jobs)})
            rows[-1] |= {"mean_jct": limit.mean_jct, "mean_wait": limit.mean_wait}
        return pd.DataFrame(rows)

    def _added(self, outcome: Outcome) -> pd.DataFrame:
        """Return what is added up over jobs."""
        import pandas as pd

        wait, recorded = outcome.jobs["wait"] / 3600, self.recorded.jobs["wait"] / 3600
        earlier, later = outcome.differs(self.recorded)
        columns = (wait, recorded - wait, earlier, later)
        return pd.DataFrame(dict(zip(ADDED, columns, strict=True)))

    def by(self, what: str) -> pd.DataFrame:
        """Return who gains and who loses: one row for each group and policy.

        Columns: the group, ``policy``, ``jobs``, ``mean_wait`` (seconds), ``wait_hours``,
        ``saved_hours``, ``earlier``, ``later``; groups with most recorded waiting first. The sums
        over groups are those of `table`.

        Parameters
        ----------
        what
            One of `GROUPS`, as ``"user"``; ``"size"`` is GPUs in powers of two.

        Raises
        ------
        UnknownName
            If it is none of these.
        """
        import pandas as pd

        if what not in GROUPS:
            raise UnknownName("group", str(what), GROUPS)
        jobs = self.recorded.jobs
        names = jobs["gpus"].map(size_class) if what == "size" else jobs[what].fillna(UNKNOWN)
        frames = []
        for outcome in (self.recorded, *self.outcomes):
            rows = self._added(outcome).assign(jobs=1)
            rows[what] = names.to_numpy()
            sums = rows.groupby(what, sort=False).sum().reset_index()
            frames.append(sums.assign(policy=outcome.name))
        first = frames[0].sort_values("wait_hours", ascending=False, kind="stable")[what]
        place = {name: i for i, name in enumerate(first)}
        joined = pd.concat(frames)
        joined = joined.sort_values(what, key=lambda names: names.map(place), kind="stable")
        joined["mean_wait"] = 3600 * joined["wait_hours"] / joined["jobs"]
        return joined[[what, "policy", "jobs", "mean_wait", *ADDED]].reset_index(drop=True)

    @cached_property
    def by_part(self) -> pd.DataFrame:
        """One row per part of the cluster: ``partitions``, ``jobs``, and mean waits in seconds.

        These are by policy, ``recorded`` and ``no schedule below``.
        """
        import pandas as pd

        rows = []
        for k, part in enumerate(self.parts):
            rows.append({"partitions": part.name, "jobs": len(part.jobs)})
            every = (self.recorded, self.ran, *self.outcomes)
            rows[-1] |= {outcome.name: outcome.mean(part) for outcome in every}
            if self.limits:
                rows[-1][BOUND] = self.limits[0].by_part[k]
        return pd.DataFrame(rows)

    @cached_property
    def left_out(self) -> pd.DataFrame:
        """The rows of the file that are not counted: ``reason``, ``rows``.

        With the counted jobs they are all rows of the file.
        """
        import pandas as pd

        everyone, period = self.history.jobs, self.period
        own = len(everyone)
        if period.partition is not None:
            own = int((everyone["partition"] == period.partition).sum())
        roles = period.jobs["role"].map(SENTENCES).value_counts()
        away = {
            "of other partitions": len(everyone) - own,
            "outside the window": own - len(period.jobs),
        }
        counts = pd.concat([self.history.dropped["reason"].value_counts(), pd.Series(away), roles])
        return counts[counts > 0].rename_axis("reason").reset_index(name="rows")


def size_class(gpus: int) -> str:
    """Return the class of a size: 1, 2, 3-4, 5-8, and so on."""
    last = 1 << (gpus - 1).bit_length()
    return str(gpus) if gpus <= 2 else f"{last // 2 + 1}-{last}"

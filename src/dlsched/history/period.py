"""A part of a history: the jobs of a window, as a workload and a cluster that can be simulated."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from dlsched.history.capacity import Capacity
from dlsched.history.explanation import Explanation
from dlsched.results.result import Report
from dlsched.simulation import Cluster, Policy, Simulation, Workload

if TYPE_CHECKING:
    import pandas as pd

Moment: TypeAlias = str | float | datetime
Knows: TypeAlias = Literal["limit", "truth", "user_mean"]
ROLES: Final = ("counted", "carried", "censored", "never", "instant")
"""What a job of a period is; see `Period.jobs`."""


@dataclass(frozen=True)
class Period:
    """The jobs of a window, ready to be replayed.

    Jobs that ran at its start hold their recorded nodes from time 0 with what is left of them, and
    are not counted; those queued at its start keep their submission; those that run at its end are
    censored, and counted apart.

    Attributes
    ----------
    jobs
        Data frame: the columns of `History.jobs`, and ``role``: ``"counted"``; ``"carried"`` (ran
        at the start); ``"censored"`` (started within the window, and ran at its end); ``"never"``
        (never started, or not within the window); ``"instant"`` (ran for 0 seconds, which holds
        nothing). The simulated jobs are the counted, carried and censored ones.
    since, until
        The window, in seconds since 1970.
    partition
        The partition whose jobs these are; None for all.
    capacity
        The nodes that they may use.
    notes
        Sentences on what was left out, with counts.
    """

    jobs: pd.DataFrame
    since: float
    until: float
    partition: str | None
    capacity: Capacity
    notes: tuple[str, ...]

    @property
    def origin(self) -> float:
        """The moment at which the simulations' clock is 0, in seconds since 1970."""
        raise NotImplementedError

    @property
    def cluster(self) -> Cluster:
        """The nodes as servers."""
        raise NotImplementedError

    def workload(self, knows: Knows = "limit") -> Workload:
        """Return the simulated jobs.

        A job's `Job.submit` is when it became eligible: no policy could have started it before.

        Parameters
        ----------
        knows
            What policies take for a job's duration: ``"limit"``, its time limit (the truth where it
            has none, which a note says); ``"truth"``; or ``"user_mean"``, the mean of its user's
            jobs that had ended when it was submitted, at most its limit.
        """
        raise NotImplementedError

    def simulate(
        self, policy: str | Policy, *, knows: Knows = "limit", **options: Any
    ) -> Simulation:
        """Return the simulation of a policy; options are those of `dlsched.simulation.simulate`.

        ``"recorded"`` starts every job at its recorded start on its recorded nodes, ``"backfill"``
        is EASY backfilling by what it knows of the durations.
        """
        raise NotImplementedError

    def outcome(self, run: Simulation | None = None) -> pd.DataFrame:
        """Return when each counted job ran, on the record's clock.

        Parameters
        ----------
        run
            A simulation of this period; None for the record.

        Returns
        -------
        pandas.DataFrame
            One row per counted job in the order of `jobs`: ``id``, ``user``, ``account``,
            ``partition``, ``gpus``, ``submit``, ``start``, ``end`` (seconds since 1970), ``wait``
            (from submission to the first start), ``jct`` (from submission to the end), ``runtime``.
        """
        raise NotImplementedError

    def check(self) -> Report:
        """Replay the recorded starts.

        Returns
        -------
        Report
            True if the recorded nodes are never overfull, every simulated wait is the recorded one,
            and the simulation's audit finds nothing; else its violations say what.
        """
        raise NotImplementedError

    @property
    def explained(self) -> Explanation:
        """The recorded waiting of the counted jobs, divided by its causes."""
        raise NotImplementedError

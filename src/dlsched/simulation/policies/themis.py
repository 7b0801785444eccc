"""Themis: finish-time fairness; those run whose share of time is furthest from what they had."""

from typing import Any

import numpy as np

from dlsched.errors import OptionError
from dlsched.schema import Number
from dlsched.simulation.engine.decision import Decision
from dlsched.simulation.engine.jobs import Vector
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.ordering import QueuePolicy
from dlsched.simulation.workload.clock import TICKS
from dlsched.simulation.workload.cluster import LOAN

HALVINGS = 60
"""Steps of the search for the least ratio: the interval's ends are then the same float."""


def least_ratio_shares(waited: Any, remaining: Any, fair: Any, gpus: Any, capacity: int) -> Any:
    """Return the shares of time that minimise (waited + remaining / x) / fair, lexicographically.

    Parameters
    ----------
    waited, remaining, fair, gpus
        Arrays of n: seconds since submission, seconds to go when running, time with a fair share,
        GPUs.
    capacity
        The most GPUs in use, on average: the sum of ``gpus * x``.

    Returns
    -------
    array
        Of n, from 0 to 1.
    """
    if gpus.sum() <= capacity:
        return np.ones(len(gpus))

    # Without work a job takes no share, however soon it is to be complete.
    works = remaining > 0

    def shares(ratio: float) -> Any:
        time = np.maximum(ratio * fair - waited, 0.0)
        least = works.astype(float)
        return np.minimum(1.0, np.divide(remaining, time, out=least, where=time > 0))

    low, high = 0.0, 1.0
    while gpus @ shares(high) > capacity:
        high *= 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if gpus @ shares(middle) <= capacity else (middle, high)
    return np.where(works, shares(high), 1.0)


class Themis(QueuePolicy):
    """Shares of time that are fair in finish times, as compared in Muri's section 6.

    Muri's text says only that Themis balances finish-time fairness and efficiency, by auctions
    (section 8). The auctions are not repeated; all that follows is **(D)**.

    A job's ratio is the time from its submission to its completion if it runs for a share of the
    time from now on, over the time that it would take with an equal share of the GPUs: for what it
    has done, with the jobs that were present then; for what it has left, with those present now.
    The problem: shares of time, for which the GPUs suffice on average, that minimise the largest
    ratio, then the next one. It has a closed form by ratio, and is solved by bisection.

    Ordering: the largest share over time held so far first; jobs that never ran before all others;
    ties by share, then by submission. Running jobs may be preempted.

    Parameters
    ----------
    interval
        Most seconds between two decisions, besides those at arrivals and completions: how long GPUs
        are leased.
    """

    name = "themis"

    def __init__(self, method: Any = None, *, interval: Number = 3600) -> None:
        super().__init__(method)
        if not interval > 0:
            raise OptionError(f"interval={interval!r} must be above 0 seconds")
        self.interval = interval

    def decide(self, state: State) -> Decision:
        """Return the changes that make the first jobs of the order run."""
        if not _gpus(state):
            return super().decide(state)
        self.memory = {"fair": self._fair_times(state)}
        return super().decide(state)

    def order(self, state: State) -> Vector:
        """Return the positions of the jobs, the one furthest behind its share first."""
        jobs = state.arrays
        if not _gpus(state):
            return np.arange(len(jobs.job))
        remaining = jobs.remaining / TICKS
        fair = [done + rest / rate for done, rest, rate in self.memory["fair"].values()]
        waited = float(state.time) - jobs.submit / TICKS
        shares = least_ratio_shares(waited, remaining, np.array(fair), jobs.gpus, _gpus(state))
        never = np.full(len(shares), np.inf)
        behind = np.divide(shares, jobs.attained / TICKS, out=never, where=jobs.attained > 0)
        order: Vector = np.lexsort((-shares, -behind))
        return order

    def _fair_times(self, state: State) -> dict[str, list[float]]:
        """Return by job: the time with an equal share for what is done, what is left, and its rate.

        They are in the order of `State.arrays`, seconds; the rate is that of the jobs present now.
        """
        jobs, before = state.arrays, self.memory.get("fair", {})
        rates = np.minimum(1.0, _gpus(state) / len(jobs.gpus) / jobs.gpus)
        fair = {}
        for j, remaining, rate in zip(
            jobs.job, jobs.remaining / TICKS, rates.tolist(), strict=True
        ):
            name = state.workload.jobs[j].id
            done, then, last = before.get(name, (0.0, float(remaining), rate))
            fair[name] = [done + (then - float(remaining)) / last, float(remaining), rate]
        return fair


def _gpus(state: State) -> int:
    """Return the GPUs that are not on loan."""
    return sum(view.server.gpus for view in state.servers if view.server.pool != LOAN)

"""The orders over which Synergy is evaluated (sections 4.3, 5.1 and 5.7), as vectors of keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.simulation.engine.jobs import Arrays
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.synergy_prices import Demands, costs
from dlsched.simulation.workload.clock import TICKS

Keys: TypeAlias = NDArray[np.float64]


class Best(NamedTuple):
    """The best case (section 3.2) of every job of the workload, by its position.

    Attributes
    ----------
    speedup
        Throughput, relative to that of the proportional share.
    shares
        Its GPUs, CPUs and memory as shares of the cluster's, shape (jobs, 3).
    demands
        What jobs of its kind can take beside the best case.
    """

    speedup: Keys
    shares: Keys
    demands: Demands


def fifo(_state: State, jobs: Arrays, _best: Best, _quick: bool) -> Keys:
    """Return the time of submission."""
    return jobs.submit.astype(float)


def srtf(_state: State, jobs: Arrays, best: Best, quick: bool) -> Keys:
    """Return the remaining time."""
    return remaining(jobs, best, quick)


def las(_state: State, jobs: Arrays, _best: Best, _quick: bool) -> Keys:
    """Return the attained GPU time."""
    return jobs.service.astype(float)


def ftf_largest(state: State, jobs: Arrays, best: Best, quick: bool) -> Keys:
    """Return minus the finish-time fairness: jobs whose completion is relatively latest first.

    So does Themis, which the paper cites; the paper itself states no order.
    """
    return -ftf_least(state, jobs, best, quick)


def ftf_least(state: State, jobs: Arrays, best: Best, quick: bool) -> Keys:
    """Return the finish-time fairness of each job; the authors' public code takes the least first.

    It is the time since submission plus the remaining time, over the running time at the
    proportional share, which stands for that on a fair share of the cluster **(D)**.
    """
    work = np.array([state.workload.jobs[j].known_ticks for j in jobs.job.tolist()], float)
    elapsed = float(state.time) * TICKS - jobs.submit.astype(float)
    fair: Keys = (elapsed + remaining(jobs, best, quick)) / np.maximum(work, 1.0)
    return fair


def drf(_state: State, jobs: Arrays, best: Best, _quick: bool) -> Keys:
    """Return the dominant share of the best case."""
    dominant: Keys = best.shares[jobs.job].max(axis=1)
    return dominant


def tetris(_state: State, jobs: Arrays, best: Best, quick: bool) -> Keys:
    """Return the remaining time, weighted by the sum of the best case's shares.

    It is a key of the job alone, as in the public code; Tetris itself takes into account how a
    demand is aligned with what a server has free.
    """
    weighted: Keys = remaining(jobs, best, quick) * best.shares[jobs.job].sum(axis=1)
    return weighted


def prices(_state: State, jobs: Arrays, best: Best, _quick: bool) -> Keys:
    """Return what the rest of the job costs at the prices of the jobs present (of this library)."""
    return costs(best.demands, jobs.job, jobs.remaining.astype(float))


def remaining(jobs: Arrays, best: Best, quick: bool) -> Keys:
    """Return the remaining time in microseconds.

    It is that at the best case if `quick`: for every method but ``"proportional"``, so that they
    differ in the allocation alone **(D)**. The paper states no speed; its public code takes the
    best case's for TUNE and GREEDY only.
    """
    time = jobs.remaining.astype(float)
    return time / best.speedup[jobs.job] if quick else time


ORDERS: Mapping[str, Callable[[State, Arrays, Best, bool], Keys]] = {
    "fifo": fifo,
    "srtf": srtf,
    "las": las,
    "ftf": ftf_largest,
    "ftf_largest": ftf_largest,
    "ftf_least": ftf_least,
    "drf": drf,
    "tetris": tetris,
    "prices": prices,
}
"""Keys of the orders, least first."""

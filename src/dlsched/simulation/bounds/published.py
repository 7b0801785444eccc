"""The demands of jobs in the simulators that the papers' authors published.

Muri's: a job alone takes its recorded time per iteration, 1.5 % longer; a group the time of its
best order, times the factor for its size. Overheads are lost at events, so leaving them out is
valid. AntMan runs a job of each of two priorities on a GPU, neither faster than alone: the jobs of
a priority have all GPUs to themselves. Synergy's jobs are those of the paper's text.

The simulators join events that are close, and compute in floats: a job may be submitted early by
a share `NEAR` of the time, and complete early by the same share, or by `JOINED` seconds. See
`early`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from dlsched.errors import OptionError
from dlsched.simulation.bounds.demands import Demands, Mode, Resource
from dlsched.simulation.bounds.sharing import Sharing, families
from dlsched.simulation.published.muri.group_time import (
    GPU,
    NETWORK,
    SHARING,
    SHARING_UNMATCHED,
    arrangement_times,
)
from dlsched.simulation.published.muri.jobs import JobState, states
from dlsched.simulation.workload.clock import TICKS
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload

NEAR = Fraction(1, 10**8)
JOINED = TICKS // 1000
"""Shares of time, and microseconds, that are ten times what the simulators take for the same."""


def layers(workload: Workload, cluster: Cluster, by_priority: bool) -> list[Demands]:
    """Return the demands of jobs that have their GPUs to themselves in Muri's simulator.

    Parameters
    ----------
    by_priority
        Whether jobs of each priority have all GPUs, as under AntMan: 0, and all others.
    """
    jobs = states(workload)
    kinds = sorted({by_priority and job.priority != 0 for job in jobs})
    gpus = Resource("GPUs", ((0, Fraction(cluster.gpus)),))
    found = []
    for kind in kinds:
        rows = [
            (_submit(job), _work(job), (Mode(Fraction(1), (Fraction(job.gpus),)),))
            for job in jobs
            if (by_priority and job.priority != 0) == kind
        ]
        found.append(Demands.of([gpus], rows))
    return found


def group_sharing(workload: Workload, cluster: Cluster, matched: bool) -> Sharing:
    """Return the jobs of Muri's simulator that may share GPUs, with those of as many GPUs.

    Parameters
    ----------
    matched
        Whether groups are matched; without Blossom the simulator has another factor for four jobs.
    """
    factors = SHARING if matched else SHARING_UNMATCHED
    jobs = states(workload)
    if any(len(job.stages) != 3 for job in jobs):
        raise OptionError("a job has not the three stages that Muri's simulator needs")
    number: dict[tuple[int, float, tuple[float, ...]], int] = {}
    kind = tuple(number.setdefault((j.gpus, j.tau, j.stages), len(number)) for j in jobs)
    known = list(number)
    # The loading stage spans two slots, in which others load: it is left out of the sums.
    stages = [
        tuple(Fraction(min(factors[n] for n in (2, 3, 4)) * times[r]) for r in (GPU, NETWORK))
        for _, _, times in known
    ]

    def time(group: tuple[int, ...]) -> Fraction:
        if len(group) == 1:
            return Fraction(known[group[0]][1])
        least = _cycle(tuple(sorted(known[k][2] for k in group)))
        return Fraction(least * factors[len(group)])

    alone = [Fraction(tau) for _, tau, _ in known]
    parts = families([(g, g, max(factors)) for g, _, _ in known], time)
    fastest = list(alone)
    for members, groups in parts:
        for group, least in groups.times.items() if groups else ():
            for i in group:
                fastest[members[i]] = min(fastest[members[i]], least)
        if groups is None:
            for k in members:
                fastest[k] = min(alone[k], max(stages[k]))
    return Sharing(
        Resource("GPUs", ((0, Fraction(cluster.gpus)),)),
        tuple(map(_submit, jobs)),
        tuple(map(_work, jobs)),
        tuple(fastest[k] / alone[k] for k in kind),
        tuple(Fraction(job.gpus) for job in jobs),
        kind,
        tuple(alone),
        tuple(stages),
        parts,
    )


def early(d: Demands, horizon: Fraction) -> Demands:
    """Return demands that hold although simulators join events and round.

    They hold for schedules that end by the horizon, in microseconds: a job does all of its work but
    what it could do in `NEAR` of the horizon and `JOINED`.
    """
    late = math.ceil(NEAR * horizon) + JOINED
    length = [kind.length for kind in d.kinds]
    work = tuple(
        max(0, math.floor(work * (1 - NEAR) - late / length[k]))
        for work, k in zip(d.work, d.kind, strict=True)
    )
    release = tuple(max(0, math.floor(r * (1 - NEAR)) - 1) for r in d.release)
    return d._replace(work=work, release=release)


@lru_cache(maxsize=100_000)
def _cycle(stages: tuple[Sequence[float], ...]) -> float:
    return min(arrangement_times(stages))


def _submit(job: JobState) -> int:
    return math.floor(Fraction(job.submit) * TICKS)


def _work(job: JobState) -> int:
    return math.floor(Fraction(job.left) * Fraction(job.tau) * TICKS)

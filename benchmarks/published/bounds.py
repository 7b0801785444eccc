"""Lower bounds for the policies of the simulators that the papers' authors published.

Muri's: a job alone takes its recorded time per iteration, 1.5 % longer; a group the time of its
best order, times the factor for its size. Overheads are lost at events, so leaving them out is
valid. AntMan runs a job of each of two priorities on a GPU, neither faster than alone: the jobs of
a priority have all GPUs to themselves. Synergy's jobs are those of the paper's text.

The simulators join events that are close, and compute in floats: a job may be submitted early by
a share `NEAR` of the time, and complete early by the same share, or by `JOINED` seconds. See
`early`.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from dlsched.errors import OptionError, UnknownName
from dlsched.simulation.bounds import MetricBound, makespan, mean
from dlsched.simulation.bounds.demands import Demands, Mode, Resource, demands
from dlsched.simulation.bounds.sharing import GpuRange, Sharing, families
from dlsched.simulation.workload.clock import TICKS
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload
from published.muri.jobs import JobState, states
from published.muri.kinds import GPU, NETWORK, SHARING, SHARING_UNMATCHED, arrangement_times
from published.policies import PUBLISHED

NEAR = Fraction(1, 10**8)
JOINED = TICKS // 1000
"""Shares of time, and microseconds, that are ten times what the simulators take for the same."""
UNMATCHED = "in_order"
"""The method of Muri's simulator that groups without Blossom."""


def bound(
    workload: Workload,
    cluster: Cluster,
    policy: str,
    metric: str = "mean_jct",
    *,
    method: str | None = None,
) -> MetricBound:
    """Return a lower bound for all policies of a simulator that share GPUs as this one does.

    Parameters
    ----------
    metric
        ``"mean_jct"`` or ``"makespan"``.
    method
        The method of that policy: times of groups differ between those of Muri-S and Muri-L.
    """
    find = makespan_bound if metric == "makespan" else total_bound
    value, source = find(workload, cluster, policy, method)
    if metric == "mean_jct":
        value = (value - sum(job.submit_ticks for job in workload.jobs)) / len(workload.jobs)
    return MetricBound(value / TICKS, source)


def makespan_bound(
    workload: Workload, cluster: Cluster, policy: str, method: str | None
) -> tuple[Fraction, str]:
    """Return a bound on the makespan in microseconds, and its source.

    Its horizon (`early`) is what it would be if nothing were early: a schedule that ends later has
    a greater makespan anyway.
    """
    parts = _demands(workload, cluster, policy) or [
        makespan.sharing_demands(group_sharing(workload, cluster, method != UNMATCHED))
    ]
    horizon = max(makespan.of_demands(d)[0] for d in parts)
    return max(makespan.of_demands(early(d, horizon)) for d in parts)


def total_bound(
    workload: Workload, cluster: Cluster, policy: str, method: str | None
) -> tuple[Fraction, str]:
    """Return a bound on the sum of completion times in microseconds, and its source.

    Its horizon (`early`) is what it would be if nothing were early, less the other jobs'
    submissions: in a schedule that ends later, the sum is greater anyway.
    """
    parts = _demands(workload, cluster, policy)
    if parts:
        proved = [(d, mean.prove(d)) for d in parts]
    else:
        proved = [mean.prove_sharing(group_sharing(workload, cluster, method != UNMATCHED))]
    horizon = sum((proof.total(d)[0] for d, proof in proved), Fraction(0))
    submitted = sorted(release for d, _ in proved for release in early(d, horizon).release)
    horizon -= sum(submitted[:-1])
    totals = [proof.total(early(d, horizon)) for d, proof in proved]
    return sum((value for value, _ in totals), Fraction(0)), totals[-1][1]


def _demands(workload: Workload, cluster: Cluster, policy: str) -> list[Demands]:
    """Return demands of jobs that have their GPUs to themselves; none if this policy shares."""
    if policy not in PUBLISHED:
        raise UnknownName("published policy", policy, list(PUBLISHED))
    if policy == "synergy":
        return [demands(workload, cluster)]
    if policy in ("muri_s", "muri_l"):
        return []
    return layers(workload, cluster, by_priority=policy == "antman")


def layers(workload: Workload, cluster: Cluster, by_priority: bool) -> list[Demands]:
    """Return the demands of jobs that have their GPUs to themselves in Muri's simulator.

    Parameters
    ----------
    by_priority
        Whether jobs of each priority have all GPUs, as under AntMan: 0, and all others.
    """
    gpus = Resource("GPUs", ((0, Fraction(cluster.gpus)),))
    rows_of_layer = defaultdict(list)
    for job in states(workload):
        mode = Mode(Fraction(1), (Fraction(job.gpus),))
        is_second = by_priority and job.priority != 0
        rows_of_layer[is_second].append((_submit(job), _work(job), (mode,)))
    return [Demands.of([gpus], rows) for _, rows in sorted(rows_of_layer.items())]


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
    example = {(job.gpus, job.tau, job.stages): job for job in jobs}
    number = {like: k for k, like in enumerate(example)}
    kinds = list(example.values())
    kind = tuple(number[job.gpus, job.tau, job.stages] for job in jobs)
    # The loading stage spans two slots, in which others load: it is left out of the sums.
    factor = min(factors[size] for size in (2, 3, 4))
    stages = [tuple(Fraction(factor * job.stages[r]) for r in (GPU, NETWORK)) for job in kinds]
    alone = [Fraction(job.tau) for job in kinds]

    def time(group: tuple[int, ...]) -> Fraction:
        if len(group) == 1:
            return alone[group[0]]
        least = _cycle(tuple(sorted(kinds[k].stages for k in group)))
        return Fraction(least * factors[len(group)])

    parts = families([GpuRange(job.gpus, job.gpus, max(factors)) for job in kinds], time)
    fastest = list(alone)
    for members, groups in parts:
        if groups is None:
            for k in members:
                fastest[k] = min(alone[k], max(stages[k]))
            continue
        for group, least in groups.items():
            for i in group:
                fastest[members[i]] = min(fastest[members[i]], least)
    return Sharing(
        gpus=Resource("GPUs", ((0, Fraction(cluster.gpus)),)),
        release=tuple(map(_submit, jobs)),
        work=tuple(map(_work, jobs)),
        length=tuple(fastest[k] / alone[k] for k in kind),
        area=tuple(Fraction(job.gpus) for job in jobs),
        kind=kind,
        alone=tuple(alone),
        stages=tuple(stages),
        families=parts,
    )


def early(d: Demands, horizon: Fraction) -> Demands:
    """Return demands that hold although simulators join events and round.

    They hold for schedules that end by the horizon, in microseconds: a job does all of its work but
    what it could do in `NEAR` of the horizon and `JOINED`.
    """
    late = math.ceil(NEAR * horizon) + JOINED
    saved = [late / kind.length for kind in d.kinds]
    jobs = zip(d.work, d.kind, strict=True)
    work = tuple(max(0, math.floor(work * (1 - NEAR) - saved[k])) for work, k in jobs)
    release = tuple(max(0, math.floor(r * (1 - NEAR)) - 1) for r in d.release)
    return d._replace(work=work, release=release)


@lru_cache(maxsize=100_000)
def _cycle(stages: tuple[Sequence[float], ...]) -> float:
    return min(arrangement_times(stages))


def _submit(job: JobState) -> int:
    return math.floor(Fraction(job.submit) * TICKS)


def _work(job: JobState) -> int:
    return math.floor(Fraction(job.left) * Fraction(job.tau) * TICKS)

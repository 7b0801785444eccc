"""Lower bounds for the policies of the simulators that the papers' authors published."""

from __future__ import annotations

from fractions import Fraction

from dlsched.errors import UnknownName
from dlsched.simulation.bounds import makespan, mean
from dlsched.simulation.bounds.demands import Demands
from dlsched.simulation.bounds.modes import demands
from dlsched.simulation.bounds.published import early, group_sharing, layers
from dlsched.simulation.published import PUBLISHED
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload

UNMATCHED = "in_order"
"""The method of Muri's simulator that groups without Blossom."""


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

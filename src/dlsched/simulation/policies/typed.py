"""GPUs by type: what jobs hold, and where the GPUs that a policy gives by type are."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np

from dlsched.registry.cluster_state import ClusterState, JobState
from dlsched.registry.cluster_state import Server as ServerState
from dlsched.schema import Id, Number
from dlsched.schema.quantities import simplify
from dlsched.simulation.engine.decision import Allocation, Share
from dlsched.simulation.engine.jobs import JobView
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.ordering import require_room
from dlsched.simulation.policies.placement import Placement
from dlsched.simulation.workload.cluster import Cluster, Server
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Workload

UNTYPED: Final = "untyped"
"""The type of GPUs of servers that state none."""

Counts: TypeAlias = Mapping[str, int]
"""GPUs by type."""


def kind_of(server: Server) -> str:
    """Return the type of a server's GPUs."""
    return server.gpu_type or UNTYPED


def views_by_submission(state: State) -> list[JobView]:
    """Return the jobs present, in the order of submission."""
    views = {view.id: view for view in (*state.running, *state.waiting)}
    return [views[state.workload.jobs[j].id] for j in state.arrays.job]


def supply(state: State) -> dict[str, int]:
    """Return the GPUs of each type on the servers that may be used, in the cluster's order."""
    return _by_kind(view.server for view in state.servers)


def _by_kind(servers: Iterable[Server]) -> Counter[str]:
    total: Counter[str] = Counter()
    for server in servers:
        total[kind_of(server)] += server.gpus
    return total


def rates_of(job: Job, kinds: Iterable[str]) -> dict[str, Number]:
    """Return a job's iterations per second by type; 1 on every type for a job without rates.

    Types on which it may not run are left out.
    """
    types = job.accepted_types
    if not job.rates:
        return {kind: 1 for kind in kinds if not types or kind in types or kind == UNTYPED}
    return {kind: job.rates[kind] for kind in kinds if kind in types}


def require_one_type(policy: str, workload: Workload, cluster: Cluster) -> None:
    """Refuse a job that asks for more GPUs than there are of any type on which it may run."""
    total = _by_kind(cluster.servers)
    for job in workload.jobs:
        most = max((total[kind] for kind in rates_of(job, total)), default=0)
        require_room(policy, job, most, "the servers of one type have at most")


def typed_snapshot(view: JobView, kinds: Iterable[str]) -> JobState:
    """Return a job as the problems' adapters take it, with rates on no types but those it accepts.

    It holds nothing there.
    """
    job, seen = view.job, replace(view.snapshot(), allocation=())
    if not job.accepted_types or (job.rates and not job.gpu_types):
        return seen
    # Where rates are left out, the others are relative to that for which the work is stated.
    base = Fraction(base_rate(job))
    rates = {kind: simplify(rate / base) for kind, rate in rates_of(job, kinds).items()}
    return replace(seen, rates=rates, gpu_type=None)


def typed_state(
    state: State, views: Iterable[JobView], servers: Iterable[tuple[Server, int]]
) -> ClusterState:
    """Return what a problem's adapter takes: jobs, which hold nothing, and GPUs of servers."""
    kinds = supply(state)
    there = tuple(ServerState(s.id, gpus, s.pool, kind_of(s)) for s, gpus in servers)
    jobs = tuple(typed_snapshot(view, kinds) for view in views if rates_of(view.job, kinds))
    return ClusterState(time=state.time, servers=there, running=(), waiting=jobs)


def base_rate(job: Job) -> Number:
    """Return the iterations per second for which `Job.work` is stated."""
    return job.rates[job.gpu_type] if job.rates and job.gpu_type is not None else 1


def held_by_type(allocation: Allocation, cluster: Cluster) -> dict[str, int]:
    """Return the GPUs that a job holds, by type."""
    held: Counter[str] = Counter()
    for share in allocation.shares:
        held[kind_of(cluster.by_id[share.server])] += share.gpus
    return held


def realize(state: State, counts: Mapping[Id, Counts]) -> tuple[dict[Id, Allocation], list[Id]]:
    """Return what starts and what is preempted, so that these jobs run, and no others.

    A job that holds as many GPUs of each type already stays where it is, so that it needs no
    restart. The others are placed with the larger gangs first, by `Placement` on the servers of
    each type.
    """
    cluster, held = state.cluster, state.allocations
    stays = {
        name
        for name, allocation in held.items()
        if name in counts and held_by_type(allocation, cluster) == dict(counts[name])
    }
    vacated = Placement(cluster, state.free)
    for name in held.keys() - stays:
        vacated.release(held[name])
    kinds = np.array([kind_of(server) for server in cluster.servers])
    places = {k: Placement(cluster, np.where(kinds == k, vacated.free, 0)) for k in set(kinds)}
    start = {}
    moving = [name for name in counts if name not in stays]
    for name in sorted(moving, key=lambda name: -sum(counts[name].values())):
        shares: list[Share] = []
        for kind, count in counts[name].items():
            placed = places[kind].place(count)
            assert placed is not None, "counts by type fit the servers"
            shares.extend(placed.shares)
        start[name] = Allocation(tuple(shares))
    return start, [name for name in held if name not in counts]

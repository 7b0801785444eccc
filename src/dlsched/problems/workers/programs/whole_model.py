"""What the model leaves out of solutions, for variants: which job a worker is of."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from dlsched.problems.workers.definition.schema import (
    KINDS,
    Instance,
    Job,
    Kind,
    Placed,
    Pool,
    Server,
    Solution,
)
from dlsched.problems.workers.model import assign, places_of, read, workers_by_job, workers_of
from dlsched.problems.workers.structures.classes import group_of
from dlsched.problems.workers.structures.placement_counts import Held, fill


def complete(m: Any, instance: Instance) -> None:
    """State that a server without workers of a group does not hold the group.

    Variables `w` are there for the jobs that a variant names; see `state_named`.
    """
    import pyomo.core as pyo

    held: dict[tuple[str, str], list[Any]] = {}
    for s, g, k in m.ROOMS:
        held.setdefault((s, g), []).append(m.n[s, g, k])
    m.held_only = pyo.Constraint(m.GROUPS, rule=lambda m, s, g: m.h[s, g] <= sum(held[s, g]))
    m.KINDS = pyo.Set(initialize=KINDS)
    m.SERVERS = pyo.Set(initialize=[server.id for server in instance.servers])

    def limits(j: str, kind: Kind, s: str) -> tuple[int, int]:
        return 0, _most_workers(instance, m, j, kind, s)

    m.w = pyo.Var(
        m.JOBS,
        m.KINDS,
        m.SERVERS,
        dense=False,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, *key: limits(*key),
    )
    m.NAMED_LATER = {"w": limits}


def _room(m: Any, instance: Instance, job: Job, kind: Kind, server: Server) -> Any:
    """Return the index of `n` that counts a job's workers on a server; None if there is none."""
    room = (server.id, group_of(instance, server.pool, kind), job.gpus_per_worker)
    return room if server.pool in job.pools and room in m.ROOMS else None


def _most_workers(instance: Instance, m: Any, j: str, kind: Kind, s: str) -> int:
    """Return the most workers of a kind that a job may have on a server."""
    job = instance.jobs[instance.job_index[j]]
    server = instance.servers[instance.server_index[s]]
    if _room(m, instance, job, kind, server) is None:
        return 0
    count = job.base if kind == "base" else job.flexible
    return min(count, server.free // job.gpus_per_worker)


def _possible(m: Any, instance: Instance, job: Job) -> Iterator[tuple[Kind, Server]]:
    """Yield the kinds of workers of a job, and the servers where they may be."""
    for kind in KINDS if job.flexible else KINDS[:1]:
        for server in instance.servers:
            if _room(m, instance, job, kind, server) is not None:
                yield kind, server


def state_named(m: Any, instance: Instance, jobs: Iterable[str]) -> None:
    """State where the workers of some jobs are, one by one; `n` counts these among others.

    Workers of other jobs can replace each other, so any numbers of them that are left can be
    placed: the named jobs' workers determine a solution together with `n`, `b` and `f`.
    """
    import pyomo.core as pyo

    m.NAMED = pyo.Set(initialize=list(jobs))
    m.all_named = pyo.ConstraintList()
    m.named_here = pyo.ConstraintList()
    on_server: dict[tuple[str, str, int], list[Any]] = defaultdict(list)
    for j in m.NAMED:
        job = instance.jobs[instance.job_index[j]]
        by_pool: dict[tuple[Kind, Pool], list[Any]] = defaultdict(list)
        for kind, server in _possible(m, instance, job):
            variable = m.w[j, kind, server.id]
            by_pool[kind, server.pool].append(variable)
            on_server[_room(m, instance, job, kind, server)].append(variable)
        for kind in KINDS:
            for pool in job.pools:
                placed = pyo.quicksum(by_pool[kind, pool])
                m.all_named.add(placed - workers_of(m, kind)[j, pool] == 0)
    for room, named in on_server.items():
        m.named_here.add(pyo.quicksum(named) <= m.n[room])


def read_complete(instance: Instance, m: Any) -> Solution:
    """Return the solution of the variables' values; other jobs fill what named ones leave."""
    if m.component("NAMED") is None:
        return read(instance, m)
    workers: dict[str, dict[Kind, dict[str, int]]] = {j: {} for j in m.NAMED}
    taken: Counter[Held] = Counter()
    for (j, kind, s), variable in m.w.items():
        count = round(variable.value or 0)
        if count:
            number = instance.server_index[s]
            job = instance.jobs[instance.job_index[j]]
            group = group_of(instance, instance.servers[number].pool, kind)
            taken[Held(number, group, job.gpus_per_worker)] += count
            workers[j].setdefault(kind, {})[s] = count
    places = {held: count - taken[held] for held, count in places_of(instance, m).items()}
    shares = workers_by_job(instance, m)
    others = {j: share for j, share in shares.items() if instance.jobs[j].id not in workers}
    placement = dict(fill(instance, places, others).placement)
    for j, held in workers.items():
        if instance.job_index[j] in shares:
            placement[j] = Placed(base=held.get("base", {}), flexible=held.get("flexible", {}))
    order = [job.id for job in instance.jobs if job.id in placement]
    return Solution(placement={j: placement[j] for j in order})


def assign_complete(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to the value that the solution gives it."""
    assign(instance, m, solution)
    for (j, kind, s), variable in m.w.items():
        placed = solution.placement.get(j, Placed())
        variable.set_value(placed.counts(kind).get(s, 0), skip_validation=True)

"""The declarative model of workers; components are named as on the card models/workers.md.

From `complete` on it has what only variants name.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

from dlsched.problems.workers.definition.schema import (
    KINDS,
    POOLS,
    Instance,
    Job,
    Kind,
    Placed,
    Pool,
    Server,
    Solution,
)
from dlsched.problems.workers.structures.classes import (
    Demand,
    Held,
    Share,
    fill,
    group_of,
    groups_of,
    held_by,
    shares_of,
    sizes_by_group,
)
from dlsched.schema import granularity

NAMEABLE = {
    "y": "y[j]: job j is placed",
    "u": "u[j,p]: job j, which may use both pools but not at a time, is on pool p",
    "b": "b[j,p]: base workers of job j on pool p",
    "f": "f[j,p]: flexible workers of job j on pool p",
    "n": "n[s,g,k]: workers of k GPUs of group g on server s",
    "h": "h[s,g]: server s holds workers of group g",
    "w": "w[j,k,s]: workers of job j, of kind k (base or flexible), on server s",
}
"""The variables that a variant may name."""


def build(instance: Instance) -> Any:
    """Return the Pyomo model: for each server the number of workers of each size.

    Variables are indexed by the instance's ids.
    """
    import pyomo.core as pyo

    jobs = {job.id: job for job in instance.jobs}
    servers = {server.id: server for server in instance.servers}
    m = pyo.ConcreteModel(instance.name)
    _sets(m, instance)
    m.y = pyo.Var(m.JOBS, domain=pyo.Binary)
    m.u = pyo.Var(m.CHOICES, domain=pyo.Binary)
    m.b = _counts(m.OPTIONS, lambda m, j, p: (0, jobs[j].base))
    m.f = _counts(m.OPTIONS, lambda m, j, p: (0, jobs[j].flexible))
    m.n = _counts(m.ROOMS, lambda m, s, g, k: (0, servers[s].free // k))
    m.h = pyo.Var(m.GROUPS, domain=pyo.Binary)
    _levels(m, jobs, servers)
    _gangs(m, jobs)
    _supply(m, instance, servers)
    return m


def _counts(keys: Any, bounds: Any) -> Any:
    import pyomo.core as pyo

    return pyo.Var(keys, domain=pyo.NonNegativeIntegers, bounds=bounds)


def _sets(m: Any, instance: Instance) -> None:
    import pyomo.core as pyo

    options = [(job.id, pool) for job in instance.jobs for pool in job.pools]
    one_of_two = {job.id for job in instance.jobs if len(job.pools) > 1 and not job.heterogeneous}
    sizes = sizes_by_group(instance)
    rooms = [
        (server.id, group, size)
        for s, server in enumerate(instance.servers)
        for group in groups_of(instance, s)
        for size in sizes.get((server.pool, group), ())
        if size <= server.free
    ]
    m.JOBS = pyo.Set(initialize=[job.id for job in instance.jobs])
    m.OPTIONS = pyo.Set(initialize=options, dimen=2)
    m.CHOICES = pyo.Set(initialize=[key for key in options if key[0] in one_of_two], dimen=2)
    m.ROOMS = pyo.Set(initialize=rooms, dimen=3)
    m.GROUPS = pyo.Set(initialize=list(dict.fromkeys((s, g) for s, g, _ in rooms)), dimen=2)
    m.OPEN = pyo.Set(initialize=list(dict.fromkeys(s for s, _, _ in rooms)))
    supplied = [(*key, size) for key, group_sizes in sizes.items() for size in group_sizes]
    m.SUPPLY = pyo.Set(initialize=supplied, dimen=3)


def _levels(m: Any, jobs: Mapping[str, Job], servers: Mapping[str, Server]) -> None:
    """State the levels, and of what their values are multiples, so that bounds may be rounded."""
    import pyomo.core as pyo

    flexible = []
    off_preference = []
    sizes = []
    for j, pool in m.OPTIONS:
        job = jobs[j]
        if job.flexible:
            flexible.append(m.f[j, pool])
        if pool != job.pools[0]:
            workers = m.b[j, pool] + m.f[j, pool]
            off_preference.append(job.gpus_per_worker * workers)
            sizes.append(job.gpus_per_worker)
    opened = [m.h[s, group] for s, group in m.GROUPS if servers[s].empty]
    m.placed = pyo.Objective(expr=pyo.quicksum(m.y.values()), sense=pyo.maximize)
    m.flexible = pyo.Objective(expr=pyo.quicksum(flexible), sense=pyo.maximize)
    m.off_preference = pyo.Objective(expr=pyo.quicksum(off_preference))
    m.opened = pyo.Objective(expr=pyo.quicksum(opened))
    m.GRANULARITY = {"placed": 1, "flexible": 1, "opened": 1}
    m.GRANULARITY["off_preference"] = granularity(sizes)


def _gangs(m: Any, jobs: Mapping[str, Job]) -> None:
    """Give each placed job all base workers and at most its flexible ones, in its pools."""
    import pyomo.core as pyo

    def gang(m: Any, j: str) -> Any:
        workers = sum(m.b[j, p] for p in jobs[j].pools)
        return workers == jobs[j].base * m.y[j]

    def scale(m: Any, j: str) -> Any:
        workers = sum(m.f[j, p] for p in jobs[j].pools)
        return workers <= jobs[j].flexible * m.y[j]

    def base_pool(m: Any, j: str, p: Pool) -> Any:
        return m.b[j, p] == jobs[j].base * m.u[j, p]

    def flexible_pool(m: Any, j: str, p: Pool) -> Any:
        return m.f[j, p] <= jobs[j].flexible * m.u[j, p]

    m.gang = pyo.Constraint(m.JOBS, rule=gang)
    m.scale = pyo.Constraint(m.JOBS, rule=scale)
    m.base_pool = pyo.Constraint(m.CHOICES, rule=base_pool)
    m.flexible_pool = pyo.Constraint(m.CHOICES, rule=flexible_pool)


def _supply(m: Any, instance: Instance, servers: Mapping[str, Server]) -> None:
    """Put as many workers on the servers as the jobs have, within free GPUs and groups."""
    import pyomo.core as pyo

    wanted: dict[Demand, list[Any]] = defaultdict(list)
    held: dict[Demand, list[Any]] = defaultdict(list)
    gpus: dict[tuple[str, str], list[Any]] = defaultdict(list)
    groups: dict[str, list[Any]] = defaultdict(list)
    for job in instance.jobs:
        for pool in job.pools:
            for kind in KINDS if job.flexible else KINDS[:1]:
                key = Demand(pool, group_of(instance, pool, kind), job.gpus_per_worker)
                wanted[key].append(workers_of(m, kind)[job.id, pool])
    for s, g, k in m.ROOMS:
        held[Demand(servers[s].pool, g, k)].append(m.n[s, g, k])
        gpus[s, g].append(k * m.n[s, g, k])
    for s, g in m.GROUPS:
        groups[s].append(m.h[s, g])

    def supply(m: Any, *key: Any) -> Any:
        return pyo.quicksum(held[Demand(*key)]) == pyo.quicksum(wanted[Demand(*key)])

    def within(m: Any, s: str, g: str) -> Any:
        return pyo.quicksum(gpus[s, g]) <= servers[s].free * m.h[s, g]

    m.supply = pyo.Constraint(m.SUPPLY, rule=supply)
    m.gpus = pyo.Constraint(m.GROUPS, rule=within)
    m.one_group = pyo.Constraint(m.OPEN, rule=lambda m, s: pyo.quicksum(groups[s]) <= 1)


def workers_of(m: Any, kind: Kind) -> Any:
    """Return the variables that count a kind of worker, by job and pool."""
    return m.b if kind == "base" else m.f


def read(instance: Instance, m: Any) -> Solution:
    """Return the solution that the model's variables hold."""
    return fill(instance, places_of(instance, m), workers_by_job(instance, m))


def places_of(instance: Instance, m: Any) -> dict[Held, int]:
    """Return the places for workers that the variables' values say."""
    return {
        Held(instance.server_index[s], g, k): round(m.n[s, g, k].value or 0) for s, g, k in m.ROOMS
    }


def workers_by_job(instance: Instance, m: Any) -> dict[int, dict[tuple[Pool, Kind], int]]:
    """Return the workers of each placed job, by its position, by pool and kind."""
    shares: dict[int, dict[tuple[Pool, Kind], int]] = {}
    for j, job in enumerate(instance.jobs):
        if round(m.y[job.id].value or 0):
            shares[j] = {
                (pool, kind): round(workers_of(m, kind)[job.id, pool].value or 0)
                for pool in POOLS
                if pool in job.pools
                for kind in KINDS
            }
    return shares


def assign(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to the value that the solution gives it."""
    shares = shares_of(instance, solution)
    for j, job in enumerate(instance.jobs):
        share: Share = shares.get(j, {})
        m.y[job.id].set_value(int(j in shares), skip_validation=True)
        for pool in job.pools:
            base = share.get((pool, "base"), 0)
            m.b[job.id, pool].set_value(base, skip_validation=True)
            m.f[job.id, pool].set_value(share.get((pool, "flexible"), 0), skip_validation=True)
            if (job.id, pool) in m.CHOICES:
                m.u[job.id, pool].set_value(int(base > 0), skip_validation=True)
    held = held_by(instance, solution)
    for s, g in m.GROUPS:
        m.h[s, g].set_value(0, skip_validation=True)
    for s, g, k in m.ROOMS:
        count = held[Held(instance.server_index[s], g, k)]
        m.n[s, g, k].set_value(count, skip_validation=True)
        if count:
            m.h[s, g].set_value(1, skip_validation=True)


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
        job = instance.jobs[instance.job_index[j]]
        server = instance.servers[instance.server_index[s]]
        if _room(m, instance, job, kind, server) is None:
            return 0, 0
        count = job.base if kind == "base" else job.flexible
        return 0, min(count, server.free // job.gpus_per_worker)

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
        for kind, server in product(KINDS if job.flexible else KINDS[:1], instance.servers):
            room = _room(m, instance, job, kind, server)
            if room is not None:
                variable = m.w[j, kind, server.id]
                by_pool[kind, server.pool].append(variable)
                on_server[room].append(variable)
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

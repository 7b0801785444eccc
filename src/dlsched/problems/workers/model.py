"""The declarative model of workers; components are named as on the card models/workers.md."""

from __future__ import annotations

from typing import Any

from dlsched.problems.workers.definition.schema import KINDS, POOLS, Instance, Kind, Pool, Solution
from dlsched.problems.workers.structures.patterns import Demand, group_of, groups_of, sizes_by_group
from dlsched.problems.workers.structures.placement_counts import Share, fill, held_by, shares_of
from dlsched.schema import granularity

NAMEABLE = {
    "y": "y[j]: job j is placed",
    "u": "u[j,p]: job j, which may use both pools but not at a time, is on pool p",
    "b": "b[j,p]: base workers of job j on pool p",
    "f": "f[j,p]: flexible workers of job j on pool p",
    "n": "n[s,g,k]: workers of k GPUs of group g on server s",
    "h": "h[s,g]: server s holds workers of group g",
}
"""The variables that a variant may name."""


def build(instance: Instance) -> Any:
    """Return the Pyomo model: for each server the number of workers of each size.

    Variables are indexed by the instance's ids.
    """
    import pyomo.environ as pyo

    jobs = {job.id: job for job in instance.jobs}
    sizes = sizes_by_group(instance)
    rooms = [
        (server.id, group, size)
        for s, server in enumerate(instance.servers)
        for group in groups_of(instance, s)
        for size in sizes.get((server.pool, group), ())
        if size <= server.free
    ]
    servers = {server.id: server for server in instance.servers}
    wide = [job.id for job in instance.jobs if len(job.pools) > 1 and not job.heterogeneous]

    m = pyo.ConcreteModel(instance.name)
    m.JOBS = pyo.Set(initialize=list(jobs))
    m.OPTIONS = pyo.Set(initialize=[(j, p) for j in jobs for p in jobs[j].pools], dimen=2)
    m.CHOICES = pyo.Set(initialize=[(j, p) for j in wide for p in jobs[j].pools], dimen=2)
    m.ROOMS = pyo.Set(initialize=rooms, dimen=3)
    m.GROUPS = pyo.Set(initialize=list(dict.fromkeys((s, g) for s, g, _ in rooms)), dimen=2)
    m.OPEN = pyo.Set(initialize=list(dict.fromkeys(s for s, _, _ in rooms)))
    supplied = [(p, g, k) for (p, g), group_sizes in sizes.items() for k in group_sizes]
    m.SUPPLY = pyo.Set(initialize=supplied, dimen=3)

    m.y = pyo.Var(m.JOBS, domain=pyo.Binary)
    m.u = pyo.Var(m.CHOICES, domain=pyo.Binary)
    m.b = pyo.Var(
        m.OPTIONS, domain=pyo.NonNegativeIntegers, bounds=lambda m, j, p: (0, jobs[j].base)
    )
    m.f = pyo.Var(
        m.OPTIONS, domain=pyo.NonNegativeIntegers, bounds=lambda m, j, p: (0, jobs[j].flexible)
    )
    m.n = pyo.Var(
        m.ROOMS,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda m, s, g, k: (0, servers[s].free // k),
    )
    m.h = pyo.Var(m.GROUPS, domain=pyo.Binary)

    m.placed = pyo.Objective(expr=pyo.quicksum(m.y.values()), sense=pyo.maximize)
    m.flexible = pyo.Objective(
        expr=pyo.quicksum(m.f[j, p] for j, p in m.OPTIONS if jobs[j].flexible), sense=pyo.maximize
    )
    away = [(j, p) for j, p in m.OPTIONS if p != jobs[j].pools[0]]
    m.off_preference = pyo.Objective(
        expr=pyo.quicksum(jobs[j].gpus_per_worker * (m.b[j, p] + m.f[j, p]) for j, p in away)
    )
    m.opened = pyo.Objective(expr=pyo.quicksum(m.h[s, g] for s, g in m.GROUPS if servers[s].empty))
    # Every value of a level is a multiple of this, so its bounds may be rounded to one.
    m.GRANULARITY = {"placed": 1, "flexible": 1, "opened": 1}
    m.GRANULARITY["off_preference"] = granularity(jobs[j].gpus_per_worker for j, _ in away)

    m.gang = pyo.Constraint(
        m.JOBS,
        rule=lambda m, j: sum(m.b[j, p] for p in jobs[j].pools) == jobs[j].base * m.y[j],
    )
    m.scale = pyo.Constraint(
        m.JOBS,
        rule=lambda m, j: sum(m.f[j, p] for p in jobs[j].pools) <= jobs[j].flexible * m.y[j],
    )
    m.base_pool = pyo.Constraint(
        m.CHOICES, rule=lambda m, j, p: m.b[j, p] == jobs[j].base * m.u[j, p]
    )
    m.flexible_pool = pyo.Constraint(
        m.CHOICES, rule=lambda m, j, p: m.f[j, p] <= jobs[j].flexible * m.u[j, p]
    )
    wanted: dict[Demand, list[Any]] = {Demand(*key): [] for key in supplied}
    held: dict[Demand, list[Any]] = {Demand(*key): [] for key in supplied}
    for j, p in m.OPTIONS:
        for kind in KINDS:
            if kind == "base" or jobs[j].flexible:
                key = Demand(p, group_of(instance, p, kind), jobs[j].gpus_per_worker)
                wanted[key].append(_workers(m, kind)[j, p])
    on: dict[tuple[str, str], list[Any]] = {}
    for s, g, k in rooms:
        held[Demand(servers[s].pool, g, k)].append(m.n[s, g, k])
        on.setdefault((s, g), []).append(k * m.n[s, g, k])
    m.supply = pyo.Constraint(
        m.SUPPLY,
        rule=lambda m, *key: pyo.quicksum(held[Demand(*key)]) == pyo.quicksum(wanted[Demand(*key)]),
    )
    m.gpus = pyo.Constraint(
        m.GROUPS, rule=lambda m, s, g: pyo.quicksum(on[s, g]) <= servers[s].free * m.h[s, g]
    )
    groups: dict[str, list[Any]] = {}
    for s, g in m.GROUPS:
        groups.setdefault(s, []).append(m.h[s, g])
    m.one_group = pyo.Constraint(m.OPEN, rule=lambda m, s: pyo.quicksum(groups[s]) <= 1)
    return m


def complete(m: Any, instance: Instance) -> None:
    """State that a server without workers of a group does not hold the group."""
    import pyomo.environ as pyo

    held: dict[tuple[str, str], list[Any]] = {}
    for s, g, k in m.ROOMS:
        held.setdefault((s, g), []).append(m.n[s, g, k])
    m.held_only = pyo.Constraint(m.GROUPS, rule=lambda m, s, g: m.h[s, g] <= sum(held[s, g]))


def _workers(m: Any, kind: Kind) -> Any:
    return m.b if kind == "base" else m.f


def read(instance: Instance, m: Any) -> Solution:
    """Return the solution that the model's variables hold."""
    shares: dict[int, dict[tuple[Pool, Kind], int]] = {}
    for j, job in enumerate(instance.jobs):
        if round(m.y[job.id].value or 0):
            shares[j] = {
                (pool, kind): round(_workers(m, kind)[job.id, pool].value or 0)
                for pool in POOLS
                if pool in job.pools
                for kind in KINDS
            }
    index = instance.server_index
    slots = [(index[s], g, k, round(m.n[s, g, k].value or 0)) for s, g, k in m.ROOMS]
    return fill(instance, slots, shares)


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
        count = held[instance.server_index[s], g, k]
        m.n[s, g, k].set_value(count, skip_validation=True)
        if count:
            m.h[s, g].set_value(1, skip_validation=True)

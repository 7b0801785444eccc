"""The declarative model of placement; components are named as on the card models/placement.md.

Its objective is an estimate from below: squares are replaced by tangents, the sigmoid by steps. It
is exact where the `Estimate` has its points, so `milp` adds those of every placement that it finds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from dlsched.problems.placement.arrays import Data, arrays
from dlsched.problems.placement.bounds import job_squares
from dlsched.problems.placement.estimate import Estimate, sigmoid_at
from dlsched.problems.placement.schema import Instance, Solution
from dlsched.problems.placement.tally import state_of

_TINY = 1e-9
THOUSAND = 1000
"""Squares of shares are counted in thousandths: solvers' rows are off by as much as 1e-6."""


def build(instance: Instance, estimate: Estimate | None = None) -> Any:
    """Return the Pyomo model with an estimate of the cost; a coarse one by default."""
    data = arrays(instance)
    estimate = estimate or Estimate.coarse(data)
    groups = groups_of(instance)
    tables = range(len(data.size))
    names = [region.id for region in instance.regions]
    ids = [table.id for table in instance.tables]

    m = pyo.ConcreteModel(instance.name)
    m.REGIONS = pyo.Set(initialize=names)
    m.TABLES = pyo.Set(initialize=ids)
    m.GROUPS = pyo.Set(initialize=list(range(len(groups))))
    m.VOTING = pyo.Set(initialize=[g for g, (ml, at, _) in enumerate(groups) if not ml])
    m.READS = pyo.Set(initialize=[(g, ids[t]) for g in m.VOTING for t in groups[g][1]], dimen=2)

    m.x = pyo.Var(m.TABLES, m.REGIONS, domain=pyo.Binary)
    m.y = pyo.Var(m.GROUPS, m.REGIONS, domain=pyo.Binary)
    m.near = pyo.Var(m.READS, m.REGIONS, bounds=(0, 1))

    m.one_home = pyo.Constraint(m.TABLES, rule=lambda m, t: sum(m.x[t, r] for r in names) == 1)
    _locate(m, groups, names, ids)

    crossing = float(data.bytes_read)
    for g, (ml, at, jobs) in enumerate(groups):
        for name in names:
            if ml:
                crossing -= float(data.job_bytes[jobs].sum()) * m.y[g, name]
            else:
                for t in at:
                    crossing -= float(data.size[t]) * len(jobs) * m.near[g, ids[t], name]

    imbalance = _imbalance(m, data, estimate, groups, names)
    m.uneven = pyo.Var(sorted(estimate.bytes), bounds=(0, None))
    m.bytes_tangent = pyo.ConstraintList()

    def stored(r: int) -> Any:
        return sum(float(data.size[t]) * m.x[ids[t], names[r]] for t in tables)

    m.bytes_off = {r: stored(r) / data.bytes_total - data.capacity_share[r] for r in estimate.bytes}
    for r, points in estimate.bytes.items():
        off = m.bytes_off[r]
        for point in points:
            m.bytes_tangent.add(m.uneven[r] >= THOUSAND * (2 * point * off - point * point))

    m.cost = pyo.Objective(
        expr=data.traffic_weight / max(1.0, data.bytes_read) * crossing
        + data.gpu_weight / THOUSAND * imbalance
        + data.storage_weight / THOUSAND * sum(m.uneven[r] for r in estimate.bytes),
        sense=pyo.minimize,
    )
    m.GRID = {"cost": 0}
    _limits(m, data, groups, names, ids, stored)
    return m


def _imbalance(m: Any, data: Data, estimate: Estimate, groups: Any, names: list[str]) -> Any:
    """State (2): tangents of the squares, and steps of the sigmoid."""
    hours = _hours(data, groups)
    m.SHARES = pyo.Set(initialize=sorted(estimate.shares), dimen=3)
    m.STEP_AT = {
        (r, k, i): at for (r, k), steps in estimate.steps.items() for i, at in enumerate(steps)
    }
    m.STEPS = pyo.Set(initialize=list(m.STEP_AT), dimen=3)

    def demand(r: int, k: int, p: int) -> Any:
        return sum(h * m.y[g, names[r]] for g, h in hours.get((k, p), {}).items())

    def load(r: int, k: int) -> Any:
        return sum(demand(r, k, p) for p in range(data.wanted.shape[1]))

    m.square = pyo.Var(m.SHARES, bounds=(0, None))
    m.share_tangent = pyo.ConstraintList()
    m.off = {
        (r, k, p): demand(r, k, p) / data.wanted[k, p] - data.supply_share[r, k]
        for r, k, p in estimate.shares
    }
    for (r, k, p), points in estimate.shares.items():
        off = m.off[r, k, p]
        for at in points:
            m.share_tangent.add(m.square[r, k, p] >= THOUSAND * (2 * at * off - at * at))

    # Jobs run whole, so some imbalance is left whatever the homes; tangents alone do not see it.
    m.whole_jobs = pyo.ConstraintList()
    for (k, p), least in job_squares(data).items():
        if least > _TINY:
            m.whole_jobs.add(sum(m.square[q, k, p] for q in range(len(names))) >= THOUSAND * least)

    # The sigmoid's first half counts always, and what a step adds only from its load on.
    m.over = pyo.Var(m.STEPS, domain=pyo.Binary)
    m.extra = pyo.Var(m.STEPS, bounds=(0, None))
    m.overload = pyo.ConstraintList()
    m.step = pyo.ConstraintList()
    imbalance = 0.0
    for r, k in estimate.steps:
        weighted = sum(
            float(data.priority_weight[p]) * m.square[r, k, p]
            for p in range(data.wanted.shape[1])
            if (r, k, p) in estimate.shares
        )
        imbalance += 0.5 * weighted
        before, most = 0.5, float(data.wanted[k].sum())
        for i, at in enumerate(estimate.steps[r, k]):
            now = sigmoid_at(data, r, k, at)
            last = at - _least_step(data, at)
            m.overload.add(load(r, k) <= last + max(0.0, most - last) * m.over[r, k, i])
            if i:
                m.overload.add(m.over[r, k, i] <= m.over[r, k, i - 1])
            largest = _largest(data, r, k)
            m.step.add(m.extra[r, k, i] >= weighted - largest * (1 - m.over[r, k, i]))
            m.step.add(m.extra[r, k, i] >= _smallest(data, r, k, at) * m.over[r, k, i])
            imbalance += (now - before) * m.extra[r, k, i]
            before = now
    return imbalance


def refined(instance: Instance) -> Any:
    """Return the model with the estimate with which `milp` proves the optimum: they agree there."""
    from dlsched.problems.placement.refine import Refinement
    from dlsched.run import Run

    refinement = Refinement(instance, Run())
    refinement.search()
    return build(instance, refinement.estimate)


def _locate(m: Any, groups: Any, names: list[str], ids: list[str]) -> None:
    """State where the jobs of a group run, given their tables' homes."""
    m.together = pyo.ConstraintList()
    m.apart = pyo.ConstraintList()
    m.somewhere = pyo.ConstraintList()
    m.majority = pyo.ConstraintList()
    m.near_home = pyo.ConstraintList()
    m.near_job = pyo.ConstraintList()
    for g, (ml, at, _) in enumerate(groups):
        for r in names:
            if ml:
                for t in at:
                    m.together.add(m.y[g, r] <= m.x[ids[t], r])
                m.apart.add(m.y[g, r] >= sum(m.x[ids[t], r] for t in at) - (len(at) - 1))
            else:
                for t in at:
                    m.near_home.add(m.near[g, ids[t], r] <= m.x[ids[t], r])
                    m.near_job.add(m.near[g, ids[t], r] <= m.y[g, r])
        if not ml:
            m.somewhere.add(sum(m.y[g, r] for r in names) == 1)
            for i, r in enumerate(names):
                for j, q in enumerate(names):
                    if i != j:  # ties go to the earlier region
                        tie = int(j < i)
                        ahead = sum(m.x[ids[t], q] - m.x[ids[t], r] for t in at) + tie
                        m.majority.add(ahead <= (len(at) + tie) * (1 - m.y[g, r]))


def _limits(m: Any, data: Data, groups: Any, names: list[str], ids: list[str], stored: Any) -> None:
    """State (4), (5), (6) and the move quota."""
    m.storage = pyo.Constraint(
        m.REGIONS,
        rule=lambda m, r: _row(stored(names.index(r)), "<=", data.capacity[names.index(r)]),
    )
    m.cpu = pyo.ConstraintList()
    for r, name in enumerate(names):
        for a in range(data.cpu_quota.shape[1]):
            if np.isfinite(data.cpu_quota[r, a]):
                used = 0.0
                for g, (_, _, jobs) in enumerate(groups):
                    own = jobs[data.app[jobs] == a]
                    if data.cpu_hours[own].sum():
                        used += float(data.cpu_hours[own].sum()) * m.y[g, name]
                m.cpu.add(_row(used, "<=", data.cpu_quota[r, a]))
    if data.threshold > 0:
        home = 0.0
        for g, (_, _, jobs) in enumerate(groups):
            for r, name in enumerate(names):
                have = sum(
                    float(data.hours[i])
                    for j in jobs
                    if data.sensitive[j]
                    for i in range(data.hours_start[j], data.hours_start[j + 1])
                    if data.supply[r, data.hours_kind[i]] > 0
                )
                if have:
                    home += have * m.y[g, name]
        m.at_home = pyo.Constraint(expr=_row(home, ">=", data.threshold))
    if np.isfinite(data.quota):
        settled = [t for t in range(len(ids)) if data.home[t] >= 0]
        away = sum(float(data.size[t]) * (1 - m.x[ids[t], names[data.home[t]]]) for t in settled)
        m.quota = pyo.Constraint(expr=_row(away, "<=", data.quota))


def _row(expression: Any, sense: str, limit: float) -> Any:
    """Return a row, also where nothing is in it."""
    relation = expression <= float(limit) if sense == "<=" else expression >= float(limit)
    if isinstance(relation, (bool, np.bool_)):
        return pyo.Constraint.Feasible if relation else pyo.Constraint.Infeasible
    return relation


def groups_of(instance: Instance) -> list[tuple[bool, list[int], Any]]:
    """Return jobs that are always in one region together: alike in kind and tables.

    Each group is (whether all tables must share the region, tables, jobs). A job with one table
    is where this is, whatever its kind.
    """
    found: dict[tuple[bool, tuple[int, ...]], list[int]] = {}
    for j, job in enumerate(instance.jobs):
        at = tuple(sorted(instance.table_index[name] for name in job.tables))
        found.setdefault((job.kind == "ml" or len(at) == 1, at), []).append(j)
    return [(ml, list(at), np.array(jobs)) for (ml, at), jobs in found.items()]


def _hours(data: Data, groups: Any) -> dict[tuple[int, int], dict[int, float]]:
    """Return GPU hours by type and priority, and by group."""
    total: dict[tuple[int, int], dict[int, float]] = {}
    for g, (_, _, jobs) in enumerate(groups):
        for j in jobs:
            for i in range(data.hours_start[j], data.hours_start[j + 1]):
                key = (int(data.hours_kind[i]), int(data.priority[j]))
                row = total.setdefault(key, {})
                row[g] = row.get(g, 0.0) + float(data.hours[i])
    return total


def _least_step(data: Data, load: float) -> float:
    """Return a distance below a load that no sum of hours falls into."""
    whole = np.all(data.hours == np.rint(data.hours))
    return 1.0 if whole and load == np.rint(load) else 1e-9 * max(1.0, load)


def _largest(data: Data, r: int, k: int) -> float:
    """Return the most that the weighted squares of a region and type can be."""
    share = data.supply_share[r, k]
    weights = data.priority_weight[data.wanted[k] > 0]
    return float(THOUSAND * weights.sum() * max(share, 1 - share) ** 2)


def _smallest(data: Data, r: int, k: int, load: float) -> float:
    """Return the least that the weighted squares can be from a load on (Cauchy-Schwarz)."""
    mine = data.wanted[k] > 0
    wanted, weights = data.wanted[k][mine], data.priority_weight[mine]
    ahead = load - data.supply_share[r, k] * wanted.sum()
    if ahead <= 0 or not weights.all():
        return 0.0
    return float(THOUSAND * ahead**2 / (wanted**2 / weights).sum())


def read(instance: Instance, m: Any) -> Solution:
    """Return the solution that the model's variables hold."""
    home = {t: r for t, r in m.x if round(m.x[t, r].value or 0) == 1}
    return Solution(
        instance=instance.name, instance_sha256=instance.sha256, method="milp", home=home
    )


def assign(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to the value that the solution gives it."""
    data = arrays(instance)
    index = instance.region_index
    state = state_of(data, [index[solution.home[table.id]] for table in instance.tables])
    groups = groups_of(instance)
    for t, r in m.x:
        m.x[t, r].set_value(int(solution.home[t] == r), skip_validation=True)
    for g, r in m.y:
        m.y[g, r].set_value(int(state.region[groups[g][2][0]] == index[r]), skip_validation=True)
    for g, t, r in m.near:
        m.near[g, t, r].set_value(m.y[g, r].value * m.x[t, r].value, skip_validation=True)
    weighted: dict[tuple[int, int], float] = {}
    for r, k, p in m.SHARES:
        off = state.demand[r, k, p] / data.wanted[k, p] - data.supply_share[r, k]
        m.square[r, k, p].set_value(float(THOUSAND * off * off), skip_validation=True)
        weighted[r, k] = weighted.get((r, k), 0.0) + float(
            THOUSAND * data.priority_weight[p] * off * off
        )
    for (r, k, i), at in m.STEP_AT.items():
        over = int(state.demand[r, k].sum() >= at)
        m.over[r, k, i].set_value(over, skip_validation=True)
        m.extra[r, k, i].set_value(weighted.get((r, k), 0.0) * over, skip_validation=True)
    for r in m.uneven:
        off = state.stored[r] / data.bytes_total - data.capacity_share[r]
        m.uneven[r].set_value(float(THOUSAND * off * off), skip_validation=True)

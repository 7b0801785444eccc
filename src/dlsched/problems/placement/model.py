"""The declarative model of placement; components are named as on the card models/placement.md.

Its objective is an estimate from below: squares are replaced by tangents, the sigmoid by steps. It
is exact where the `Estimate` has its points, so `milp` adds those of every placement that it finds.
Every coefficient is an exact number of the instance, rounded once, so that exact arithmetic
confirms a bound from duals; every variable has a finite upper bound, so that there always is one.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo

from dlsched.problems.placement.arrays import Data, arrays
from dlsched.problems.placement.bounds import job_squares
from dlsched.problems.placement.estimate import Estimate, step_of
from dlsched.problems.placement.schema import Instance, Solution
from dlsched.problems.placement.shares import Shares, above, at_least, at_most
from dlsched.problems.placement.tally import state_of

_TINY = 1e-9
_BELOW = 1 - 1e-12
_LEAST = 1e-3
"""HiGHS takes coefficients below 1e-9 for 0; a switch's may be larger than needed."""
THOUSAND = 1000
"""Squares of shares are counted in thousandths: solvers' rows are off by as much as 1e-6."""


def build(
    instance: Instance,
    estimate: Estimate | None = None,
    excluded: Iterable[Solution] = (),
    data: Data | None = None,
) -> Any:
    """Return the Pyomo model with an estimate of the cost; a coarse one by default.

    Parameters
    ----------
    excluded
        Placements that are not wanted any more: each differs in a table from every solution.
    data
        The instance as arrays, if at hand.
    """
    data = data or arrays(instance)
    estimate = estimate or Estimate.coarse(data)
    shares = Shares(instance)
    names = [region.id for region in instance.regions]
    ids = [table.id for table in instance.tables]

    m = pyo.ConcreteModel(instance.name)
    m.REGIONS = pyo.Set(initialize=names)
    m.TABLES = pyo.Set(initialize=ids)
    groups = shares.groups
    m.GROUPS = pyo.Set(initialize=list(range(len(groups))))
    m.VOTING = pyo.Set(initialize=[g for g, (ml, at, _) in enumerate(groups) if not ml])
    m.READS = pyo.Set(initialize=[(g, ids[t]) for g in m.VOTING for t in groups[g][1]], dimen=2)

    m.x = pyo.Var(m.TABLES, m.REGIONS, domain=pyo.Binary)
    m.y = pyo.Var(m.GROUPS, m.REGIONS, domain=pyo.Binary)
    m.near = pyo.Var(m.READS, m.REGIONS, bounds=(0, 1))

    m.one_home = pyo.Constraint(m.TABLES, rule=lambda m, t: sum(m.x[t, r] for r in names) == 1)
    _locate(m, groups, names, ids)
    m.cost = pyo.Objective(
        expr=_traffic(m, instance, shares, names, ids)
        + _imbalance(m, instance, data, estimate, shares, names)
        + _uneven(m, instance, estimate, shares, names, ids),
        sense=pyo.minimize,
    )
    m.GRANULARITY = {"cost": 0}
    _limits(m, instance, groups, names, ids)
    m.other = pyo.ConstraintList()
    for solution in excluded:
        m.other.add(sum(m.x[t, solution.home[t]] for t in ids) <= len(ids) - 1)
    return m


def _traffic(m: Any, instance: Instance, shares: Shares, names: list[str], ids: list[str]) -> Any:
    """State (1): all bytes read, less those read where the job is."""
    weight = Fraction(instance.weights.traffic)
    terms: list[Any] = [float(weight)] if instance.jobs else []
    for g, row in enumerate(shares.read):
        if shares.groups[g][0]:
            part = float(weight * sum(row.values(), Fraction(0)))
            terms += [-part * m.y[g, name] for name in names]
        else:
            terms += [
                -float(weight * part) * m.near[g, ids[t], name]
                for t, part in row.items() for name in names
            ]  # fmt: skip
    return pyo.quicksum(terms)


def _imbalance(
    m: Any, instance: Instance, data: Data, estimate: Estimate, shares: Shares, names: list[str]
) -> Any:
    """State (2): tangents of the squares, and steps of the sigmoid."""
    m.SHARES = pyo.Set(initialize=sorted(estimate.shares), dimen=3)
    m.STEP_AT = {
        (r, k, i): at for (r, k), steps in estimate.steps.items() for i, at in enumerate(steps)
    }
    m.STEPS = pyo.Set(initialize=list(m.STEP_AT), dimen=3)
    weight, weights = shares.priority_weight
    weight *= Fraction(instance.weights.gpu) / THOUSAND

    def most(r: int, k: int, share: Fraction | int = 1) -> Fraction:
        """Return the largest square if no more than a share of the demand is there."""
        supply = shares.supply[r][k]
        return THOUSAND * max(supply, min(Fraction(1), share) - supply) ** 2

    m.square = pyo.Var(m.SHARES, bounds=lambda m, r, k, p: (0, above(most(r, k))))
    m.share_tangent = pyo.ConstraintList()
    m.off = {}
    for (r, k, p), points in estimate.shares.items():
        supply = shares.supply[r][k]
        row = [(part, m.y[g, names[r]]) for g, part in shares.demand[k, p].items()]
        m.off[r, k, p] = pyo.quicksum(float(part) * y for part, y in row) - float(supply)
        for point in map(Fraction, points):
            slope = 2 * THOUSAND * point
            tangent = pyo.quicksum(float(slope * part) * y for part, y in row)
            least = float(-slope * supply - THOUSAND * point**2)
            m.share_tangent.add(m.square[r, k, p] - tangent >= least)

    # Jobs run whole, so some imbalance is left whatever the homes; tangents alone do not see it.
    m.whole_jobs = pyo.ConstraintList()
    for (k, p), rest in job_squares(data).items():
        if rest > _TINY:
            total = sum(m.square[q, k, p] for q in range(len(names)))
            m.whole_jobs.add(total >= THOUSAND * rest * _BELOW)

    def largest(r: int, k: int, load: Fraction | int) -> Fraction:
        """Return the most that the weighted squares can be at a load."""
        mine = [p for p in range(len(weights)) if (r, k, p) in estimate.shares]
        return sum((weights[p] * most(r, k, load / shares.part[k, p]) for p in mine), Fraction(0))

    # The sigmoid's first half counts always, and what a step adds only from its load on.
    m.over = pyo.Var(m.STEPS, domain=pyo.Binary)
    m.extra = pyo.Var(m.STEPS, bounds=lambda m, r, k, i: (0, above(largest(r, k, 1))))
    m.overload = pyo.ConstraintList()
    m.step = pyo.ConstraintList()
    imbalance: list[Any] = []
    for r, k in estimate.steps:
        squares = [(w, p) for p, w in enumerate(weights) if (r, k, p) in estimate.shares and w]
        weighted = pyo.quicksum(float(w) * m.square[r, k, p] for w, p in squares)
        imbalance += [float(weight * w / 2) * m.square[r, k, p] for w, p in squares]
        load = pyo.quicksum(float(part) * m.y[g, names[r]] for g, part in shares.load[k].items())
        before = 0.5
        for i, at in enumerate(estimate.steps[r, k]):
            last, now = step_of(data, r, k, at)
            if now - before <= _TINY:  # a cost below a solver's tolerances only misleads it
                now = before
            m.overload.add(load - max(_LEAST, 1 - last) * m.over[r, k, i] <= last)
            if i:
                m.overload.add(m.over[r, k, i] <= m.over[r, k, i - 1])
            # At a load of at most `last` the squares are at most so large.
            free = above(largest(r, k, Fraction(last)))
            m.step.add(m.extra[r, k, i] - weighted - free * m.over[r, k, i] >= -free)
            m.step.add(m.extra[r, k, i] >= _smallest(shares, r, k, last) * m.over[r, k, i])
            if now > before:
                imbalance.append(float(weight * Fraction(now - before)) * m.extra[r, k, i])
            before = now
    return pyo.quicksum(imbalance)


def _uneven(
    m: Any, instance: Instance, estimate: Estimate, shares: Shares, names: list[str], ids: list[str]
) -> Any:
    """State (3): tangents of the squares."""

    def most(m: Any, r: int) -> tuple[float, float]:
        share = shares.capacity[r]
        return 0, above(THOUSAND * max(share, 1 - share) ** 2)

    m.uneven = pyo.Var(sorted(estimate.bytes), bounds=most)
    m.bytes_tangent = pyo.ConstraintList()
    m.bytes_off = {}
    for r, points in estimate.bytes.items():
        share = shares.capacity[r]
        row = [(part, m.x[ids[t], names[r]]) for t, part in enumerate(shares.bytes)]
        m.bytes_off[r] = pyo.quicksum(float(part) * x for part, x in row) - float(share)
        for point in map(Fraction, points):
            slope = 2 * THOUSAND * point
            tangent = pyo.quicksum(float(slope * part) * x for part, x in row)
            m.bytes_tangent.add(
                m.uneven[r] - tangent >= float(-slope * share - THOUSAND * point**2)
            )
    weight = float(Fraction(instance.weights.storage) / THOUSAND)
    return pyo.quicksum(weight * m.uneven[r] for r in estimate.bytes)


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


def _limits(m: Any, instance: Instance, groups: Any, names: list[str], ids: list[str]) -> None:
    """State (4), (5), (6) and the move quota."""
    sizes = [table.size for table in instance.tables]

    def storage(m: Any, name: str) -> Any:
        capacity = instance.regions[names.index(name)].storage_capacity
        row, limit = at_most(sizes, capacity)
        return _row(sum(c * m.x[t, name] for c, t in zip(row, ids, strict=True)), "<=", limit)

    m.storage = pyo.Constraint(m.REGIONS, rule=storage)
    m.cpu = pyo.ConstraintList()
    for region in instance.regions:
        for app, quota in region.cpu_quota.items():
            hours = [
                sum(instance.jobs[j].cpu_hours for j in jobs if instance.jobs[j].app == app)
                for _, _, jobs in groups
            ]
            row, limit = at_most(hours, quota)
            used = sum(c * m.y[g, region.id] for g, c in enumerate(row) if c)
            m.cpu.add(_row(used, "<=", limit))
    if instance.at_home_threshold:
        keys, urgent = [], []
        for g, (_, _, jobs) in enumerate(groups):
            for region in instance.regions:
                have = sum(
                    hours
                    for j in jobs
                    if instance.jobs[j].time_sensitive
                    for kind, hours in instance.jobs[j].gpu_hours.items()
                    if region.gpu_supply.get(kind)
                )
                if have:
                    keys.append((g, region.id))
                    urgent.append(have)
        row, limit = at_least(urgent, instance.at_home_threshold)
        home = sum(c * m.y[key] for c, key in zip(row, keys, strict=True))
        m.at_home = pyo.Constraint(expr=_row(home, ">=", limit))
    if instance.move_quota is not None:
        settled = [table for table in instance.tables if table.home is not None]
        row, limit = at_most([table.size for table in settled], instance.move_quota)
        away = sum(
            c * m.x[table.id, name]
            for c, table in zip(row, settled, strict=True)
            for name in names if name != table.home
        )  # fmt: skip
        m.quota = pyo.Constraint(expr=_row(away, "<=", limit))


def _row(expression: Any, sense: str, limit: float) -> Any:
    """Return a row, also where nothing is in it."""
    relation = expression <= float(limit) if sense == "<=" else expression >= float(limit)
    if isinstance(relation, (bool, np.bool_)):
        return pyo.Constraint.Feasible if relation else pyo.Constraint.Infeasible
    return relation


def _smallest(shares: Shares, r: int, k: int, load: float) -> float:
    """Return the least that the weighted squares can be from a load on (Cauchy-Schwarz)."""
    _, weights = shares.priority_weight
    parts = {p: part for (kind, p), part in shares.part.items() if kind == k}
    ahead = Fraction(load) - shares.supply[r][k]
    if ahead <= 0 or not all(weights[p] for p in parts):
        return 0.0
    least = THOUSAND * ahead**2 / sum(part**2 / weights[p] for p, part in parts.items())
    return float(least * Fraction(_BELOW))


def read(instance: Instance, m: Any) -> Solution:
    """Return the solution that the model's variables hold."""
    home = {t: r for t, r in m.x if round(m.x[t, r].value or 0) == 1}
    return Solution(home=home)


def assign(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to the value that the solution gives it."""
    data, shares = arrays(instance), Shares(instance)
    index = instance.region_index
    state = state_of(data, [index[solution.home[table.id]] for table in instance.tables])
    for t, r in m.x:
        m.x[t, r].set_value(int(solution.home[t] == r), skip_validation=True)
    for g, r in m.y:
        at = state.region[shares.groups[g][2][0]]
        m.y[g, r].set_value(int(at == index[r]), skip_validation=True)
    for g, t, r in m.near:
        m.near[g, t, r].set_value(m.y[g, r].value * m.x[t, r].value, skip_validation=True)
    _, weights = shares.priority_weight
    weighted: dict[tuple[int, int], float] = {}
    for r, k, p in m.SHARES:
        off = pyo.value(m.off[r, k, p])
        m.square[r, k, p].set_value(float(THOUSAND * off * off), skip_validation=True)
        mine = float(THOUSAND * float(weights[p]) * off * off)
        weighted[r, k] = weighted.get((r, k), 0.0) + mine
    for (r, k, i), at in m.STEP_AT.items():
        load = sum(
            part for g, part in shares.load[k].items()
            if m.y[g, instance.regions[r].id].value
        )  # fmt: skip
        over = int(load > step_of(data, r, k, at)[0])
        m.over[r, k, i].set_value(over, skip_validation=True)
        m.extra[r, k, i].set_value(weighted.get((r, k), 0.0) * over, skip_validation=True)
    for r in m.uneven:
        off = pyo.value(m.bytes_off[r])
        m.uneven[r].set_value(float(THOUSAND * off * off), skip_validation=True)

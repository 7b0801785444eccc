"""The declarative model of placement; components are named as on the card models/placement.md.

Its objective is an estimate from below: squares are replaced by tangents, the sigmoid by steps. It
is exact at the points of the `Estimate`; `refinement` adds those of every placement that it finds.
Every coefficient is computed exactly and rounded once, outward: as no variable is negative, every
placement satisfies the rows as they stand, and costs are no more than the estimate. So exact
arithmetic confirms a bound from duals; every variable has a finite upper bound, so that duals
always give a finite bound. The rows of (1) to (3), the cost, are in `programs.cost_rows`.
"""

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from dlsched.problems.placement.definition.schema import Instance, Solution
from dlsched.problems.placement.programs.coefficients import Shares, at_least, at_most
from dlsched.problems.placement.programs.cost_rows import (
    THOUSAND,
    Whole,
    gpu_cost,
    storage_cost,
    traffic_cost,
)
from dlsched.problems.placement.programs.piecewise_estimate import Estimate, step_of
from dlsched.problems.placement.structures.arrays import Data, arrays
from dlsched.proofs.forms.limit import poll
from dlsched.solvers.standard_form import StandardForm

ESTIMATED = ("cost",)
"""The levels of which the model's value is only a lower bound."""
NAMEABLE = {
    "x": "x[t,r]: table t is in region r",
    "y": "y[g,r]: the jobs of group g, in the order of GROUPS, run in region r",
    "near": "near[g,t,r]: they run in region r, and table t, which they read, is there",
}
"""The variables that a variant may name."""
_PAIR = 2
_ROW_LISTS = (
    *("together", "apart", "somewhere", "majority", "votes", "earlier", "near_home", "near_job"),
    *("share_tangent", "whole_jobs", "overload", "step", "bytes_tangent", "whole_tables"),
)
"""Families of rows without an index, in the order of the matrix."""


def build(
    instance: Instance,
    estimate: Estimate | None = None,
    excluded: Iterable[Solution] = (),
    data: Data | None = None,
    whole: Whole | None = None,
    light: Fraction = Fraction(0),
) -> Any:
    """Return the Pyomo model with an estimate of the cost; a coarse one by default.

    Parameters
    ----------
    excluded
        Placements that are cut off: every solution differs from each in some table.
    data
        The instance as arrays; computed by default.
    whole
        What indivisible tables and jobs leave, which searches find; by default nothing is stated
        of it.
    light
        Part of all bytes read that may be left out. With it the model is only good for bounds: the
        lightest reads count as near, and there are no rows about majorities, which in fractions
        hardly differ from the least numbers of votes.
    """
    import pyomo.core as pyo

    shares = Shares(instance)
    estimate = estimate or Estimate.coarse(data or arrays(instance), shares)
    whole = whole or Whole(0.0, {})
    m = _variables(shares, shares.reads_beyond(light))
    m.one_home = pyo.Constraint(m.TABLES, rule=lambda m, t: _regions(m.x, t) == 1)
    for name in _ROW_LISTS:
        m.add_component(name, pyo.ConstraintList())
    for g, group in enumerate(shares.groups):
        poll()
        tables = [shares.tables[t] for t in group.tables]
        if group.together:
            _run_together(m, g, tables)
        else:
            _run_by_majority(m, g, tables, rivals=not light)
    gpu = gpu_cost(m, shares, estimate, whole.jobs)
    storage = storage_cost(m, shares, estimate, whole.tables)
    m.cost = pyo.Objective(expr=traffic_cost(m, shares) + gpu + storage, sense=pyo.minimize)
    m.GRANULARITY = {"cost": 0}
    m.INTEGRAL = ("near",)  # where x and y are
    _limit_storage(m, shares)
    _limit_cpu(m, shares)
    _require_hours_at_home(m, shares)
    _limit_moves(m, shares)
    m.other = pyo.ConstraintList()
    for solution in excluded:
        kept = sum(m.x[t, solution.home[t]] for t in m.TABLES)
        m.other.add(kept <= len(m.TABLES) - 1)
    return m


def _variables(shares: Shares, reads: list[tuple[int, int]]) -> Any:
    """Return a model with the sets, and the variables of homes, jobs and some reads."""
    import pyomo.core as pyo

    groups = shares.groups
    voting = [g for g, group in enumerate(groups) if not group.together]
    m = pyo.ConcreteModel(shares.instance.name)
    m.REGIONS = pyo.Set(initialize=shares.regions)
    m.TABLES = pyo.Set(initialize=shares.tables)
    m.GROUPS = pyo.Set(initialize=list(range(len(groups))))
    m.VOTING = pyo.Set(initialize=voting)
    m.READS = pyo.Set(initialize=[(g, shares.tables[t]) for g, t in reads], dimen=2)
    m.x = pyo.Var(m.TABLES, m.REGIONS, domain=pyo.Binary)
    m.y = pyo.Var(m.GROUPS, m.REGIONS, domain=pyo.Binary)
    m.near = pyo.Var(m.READS, m.REGIONS, bounds=(0, 1))
    return m


def _regions(variable: Any, *index: Any) -> Any:
    """Return the sum of a variable over all regions."""
    return sum(variable[(*index, r)] for r in variable.model().REGIONS)


def _run_together(m: Any, g: int, tables: list[str]) -> None:
    """State that a group runs in a region if all its tables are there."""
    for r in m.REGIONS:
        for t in tables:
            m.together.add(m.y[g, r] <= m.x[t, r])
        here = sum(m.x[t, r] for t in tables)
        m.apart.add(m.y[g, r] >= here - (len(tables) - 1))


def _run_by_majority(m: Any, g: int, tables: list[str], rivals: bool) -> None:
    """State that a group runs where most of its tables are; ties go to the earlier region.

    Parameters
    ----------
    rivals
        Whether each region is compared with each other one.
    """
    regions = list(m.REGIONS)
    read = [t for t in tables if (g, t) in m.READS]
    m.somewhere.add(sum(m.y[g, r] for r in regions) == 1)
    for i, r in enumerate(regions):
        runs = m.y[g, r]
        for t in read:
            m.near_home.add(m.near[g, t, r] <= m.x[t, r])
            m.near_job.add(m.near[g, t, r] <= runs)
        least = _least_votes(len(tables), len(regions), i)
        m.votes.add(sum(m.x[t, r] for t in tables) >= least * runs)
        if read == tables:
            m.votes.add(sum(m.near[g, t, r] for t in tables) >= least * runs)
        for j, other in enumerate(regions):
            if rivals and j != i:
                tie = int(j < i)
                ahead = sum(m.x[t, other] - m.x[t, r] for t in tables) + tie
                m.majority.add(ahead <= (len(tables) + tie) * (1 - runs))
    if len(tables) == _PAIR:
        _run_in_the_earlier(m, g, tables)


def _run_in_the_earlier(m: Any, g: int, tables: list[str]) -> None:
    """State that a group of two tables runs in the earlier one of their regions.

    By majority alone the relaxation takes the one where more bytes are.
    """
    regions = list(m.REGIONS)
    for i in range(1, len(regions)):
        runs = sum(m.y[g, r] for r in regions[i:])
        for t in tables:
            m.earlier.add(runs <= sum(m.x[t, r] for r in regions[i:]))
        m.earlier.add(runs >= sum(m.x[t, r] for t in tables for r in regions[i:]) - 1)


def _least_votes(tables: int, regions: int, position: int) -> int:
    """Return the fewest of a group's tables with which the region at a position can win."""
    later = regions - 1 - position
    votes = 1
    while votes + position * (votes - 1) + later * votes < tables:
        votes += 1
    return votes


def _limit_storage(m: Any, shares: Shares) -> None:
    """State (4): the bytes of the tables in a region are within its capacity."""
    import pyomo.core as pyo

    sizes = [table.size for table in shares.instance.tables]
    m.storage = pyo.Constraint(m.REGIONS)
    for region in shares.instance.regions:
        poll()
        row, limit = at_most(sizes, region.storage_capacity)
        homes = [m.x[t, region.id] for t in m.TABLES]
        m.storage[region.id] = _row(_weighted(row, homes), "<=", limit)


def _limit_cpu(m: Any, shares: Shares) -> None:
    """State (5): the CPU hours of an application in a region are within its quota."""
    import pyomo.core as pyo

    m.cpu = pyo.ConstraintList()
    for region in shares.instance.regions:
        poll()
        runs = [m.y[g, region.id] for g in m.GROUPS]
        for app, quota in region.cpu_quota.items():
            row, limit = at_most(shares.cpu_hours(app), quota)
            m.cpu.add(_row(_weighted(row, runs), "<=", limit))


def _require_hours_at_home(m: Any, shares: Shares) -> None:
    """State (6): time-sensitive jobs have enough GPU hours in regions with their type."""
    import pyomo.core as pyo

    needed = shares.instance.at_home_threshold
    if not needed:
        return
    hours = {(g, r): shares.hours_at_home(g, i) for g in m.GROUPS for i, r in enumerate(m.REGIONS)}
    counted = {key: amount for key, amount in hours.items() if amount}
    row, limit = at_least(counted.values(), needed)
    runs = [m.y[key] for key in counted]
    m.at_home = pyo.Constraint(expr=_row(_weighted(row, runs), ">=", limit))


def _limit_moves(m: Any, shares: Shares) -> None:
    """State that the bytes of the tables whose home changes are within the quota."""
    import pyomo.core as pyo

    quota = shares.instance.move_quota
    if quota is None:
        return
    settled = [table for table in shares.instance.tables if table.home is not None]
    row, limit = at_most([table.size for table in settled], quota)
    away = sum(
        part * m.x[table.id, region]
        for part, table in zip(row, settled, strict=True)
        for region in m.REGIONS
        if region != table.home
    )
    m.quota = pyo.Constraint(expr=_row(away, "<=", limit))


def _weighted(row: Iterable[float], variables: Iterable[Any]) -> Any:
    """Return the sum of variables with coefficients, those of 0 left out."""
    return sum(part * variable for part, variable in zip(row, variables, strict=True) if part)


def _row(expression: Any, sense: str, limit: float) -> Any:
    """Return a row, also if it has no variables."""
    import pyomo.core as pyo

    relation = expression <= float(limit) if sense == "<=" else expression >= float(limit)
    if isinstance(relation, (bool, np.bool_)):
        return pyo.Constraint.Feasible if relation else pyo.Constraint.Infeasible
    return relation


def complete(m: Any, instance: Instance) -> None:
    """State that a table in the region of jobs that read it is near them."""
    import pyomo.core as pyo

    m.near_both = pyo.Constraint(
        m.READS,
        m.REGIONS,
        rule=lambda m, g, t, r: m.near[g, t, r] >= m.x[t, r] + m.y[g, r] - 1,
    )


def read(instance: Instance, m: Any) -> Solution:
    """Return the solution that the model's variables hold."""
    return Solution(home={t: r for t, r in m.x if round(m.x[t, r].value or 0) == 1})


def differences(m: Any) -> tuple[dict[tuple[int, int, int], float], dict[int, float]]:
    """Return the values of what is squared: in (2) by region, type and priority, and in (3)."""
    import pyomo.core as pyo

    shares = {key: float(pyo.value(difference)) for key, difference in m.difference.items()}
    stored = {r: float(pyo.value(difference)) for r, difference in m.bytes_difference.items()}
    return shares, stored


def columns_by_name(form: StandardForm) -> dict[str, dict[Any, int]]:
    """Return the columns of a compiled model by component and index; its variables must live."""
    columns: dict[str, dict[Any, int]] = defaultdict(dict)
    for j, variable in enumerate(form.variables):
        columns[variable.parent_component().local_name][variable.index()] = j
    return columns


def assign(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to its value in the solution."""
    shares = Shares(instance)
    homes = {t: instance.region_index[r] for t, r in solution.home.items()}
    first_jobs = [instance.jobs[group.jobs[0]] for group in shares.groups]
    region_of_group = [instance.region_of(job, homes) for job in first_jobs]
    for (t, r), home in m.x.items():
        _set(home, int(solution.home[t] == r))
    for (g, r), runs in m.y.items():
        _set(runs, int(region_of_group[g] == instance.region_index[r]))
    for (g, t, r), near in m.near.items():
        _set(near, m.y[g, r].value * m.x[t, r].value)
    weights = shares.priority_weight[1]
    weighted: dict[tuple[int, int], float] = defaultdict(float)
    in_shares, in_bytes = differences(m)
    for (r, k, p), difference in in_shares.items():
        square = THOUSAND * difference**2
        _set(m.square[r, k, p], square)
        weighted[r, k] += float(weights[p]) * square
    for (r, k, i), step in m.STEP_AT.items():
        groups = shares.load[k].items()
        load = sum(part for g, part in groups if m.y[g, shares.regions[r]].value)
        over = int(load > step_of(shares, r, k, step)[0])
        _set(m.over[r, k, i], over)
        _set(m.extra[r, k, i], weighted[r, k] * over)
    for r, difference in in_bytes.items():
        _set(m.uneven[r], THOUSAND * difference**2)


def _set(variable: Any, value: float) -> None:
    variable.set_value(value, skip_validation=True)

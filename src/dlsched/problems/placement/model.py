"""The declarative model of placement; components are named as on the card models/placement.md.

Its objective is an estimate from below: squares are replaced by tangents, the sigmoid by steps. It
is exact at the points of the `Estimate`, so `milp` adds those of every placement that it finds.
Every coefficient is computed exactly and rounded once, outward: as no variable is negative, every
placement satisfies the rows as they stand, and costs are no more than the estimate. So exact
arithmetic confirms a bound from duals; every variable has a finite upper bound, so that duals
always give a finite bound.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dlsched.problems.placement.definition.schema import Instance, Solution
from dlsched.problems.placement.programs.coefficients import Shares, at_least, at_most
from dlsched.problems.placement.programs.piecewise_estimate import Estimate, step_of
from dlsched.problems.placement.programs.rounding import above, below
from dlsched.problems.placement.structures.arrays import Data, arrays, homes_of
from dlsched.problems.placement.structures.state import state_of
from dlsched.proofs.forms.limit import poll

_NEGLIGIBLE = 1e-9
"""Sums of squares and increases of the sigmoid that are left out of the estimate."""
_LEAST_BIG_M = Fraction(1, 1000)
"""HiGHS drops coefficients below 1e-9; a larger big-M than needed is valid."""
ESTIMATED = ("cost",)
"""The levels of which the model's value is only a lower bound."""
THOUSAND = 1000
"""The unit of squares of shares is a thousandth: solvers' rows are off by as much as 1e-6."""

NAMEABLE = {
    "x": "x[t,r]: table t is in region r",
    "y": "y[g,r]: the jobs of group g, in the order of GROUPS, run in region r",
    "near": "near[g,t,r]: they run in region r, and table t, which they read, is there",
}
"""The variables that a variant may name."""


class WholeJobs(NamedTuple):
    """A row: squares, in units of 1, plus penalties of groups without a region."""

    least: float
    """A lower bound on the sum."""
    penalty: dict[int, Fraction]
    """By group that may have no region."""


class Whole(NamedTuple):
    """What is stated of indivisible tables and jobs; see `parts.whole`."""

    tables: float
    """A lower bound on the sum over regions of squared differences of shares of bytes."""
    jobs: dict[tuple[int, int], WholeJobs]
    """By type and priority."""


_ROW_LISTS = (
    *("together", "apart", "somewhere", "majority", "votes", "near_home", "near_job"),
    *("share_tangent", "whole_jobs", "overload", "step", "bytes_tangent", "whole_tables"),
)
"""Families of rows without an index, in the order of the matrix."""


def build(
    instance: Instance,
    estimate: Estimate | None = None,
    excluded: Iterable[Solution] = (),
    data: Data | None = None,
    whole: Whole | None = None,
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
    """
    import pyomo.environ as pyo

    shares = Shares(instance)
    estimate = estimate or Estimate.coarse(data or arrays(instance), shares)
    whole = whole or Whole(0.0, {})
    regions = shares.regions
    tables = shares.tables
    voting = {g: group.tables for g, group in enumerate(shares.groups) if not group.together}
    reads = [(g, tables[t]) for g, positions in voting.items() for t in positions]

    m = pyo.ConcreteModel(instance.name)
    m.REGIONS = pyo.Set(initialize=regions)
    m.TABLES = pyo.Set(initialize=tables)
    m.GROUPS = pyo.Set(initialize=list(range(len(shares.groups))))
    m.VOTING = pyo.Set(initialize=list(voting))
    m.READS = pyo.Set(initialize=reads, dimen=2)

    m.x = pyo.Var(m.TABLES, m.REGIONS, domain=pyo.Binary)
    m.y = pyo.Var(m.GROUPS, m.REGIONS, domain=pyo.Binary)
    m.near = pyo.Var(m.READS, m.REGIONS, bounds=(0, 1))

    m.one_home = pyo.Constraint(m.TABLES, rule=lambda m, t: sum(m.x[t, r] for r in regions) == 1)
    for name in _ROW_LISTS:
        m.add_component(name, pyo.ConstraintList())
    for g, group in enumerate(shares.groups):
        poll()
        names = [tables[t] for t in group.tables]
        if group.together:
            _run_together(m, g, names)
        else:
            _run_by_majority(m, g, names)
    gpu = _gpu(m, shares, estimate, whole.jobs)
    storage = _storage(m, shares, estimate, whole.tables)
    m.cost = pyo.Objective(expr=_traffic(m, shares) + gpu + storage, sense=pyo.minimize)
    m.GRANULARITY = {"cost": 0}
    _limits(m, shares)
    m.other = pyo.ConstraintList()
    for solution in excluded:
        m.other.add(sum(m.x[t, solution.home[t]] for t in tables) <= len(tables) - 1)
    return m


def _run_together(m: Any, g: int, tables: list[str]) -> None:
    """State that a group runs in a region if all its tables are there."""
    for r in m.REGIONS:
        for t in tables:
            m.together.add(m.y[g, r] <= m.x[t, r])
        here = sum(m.x[t, r] for t in tables)
        m.apart.add(m.y[g, r] >= here - (len(tables) - 1))


def _run_by_majority(m: Any, g: int, tables: list[str]) -> None:
    """State that a group runs where most of its tables are; ties go to the earlier region."""
    regions = list(m.REGIONS)
    m.somewhere.add(sum(m.y[g, r] for r in regions) == 1)
    for i, r in enumerate(regions):
        runs = m.y[g, r]
        for t in tables:
            m.near_home.add(m.near[g, t, r] <= m.x[t, r])
            m.near_job.add(m.near[g, t, r] <= runs)
        least = _least_votes(len(tables), len(regions), i)
        m.votes.add(sum(m.x[t, r] for t in tables) >= least * runs)
        m.votes.add(sum(m.near[g, t, r] for t in tables) >= least * runs)
        for j, other in enumerate(regions):
            if j != i:
                tie = int(j < i)
                ahead = sum(m.x[t, other] - m.x[t, r] for t in tables) + tie
                m.majority.add(ahead <= (len(tables) + tie) * (1 - runs))


def _least_votes(tables: int, regions: int, position: int) -> int:
    """Return the fewest of a group's tables with which the region at a position can win."""
    later = regions - 1 - position
    votes = 1
    while votes + position * (votes - 1) + later * votes < tables:
        votes += 1
    return votes


def _traffic(m: Any, shares: Shares) -> Any:
    """Return (1): all bytes read, less those read from the region of the job."""
    import pyomo.environ as pyo

    weight = Fraction(shares.instance.weights.traffic)
    terms: list[Any] = [below(weight)] if shares.instance.jobs else []
    for g, row in enumerate(shares.read):
        if shares.groups[g].together:
            part = above(weight * sum(row.values()))
            terms += [-part * m.y[g, r] for r in shares.regions]
        else:
            for t, share in row.items():
                part = above(weight * share)
                terms += [-part * m.near[g, shares.tables[t], r] for r in shares.regions]
    return pyo.quicksum(terms)


def _gpu(
    m: Any,
    shares: Shares,
    estimate: Estimate,
    whole: dict[tuple[int, int], WholeJobs],
) -> Any:
    """Return (2) with tangents for the squares, and state the rows of the sigmoid's steps."""
    import pyomo.environ as pyo

    def largest(m: Any, r: int, k: int, p: int) -> tuple[float, float]:
        return 0, above(_largest_square(shares, r, k, 1))

    m.SHARES = pyo.Set(initialize=sorted(estimate.shares), dimen=3)
    m.square = pyo.Var(m.SHARES, bounds=largest)
    m.difference = {}
    for (r, k, p), points in estimate.shares.items():
        poll()
        row = [(part, m.y[g, shares.regions[r]]) for g, part in shares.demand[k, p].items()]
        supply = shares.supply[r][k]
        gaps = estimate.gaps.get((r, k, p))
        ends = [gaps.ends(point, supply) for point in points] if gaps else _tangents(points)
        m.difference[r, k, p] = _chords(m.share_tangent, m.square[r, k, p], row, supply, ends)
    for (k, p), jobs in whole.items():
        if jobs.least > _NEGLIGIBLE:
            _whole_jobs(m, k, p, jobs)
    return _overload(m, shares, estimate)


def _whole_jobs(m: Any, k: int, p: int, whole: WholeJobs) -> None:
    """State that some imbalance is left by any homes, or some jobs have no region.

    Jobs are indivisible; tangents alone give less.
    """
    total = sum(m.square[r, k, p] for r in range(len(m.REGIONS)))
    least = THOUSAND * Fraction(whole.least)
    for g, penalty in whole.penalty.items():
        paid = above(THOUSAND * penalty)
        total -= paid * sum(m.y[g, r] for r in m.REGIONS)
        least -= Fraction(paid)
    m.whole_jobs.add(total >= below(least))


def _overload(m: Any, shares: Shares, estimate: Estimate) -> Any:
    """Return the weighted squares times the sigmoid: 1/2, and what a step adds from its load on."""
    import pyomo.environ as pyo

    def largest(m: Any, r: int, k: int, i: int) -> tuple[float, float]:
        return 0, above(_largest_squares(shares, estimate, r, k, 1))

    m.STEP_AT = {}
    for (r, k), steps in estimate.steps.items():
        m.STEP_AT |= {(r, k, i): load for i, load in enumerate(steps)}
    m.STEPS = pyo.Set(initialize=list(m.STEP_AT), dimen=3)
    m.over = pyo.Var(m.STEPS, domain=pyo.Binary)
    m.extra = pyo.Var(m.STEPS, bounds=largest)
    largest_weight, weights = shares.priority_weight
    weight = largest_weight * Fraction(shares.instance.weights.gpu) / THOUSAND
    cost: list[Any] = []
    for r, k in estimate.steps:
        poll()
        squares = [(w, p) for p, w in enumerate(weights) if (r, k, p) in estimate.shares and w]
        weighted = pyo.quicksum(below(w) * m.square[r, k, p] for w, p in squares)
        cost += [below(weight * w / 2) * m.square[r, k, p] for w, p in squares]
        groups = shares.load[k].items()
        load = pyo.quicksum(below(part) * m.y[g, shares.regions[r]] for g, part in groups)
        before = Fraction(1, 2)
        for i, step in enumerate(estimate.steps[r, k]):
            last, value = step_of(shares, r, k, step)
            if value - before <= _NEGLIGIBLE:  # below a solver's tolerances
                value = before
            over = m.over[r, k, i]
            extra = m.extra[r, k, i]
            m.overload.add(load - above(max(_LEAST_BIG_M, 1 - last)) * over <= above(last))
            if i:
                m.overload.add(over <= m.over[r, k, i - 1])
            big = above(_largest_squares(shares, estimate, r, k, last))
            m.step.add(extra - weighted - big * over >= -big)
            m.step.add(extra >= _least_squares(shares, r, k, last) * over)
            if value > before:
                cost.append(below(weight * (value - before)) * extra)
            before = value
    return pyo.quicksum(cost)


def _largest_square(shares: Shares, r: int, k: int, share: Fraction | int) -> Fraction:
    """Return the largest square of one priority with at most a share of its demand in a region."""
    supply = shares.supply[r][k]
    return THOUSAND * max(supply, min(Fraction(1), share) - supply) ** 2


def _largest_squares(
    shares: Shares, estimate: Estimate, r: int, k: int, load: Fraction | int
) -> Fraction:
    """Return the largest sum of weighted squares at a load of at most this."""
    total = Fraction(0)
    for p, weight in enumerate(shares.priority_weight[1]):
        if (r, k, p) in estimate.shares:
            total += weight * _largest_square(shares, r, k, load / shares.part[k, p])
    return total


def _least_squares(shares: Shares, r: int, k: int, load: Fraction) -> float:
    """Return the least sum of weighted squares at a load or above (Cauchy-Schwarz)."""
    weights = shares.priority_weight[1]
    excess = load - shares.supply[r][k]
    total = Fraction(0)
    for (kind, p), part in shares.part.items():
        if kind == k:
            if not weights[p]:
                return 0.0
            total += part**2 / weights[p]
    return below(THOUSAND * excess**2 / total) if excess > 0 else 0.0


def _storage(m: Any, shares: Shares, estimate: Estimate, least: float) -> Any:
    """Return (3) with tangents for the squares."""
    import pyomo.environ as pyo

    def bounds(m: Any, r: int) -> tuple[float, float]:
        share = shares.capacity[r]
        return 0, above(THOUSAND * max(share, 1 - share) ** 2)

    m.uneven = pyo.Var(sorted(estimate.bytes), bounds=bounds)
    m.bytes_difference = {}
    for r, points in estimate.bytes.items():
        poll()
        homes = [m.x[t, shares.regions[r]] for t in shares.tables]
        row = list(zip(shares.bytes, homes, strict=True))
        m.bytes_difference[r] = _chords(
            m.bytes_tangent, m.uneven[r], row, shares.capacity[r], _tangents(points)
        )
    if estimate.bytes and least > _NEGLIGIBLE:
        total = sum(m.uneven[r] for r in estimate.bytes)
        m.whole_tables.add(total >= below(THOUSAND * Fraction(least)))
    weight = below(Fraction(shares.instance.weights.storage) / THOUSAND)
    return pyo.quicksum(weight * m.uneven[r] for r in estimate.bytes)


def _tangents(points: Iterable[float]) -> list[tuple[Fraction, Fraction]]:
    """Return tangents as chords whose ends are equal."""
    exact = map(Fraction, points)
    return [(point, point) for point in exact]


def _chords(
    rows: Any,
    square: Any,
    terms: list[tuple[Fraction, Any]],
    share: Fraction,
    ends: list[tuple[Fraction, Fraction]],
) -> Any:
    """State that `square` is above its chords between these ends; return what is squared.

    That is the sum of coefficient times variable over the terms, minus `share`. A chord whose ends
    are equal is a tangent. As variables are binary, the square of each term by itself is linear,
    and products of two terms are not negative: one more row.
    """
    import pyomo.environ as pyo

    alone = pyo.quicksum(below(THOUSAND * a * (a - 2 * share)) * variable for a, variable in terms)
    rows.add(square - alone >= below(THOUSAND * share**2))
    for low, high in ends:
        slope = THOUSAND * (low + high)
        line = pyo.quicksum(below(slope * part) * variable for part, variable in terms)
        rows.add(square - line >= below(-slope * share - THOUSAND * low * high))
    return pyo.quicksum(float(part) * variable for part, variable in terms) - float(share)


def _limits(m: Any, shares: Shares) -> None:
    """State (4), (5), (6) and the move quota."""
    import pyomo.environ as pyo

    instance = shares.instance
    sizes = [table.size for table in instance.tables]
    m.storage = pyo.Constraint(m.REGIONS)
    for region in instance.regions:
        poll()
        row, limit = at_most(sizes, region.storage_capacity)
        homes = [m.x[t, region.id] for t in shares.tables]
        m.storage[region.id] = _row(_weighted(row, homes), "<=", limit)
    m.cpu = pyo.ConstraintList()
    for region in instance.regions:
        poll()
        for app, quota in region.cpu_quota.items():
            row, limit = at_most(shares.cpu_hours(app), quota)
            runs = [m.y[g, region.id] for g in m.GROUPS]
            m.cpu.add(_row(_weighted(row, runs), "<=", limit))
    if instance.at_home_threshold:
        runs = []
        hours = []
        for g in m.GROUPS:
            for r, name in enumerate(shares.regions):
                hours_here = shares.hours_at_home(g, r)
                if hours_here:
                    runs.append(m.y[g, name])
                    hours.append(hours_here)
        row, limit = at_least(hours, instance.at_home_threshold)
        m.at_home = pyo.Constraint(expr=_row(_weighted(row, runs), ">=", limit))
    if instance.move_quota is not None:
        settled = [table for table in instance.tables if table.home is not None]
        row, limit = at_most([table.size for table in settled], instance.move_quota)
        away = sum(
            part * m.x[table.id, name]
            for part, table in zip(row, settled, strict=True)
            for name in shares.regions
            if name != table.home
        )
        m.quota = pyo.Constraint(expr=_row(away, "<=", limit))


def _weighted(row: Iterable[float], variables: Iterable[Any]) -> Any:
    """Return the sum of variables with coefficients, those of 0 left out."""
    return sum(part * variable for part, variable in zip(row, variables, strict=True) if part)


def _row(expression: Any, sense: str, limit: float) -> Any:
    """Return a row, also if it has no variables."""
    import pyomo.environ as pyo

    relation = expression <= float(limit) if sense == "<=" else expression >= float(limit)
    if isinstance(relation, (bool, np.bool_)):
        return pyo.Constraint.Feasible if relation else pyo.Constraint.Infeasible
    return relation


def complete(m: Any, instance: Instance) -> None:
    """State that a table in the region of jobs that read it is near them."""
    import pyomo.environ as pyo

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
    import pyomo.environ as pyo

    shares = {key: float(pyo.value(difference)) for key, difference in m.difference.items()}
    stored = {r: float(pyo.value(difference)) for r, difference in m.bytes_difference.items()}
    return shares, stored


def assign(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to its value in the solution."""
    shares = Shares(instance)
    state = state_of(arrays(instance), homes_of(instance, solution))
    for (t, r), home in m.x.items():
        _set(home, int(solution.home[t] == r))
    for (g, r), runs in m.y.items():
        region = state.job_region[shares.groups[g].jobs[0]]
        _set(runs, int(region == instance.region_index[r]))
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

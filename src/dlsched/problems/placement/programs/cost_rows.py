"""The rows of the model's cost: squares by tangents and chords, the sigmoid by steps."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.piecewise_estimate import Estimate, step_of
from dlsched.problems.placement.programs.rounding import above, below
from dlsched.problems.placement.programs.tunables import PRECISION
from dlsched.proofs.forms.limit import poll

_LEAST_BIG_M = Fraction(1, 1000)
"""HiGHS drops coefficients below 1e-9; a larger big-M than needed is valid."""
THOUSAND = 1000
"""The unit of squares of shares is a thousandth: solvers' rows are off by as much as 1e-6."""


class WholeJobs(NamedTuple):
    """A row: squares, in units of 1, plus penalties of groups without a region."""

    least: float
    """A lower bound on the sum."""
    penalty: dict[int, Fraction]
    """By group that may have no region."""


class Whole(NamedTuple):
    """What is stated of indivisible tables and jobs; see `indivisible_bounds.whole`."""

    tables: float
    """A lower bound on the sum over regions of squared differences of shares of bytes."""
    jobs: dict[tuple[int, int], WholeJobs]
    """By type and priority."""


def traffic_cost(m: Any, shares: Shares) -> Any:
    """Return (1): all bytes read, less those read from the region of the job.

    Light reads, which have no variables, cost nothing.
    """
    import pyomo.core as pyo

    weight = Fraction(shares.instance.weights.traffic)
    counted = list(reads(m, shares))
    terms: list[Any] = [below(weight * sum(share for share, _ in counted))]
    for share, local in counted:
        part = above(weight * share)
        terms += [-part * variable for variable in local]
    return pyo.quicksum(terms)


def reads(m: Any, shares: Shares) -> Iterator[tuple[Fraction, list[Any]]]:
    """Yield shares of all bytes, with the variables of which one is 1 if they are read locally."""
    counted = set(m.READS)
    for g, row in enumerate(shares.read):
        if shares.groups[g].together:
            yield sum(row.values(), Fraction(0)), [m.y[g, r] for r in shares.regions]
        else:
            for t, share in row.items():
                if (g, shares.tables[t]) in counted:
                    yield share, [m.near[g, shares.tables[t], r] for r in shares.regions]


def gpu_cost(
    m: Any,
    shares: Shares,
    estimate: Estimate,
    whole: dict[tuple[int, int], WholeJobs],
) -> Any:
    """Return (2) with tangents for the squares, and state the rows of the sigmoid's steps."""
    import pyomo.core as pyo

    def largest(m: Any, r: int, k: int, p: int) -> tuple[float, float]:
        return 0, _largest_square(shares.supply[r][k])

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
        if jobs.least > PRECISION.negligible:
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
    import pyomo.core as pyo

    squares = {(r, k): _Squares(m, shares, estimate, r, k) for r, k in estimate.steps}

    def largest(m: Any, r: int, k: int, i: int) -> tuple[float, float]:
        return 0, above(squares[r, k].most(1))

    m.STEP_AT = {
        (r, k, i): load for (r, k), steps in estimate.steps.items() for i, load in enumerate(steps)
    }
    m.STEPS = pyo.Set(initialize=list(m.STEP_AT), dimen=3)
    m.over = pyo.Var(m.STEPS, domain=pyo.Binary)
    m.extra = pyo.Var(m.STEPS, bounds=largest)
    unit = shares.priority_weight[0] * Fraction(shares.instance.weights.gpu) / THOUSAND
    cost: list[Any] = []
    for of_load in squares.values():
        poll()
        cost += [below(unit * w / 2) * square for w, square in of_load.weighted]
        cost += _steps(m, of_load, estimate.steps[of_load.r, of_load.k], unit)
    return pyo.quicksum(cost)


class _Squares:
    """Those of a region and a GPU type with their weights, and what they can be at a load."""

    def __init__(self, m: Any, shares: Shares, estimate: Estimate, r: int, k: int) -> None:
        self.shares, self.r, self.k = shares, r, k
        self.narrowest = estimate.narrowest
        self.supply = shares.supply[r][k]
        self.weight = shares.priority_weight[1]
        self.part = {p: part for (kind, p), part in shares.part.items() if kind == k}
        self.counted = [p for p in self.part if self.weight[p] and (r, k, p) in estimate.shares]
        self.weighted = [(self.weight[p], m.square[r, k, p]) for p in sorted(self.counted)]

    def most(self, load: Fraction | int) -> Fraction:
        """Return the largest sum of weighted squares at a load of at most this."""
        total = Fraction(0)
        for p in self.counted:
            share = min(Fraction(1), load / self.part[p])
            largest = max(self.supply, share - self.supply)
            total += self.weight[p] * largest**2
        return THOUSAND * total

    def least(self, load: Fraction) -> float:
        """Return the least sum of weighted squares at a load or above (Cauchy-Schwarz)."""
        excess = load - self.supply
        if excess <= 0 or not all(self.weight[p] for p in self.part):
            return 0.0
        total = sum((part**2 / self.weight[p] for p, part in self.part.items()), Fraction(0))
        return below(THOUSAND * excess**2 / total)


def _steps(m: Any, squares: _Squares, steps: list[float], unit: Fraction) -> list[Any]:
    """State the rows of the steps, and return the costs that they add.

    Every load is at most the last one below a step, or such that the sigmoid has the step's value.
    """
    import pyomo.core as pyo

    shares, r, k = squares.shares, squares.r, squares.k
    weighted = pyo.quicksum(below(w) * square for w, square in squares.weighted)
    parts = shares.load[k].items()
    load = pyo.quicksum(below(part) * m.y[g, shares.regions[r]] for g, part in parts)
    costs: list[Any] = []
    before = Fraction(1, 2)
    for i, step in enumerate(steps):
        last, value = step_of(shares, r, k, step, squares.narrowest)
        over, extra = m.over[r, k, i], m.extra[r, k, i]
        m.overload.add(load - above(max(_LEAST_BIG_M, 1 - last)) * over <= above(last))
        if i:
            m.overload.add(over <= m.over[r, k, i - 1])
        most = above(squares.most(last))
        m.step.add(extra - weighted - most * over >= -most)
        m.step.add(extra >= squares.least(last) * over)
        if value - before > PRECISION.negligible:  # else below a solver's tolerances
            costs.append(below(unit * (value - before)) * extra)
            before = value
    return costs


def storage_cost(m: Any, shares: Shares, estimate: Estimate, least: float) -> Any:
    """Return (3) with tangents for the squares."""
    import pyomo.core as pyo

    def bounds(m: Any, r: int) -> tuple[float, float]:
        return 0, _largest_square(shares.capacity[r])

    m.uneven = pyo.Var(sorted(estimate.bytes), bounds=bounds)
    m.bytes_difference = {}
    for r, points in estimate.bytes.items():
        poll()
        homes = [m.x[t, shares.regions[r]] for t in shares.tables]
        row = list(zip(shares.bytes, homes, strict=True))
        m.bytes_difference[r] = _chords(
            m.bytes_tangent, m.uneven[r], row, shares.capacity[r], _tangents(points)
        )
    if estimate.bytes and least > PRECISION.negligible:
        total = sum(m.uneven[r] for r in estimate.bytes)
        m.whole_tables.add(total >= below(THOUSAND * Fraction(least)))
    weight = below(Fraction(shares.instance.weights.storage) / THOUSAND)
    return pyo.quicksum(weight * m.uneven[r] for r in estimate.bytes)


def _largest_square(share: Fraction) -> float:
    """Return the largest square of a number from 0 to 1 less a share."""
    return above(THOUSAND * max(share, 1 - share) ** 2)


def _tangents(points: Iterable[float]) -> list[tuple[Fraction, Fraction]]:
    """Return tangents as chords whose ends are equal."""
    return [(point, point) for point in map(Fraction, points)]


def _chords(
    rows: Any,
    square: Any,
    terms: list[tuple[Fraction, Any]],
    share: Fraction,
    ends: list[tuple[Fraction, Fraction]],
) -> Any:
    """State that `square` is above its chords; return what is squared, d = sum of a_i x_i - share.

    d^2 >= (low + high) d - low high where no d is between low and high; with equal ends that is a
    tangent. As x_i is binary and no product is negative, d^2 >= share^2 + sum of a_i (a_i - 2
    share) x_i as well.
    """
    import pyomo.core as pyo

    alone = pyo.quicksum(below(THOUSAND * a * (a - 2 * share)) * x for a, x in terms)
    rows.add(square - alone >= below(THOUSAND * share**2))
    for low, high in ends:
        slope = THOUSAND * (low + high)
        line = pyo.quicksum(below(slope * a) * x for a, x in terms)
        rows.add(square - line >= below(-slope * share - THOUSAND * low * high))
    return pyo.quicksum(float(a) * x for a, x in terms) - float(share)

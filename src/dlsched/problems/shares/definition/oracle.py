"""The optimum of shares by the simplex method in fractions, over jobs and pairs of jobs.

It knows neither kinds of jobs nor totals: a column is the time of one job, or of two jobs on the
same GPUs, on a type.
"""

from fractions import Fraction
from itertools import combinations, product
from typing import NamedTuple

from dlsched.problems.shares.definition.check import LEVELS, alone, combine, value
from dlsched.problems.shares.definition.schema import Instance, Job
from dlsched.results.objective import ByLevel, Objective
from dlsched.schema import Id

_MOST = 60
"""Newton's method doubles the digits in each step; near the optimum it needs a few."""
_SCALE = 10**15


def brute_force(instance: Instance) -> Objective:
    """Return the optimum; of finish times the value that Newton's method converges to."""
    columns = _columns(instance)
    best, at = Fraction(0), Fraction(0)
    for _ in range(_MOST if instance.objective == "finish_time" else 1):
        times = _solve(instance, columns, at)
        found = _value(instance, columns, times)
        if found <= best * (1 + Fraction(1, _SCALE)):
            break
        best = found
        at = Fraction(round(best * _SCALE**2), _SCALE**2) if best * _SCALE > 1 else best
    return ByLevel(LEVELS, [best])


class _Column(NamedTuple):
    """The time of a job, or of two on the same GPUs, on a type; the rate of each job then."""

    type: Id
    gpus: int
    rates: dict[Id, Fraction]


def _columns(instance: Instance) -> list[_Column]:
    columns = [
        _Column(kind, instance.by_id[job.model].gpus, {job.id: Fraction(rate)})
        for job in instance.jobs
        for kind, rate in instance.usable[job.model].items()
    ]
    for (a, b), kind in product(combinations(instance.jobs, 2), instance.gpus):
        pair = {a.id: (a.model, b.model, kind), b.id: (b.model, a.model, kind)}
        rates = {name: Fraction(instance.beside.get(key, 0)) for name, key in pair.items()}
        if all(rates.values()):
            columns.append(_Column(kind, instance.by_id[a.model].gpus, rates))
    return columns


def _value(instance: Instance, columns: list[_Column], times: list[Fraction]) -> Fraction:
    speeds = {job.id: Fraction(0) for job in instance.jobs}
    for column, time in zip(columns, times, strict=True):
        for name, rate in column.rates.items():
            speeds[name] += time * rate
    return combine(instance, {j.id: value(instance, j, speeds[j.id]) for j in instance.jobs})


def _line(instance: Instance, job: Job, at: Fraction) -> tuple[Fraction, Fraction]:
    """Return constant and slope of a line that a job's value, concave in its speed, is below."""
    if instance.objective != "finish_time":
        return Fraction(0), value(instance, job, Fraction(1))
    steps, whole = Fraction(job.steps or 0), alone(instance, job)
    speed = at * steps / (whole - at * job.elapsed)
    slope = whole * steps / (job.elapsed * speed + steps) ** 2
    return at - slope * speed, slope


def _solve(instance: Instance, columns: list[_Column], at: Fraction) -> list[Fraction]:
    """Return times of the columns with the greatest value by the jobs' lines at a value."""
    if not instance.jobs:
        return []
    none, one = Fraction(0), Fraction(1)  # the last coefficient is that of the value
    time = [([*(Fraction(job.id in c.rates) for c in columns), none], one) for job in instance.jobs]
    gpus = [
        ([*(Fraction(c.gpus * (c.type == kind)) for c in columns), none], Fraction(count))
        for kind, count in instance.gpus.items()
    ]
    lines = {job.id: _line(instance, job, at) for job in instance.jobs}
    worth = [
        ([-slope * c.rates.get(name, none) for c in columns], constant)
        for name, (constant, slope) in lines.items()
    ]
    if instance.objective == "total":
        totals = zip(*(row for row, _ in worth), strict=True)
        worth = [([sum(entries, none) for entries in totals], none)]
    return _maximise_last([*time, *gpus, *(([*row, one], side) for row, side in worth)])[:-1]


def _maximise_last(rows: list[tuple[list[Fraction], Fraction]]) -> list[Fraction]:
    """Return x >= 0 with row x <= right side, all of these from 0, whose last entry is greatest."""
    n, m = len(rows[0][0]), len(rows)
    table = [
        [*row, *(Fraction(i == k) for k in range(m)), side] for i, (row, side) in enumerate(rows)
    ]
    cost = [Fraction(0)] * (n + m + 1)
    cost[n - 1] = Fraction(-1)
    basis = list(range(n, n + m))
    while True:
        entering = next((j for j in range(n + m) if cost[j] < 0), None)  # Bland's rule
        if entering is None:
            break
        open_rows = [i for i in range(m) if table[i][entering] > 0]
        leaving = min(open_rows, key=lambda i: (table[i][-1] / table[i][entering], basis[i]))
        pivot = [entry / table[leaving][entering] for entry in table[leaving]]
        for i, row in enumerate(table):
            if i != leaving and row[entering]:
                table[i] = [a - row[entering] * b for a, b in zip(row, pivot, strict=True)]
        cost = [a - cost[entering] * b for a, b in zip(cost, pivot, strict=True)]
        table[leaving], basis[leaving] = pivot, entering
    found = dict(zip(basis, (row[-1] for row in table), strict=True))
    return [found.get(j, Fraction(0)) for j in range(n)]

"""The optimum of shares by the simplex method in fractions, over jobs and pairs of jobs.

It knows neither kinds of jobs nor totals: a column is all the time of a job, or of two on the same
GPUs, on a type.
"""

from fractions import Fraction
from itertools import combinations, product
from typing import NamedTuple, TypeAlias

from dlsched.problems.shares.definition.check import LEVELS, alone, throughputs, value, value_of
from dlsched.problems.shares.definition.schema import Instance, Job, Share, Solution
from dlsched.results.objective import ByLevel, Objective
from dlsched.schema import Id

_MOST = 60
"""Newton's method doubles the digits in each step; near the optimum it needs a few."""
_SCALE = 10**15
Row: TypeAlias = list[Fraction]
"""Coefficients of the columns and of the value, then the right side that they do not exceed."""


class _Column(NamedTuple):
    share: Share
    rates: dict[Id, Fraction]


def brute_force(instance: Instance) -> Objective:
    """Return the optimum; of finish times the value that Newton's method converges to."""
    columns = _columns(instance)
    best = Fraction(0)
    at = Fraction(0)
    for _ in range(_MOST if instance.objective == "finish_time" else 1):
        times = _maximise_last(_rows(instance, columns, at))[:-1] if instance.jobs else []
        timed = [
            column.share.model_copy(update={"time": time})
            for column, time in zip(columns, times, strict=bool(instance.jobs))
        ]
        found = value_of(instance, Solution(shares=tuple(timed)))
        if found <= best * (1 + Fraction(1, _SCALE)):
            break
        best = found
        at = Fraction(round(best * _SCALE**2), _SCALE**2) if best * _SCALE > 1 else best
    return ByLevel(LEVELS, [best])


def _columns(instance: Instance) -> list[_Column]:
    """Return the shares in which every job has a rate."""
    names = [job.id for job in instance.jobs]
    columns = []
    for jobs, kind in product([*combinations(names, 1), *combinations(names, 2)], instance.gpus):
        share = Share(jobs=jobs, type=kind, time=1)
        rates = throughputs(instance, Solution(shares=(share,)))
        if all(rates[name] for name in jobs):
            columns.append(_Column(share, rates))
    return columns


def _line(instance: Instance, job: Job, at: Fraction) -> tuple[Fraction, Fraction]:
    """Return constant and slope of a line that a job's value, concave in its speed, is below."""
    if instance.objective != "finish_time":
        return Fraction(0), value(instance, job, Fraction(1))
    steps = Fraction(job.steps or 0)
    whole = alone(instance, job)
    speed = at * steps / (whole - at * job.elapsed)
    slope = whole * steps / (job.elapsed * speed + steps) ** 2
    return at - slope * speed, slope


def _rows(instance: Instance, columns: list[_Column], at: Fraction) -> list[Row]:
    """Return the limits of time, of GPUs and of the value by the jobs' lines at a value."""
    none = Fraction(0)
    one = Fraction(1)
    rows = []
    worth = []
    for job in instance.jobs:
        constant, slope = _line(instance, job, at)
        rows.append([*(Fraction(job.id in c.share.jobs) for c in columns), none, one])
        worth.append([*(-slope * c.rates[job.id] for c in columns), one, constant])
    for kind, count in instance.gpus.items():
        held = []
        for (first, *_), on in ((c.share.jobs, c.share.type) for c in columns):
            gpus = instance.by_id[instance.job_of[first].model].gpus
            held.append(Fraction(gpus * (on == kind)))
        rows.append([*held, none, Fraction(count)])
    if instance.objective == "total":
        *totals, _, _ = (sum(entries, none) for entries in zip(*worth, strict=True))
        worth = [[*totals, one, none]]
    return [*rows, *worth]


def _maximise_last(rows: list[Row]) -> list[Fraction]:
    """Return x >= 0 with row x <= right side, all of these from 0, whose last entry is greatest."""
    m = len(rows)
    n = len(rows[0]) - 1
    slack = [[Fraction(i == k) for k in range(m)] for i in range(m)]
    table = [[*row[:-1], *own, row[-1]] for row, own in zip(rows, slack, strict=True)]
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
        for row in (cost, *(row for i, row in enumerate(table) if i != leaving)):
            factor = row[entering]
            if factor:
                row[:] = [a - factor * b for a, b in zip(row, pivot, strict=True)]
        table[leaving] = pivot
        basis[leaving] = entering
    found = dict(zip(basis, (row[-1] for row in table), strict=True))
    return [found.get(j, Fraction(0)) for j in range(n)]

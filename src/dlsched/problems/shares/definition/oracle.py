"""The optimum of shares by the simplex method in fractions, over jobs and pairs of jobs.

It knows neither kinds of jobs nor totals: a column is the time of one job, or of two jobs on the
same GPUs, on a type.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from dlsched.problems.shares.definition.check import LEVELS, alone, combine, value
from dlsched.problems.shares.definition.schema import Instance, Job
from dlsched.results.objective import ByLevel, Objective

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


def _columns(instance: Instance) -> list[tuple[tuple[Job, ...], str]]:
    alone_on = [((job,), kind) for job in instance.jobs for kind in instance.usable[job.model]]
    together = [
        ((a, b), kind)
        for a, b in combinations(instance.jobs, 2)
        for kind in instance.gpus
        if (a.model, b.model, kind) in instance.beside
    ]
    return [*alone_on, *together]


def _rate(instance: Instance, jobs: tuple[Job, ...], job: Job, kind: str) -> Fraction:
    if len(jobs) == 1:
        return Fraction(instance.usable[job.model][kind])
    other = jobs[0] if jobs[1] is job else jobs[1]
    return Fraction(instance.beside[job.model, other.model, kind])


def _value(
    instance: Instance, columns: list[tuple[tuple[Job, ...], str]], times: list[Fraction]
) -> Fraction:
    speeds = {job.id: Fraction(0) for job in instance.jobs}
    for (jobs, kind), time in zip(columns, times, strict=True):
        for job in jobs:
            speeds[job.id] += time * _rate(instance, jobs, job, kind)
    return combine(instance, {j.id: value(instance, j, speeds[j.id]) for j in instance.jobs})


def _line(instance: Instance, job: Job, at: Fraction) -> tuple[Fraction, Fraction]:
    """Return constant and slope of a line that a job's value, concave in its speed, is below."""
    if instance.objective != "finish_time":
        return Fraction(0), value(instance, job, Fraction(1))
    steps, whole = Fraction(job.steps or 0), alone(instance, job)
    speed = at * steps / (whole - at * job.elapsed)
    slope = whole * steps / (job.elapsed * speed + steps) ** 2
    return at - slope * speed, slope


def _solve(
    instance: Instance, columns: list[tuple[tuple[Job, ...], str]], at: Fraction
) -> list[Fraction]:
    """Return times of the columns with the greatest value by the jobs' lines at a value."""
    rows: list[tuple[list[Fraction], Fraction]] = []  # coefficients, the last one of the value
    for job in instance.jobs:
        rows.append(([Fraction(job in jobs) for jobs, _ in columns] + [Fraction(0)], Fraction(1)))
    for kind, gpus in instance.gpus.items():
        uses = (instance.by_id[jobs[0].model].gpus * (k == kind) for jobs, k in columns)
        rows.append(([*map(Fraction, uses), Fraction(0)], Fraction(gpus)))
    lines = {job.id: _line(instance, job, at) for job in instance.jobs}
    worth = {
        job.id: [
            -lines[job.id][1] * _rate(instance, jobs, job, kind) if job in jobs else Fraction(0)
            for jobs, kind in columns
        ]
        for job in instance.jobs
    }
    if instance.objective == "total":
        total = [sum(parts, Fraction(0)) for parts in zip(*worth.values(), strict=True)]
        rows.append(([*total, Fraction(1)], Fraction(0)))
    else:
        rows += [([*worth[name], Fraction(1)], lines[name][0]) for name in worth]
    if not instance.jobs:
        return []
    return _maximise_last(rows)[:-1]


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

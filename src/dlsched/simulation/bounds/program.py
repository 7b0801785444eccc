"""A lower bound on the makespan where jobs have a choice: of GPU types, of CPUs and memory.

In any schedule of makespan T a job does shares of its work in its modes. It is not done for longer
than from its submission to T; and the jobs submitted at a time or later use of each resource no
more than there is from then to T. The least such T is a linear program (per type of GPUs as in
Gavel's policy of least makespan). Any multipliers >= 0 of these constraints prove a bound; those of
the dual program, which HiGHS solves, are rounded to whole numbers, and their bound is computed in
exact arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dlsched.simulation.bounds.demands import Demands, Mode

SUBMISSIONS = 12
"""Times of submission, at most, from which on the resources are counted."""
LONG_JOBS = 2000
"""Jobs, at most, that have a constraint of their own."""
GRID = 2**40
"""Multipliers are whole multiples of their largest value over this."""


class Multipliers(NamedTuple):
    """Multipliers of the constraints, whole numbers of 0 or more.

    Attributes
    ----------
    times
        Times in microseconds, ascending, from which on the resources are counted.
    resources
        By time and resource.
    jobs
        Of the jobs that have one, by position, that of the time from submission to the makespan.
    """

    times: tuple[int, ...]
    resources: tuple[tuple[int, ...], ...]
    jobs: dict[int, int]


def makespan_by_program(d: Demands) -> tuple[Fraction, Multipliers]:
    """Return a lower bound on the makespan in microseconds, and the multipliers that prove it."""
    multipliers = solve(d)
    return evaluate(d, multipliers), multipliers


def evaluate(d: Demands, multipliers: Multipliers) -> Fraction:
    """Return the bound that multipliers prove, exactly, in microseconds; 0 if they prove none."""
    times, resources, jobs = multipliers
    if any(x < 0 for row in (*resources, jobs.values()) for x in row):
        return Fraction(0)
    most = [resource.most for resource in d.resources]
    weight = Fraction(sum(jobs.values()))
    value = Fraction(sum(x * d.release[j] for j, x in jobs.items()))
    for time, row in zip(times, resources, strict=True):
        amount = sum((n * x for n, x in zip(most, row, strict=True)), Fraction(0))
        weight, value = weight + amount, value + amount * time
    if not weight:
        return Fraction(0)
    since = np.searchsorted(times, d.release, side="right").tolist()
    costs: dict[tuple[int, int], Fraction] = {}
    totals = [
        [sum(row[r] for row in resources[:i]) for r in range(len(most))]
        for i in range(len(times) + 1)
    ]
    for j, (work, k, i) in enumerate(zip(d.work, d.kind, since, strict=True)):
        if j in jobs:
            value += work * min(
                _cost(mode, totals[i]) + jobs[j] * mode.length for mode in d.kinds[k].modes
            )
            continue
        if (k, i) not in costs:
            costs[k, i] = min(_cost(mode, totals[i]) for mode in d.kinds[k].modes)
        value += work * costs[k, i]
    return value / weight


def _cost(mode: Mode, prices: Sequence[int]) -> Fraction:
    return sum((x * use for x, use in zip(prices, mode.uses, strict=True)), Fraction(0))


def solve(d: Demands) -> Multipliers:
    """Return multipliers of a large bound, by the dual program.

    Jobs of a kind that are submitted between the same two of the times are one; a job that is long
    even in its fastest mode has a constraint of its own.
    """
    releases = sorted(set(d.release))
    at = np.unique(np.linspace(0, len(releases) - 1, SUBMISSIONS).round().astype(int))
    times = tuple(releases[i] for i in at)
    since = np.searchsorted(times, d.release, side="right").tolist()
    slowest = [float(max(mode.length for mode in kind.modes)) for kind in d.kinds]
    ends = [r + w * slowest[k] for r, w, k in zip(d.release, d.work, d.kind, strict=True)]
    long = set(np.argsort(ends)[::-1][:LONG_JOBS].tolist())
    groups: dict[tuple[int, int, int], int] = {}
    for j, (work, k, i) in enumerate(zip(d.work, d.kind, since, strict=True)):
        like = (k, i, j if j in long else -1)
        groups[like] = groups.get(like, 0) + work
    return _round(times, *_dual(d, times, groups))


def _dual(
    d: Demands, times: Sequence[int], groups: dict[tuple[int, int, int], int]
) -> tuple[Any, dict[int, float]]:
    """Return the multipliers of resources, shape (times, resources), and of jobs.

    The program: maximise the bound of multipliers whose weights add up to 1, see `evaluate`; a
    column for the cost of each group of jobs, which is at most that of each of its modes.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    scale = float(max(*d.release, *d.work)) or 1.0
    shape = (len(times), len(d.resources))
    most = np.array([float(resource.most) for resource in d.resources])
    cells = shape[0] * shape[1]
    own = {j: cells + i for i, j in enumerate(j for _, _, j in groups if j >= 0)}
    columns = cells + len(own) + len(groups)
    gain, weight = np.zeros(columns), np.zeros(columns)
    weight[:cells] = np.tile(most, shape[0])
    gain[:cells] = weight[:cells] * np.repeat(np.array(times, float) / scale, shape[1])
    for j, column in own.items():
        gain[column], weight[column] = d.release[j] / scale, 1.0
    entries: list[tuple[int, int, float]] = []
    row = 0
    for g, ((k, i, j), work) in enumerate(groups.items()):
        gain[cells + len(own) + g] = 1.0
        for mode in d.kinds[k].modes:
            entries.append((row, cells + len(own) + g, 1.0))
            for r, use in enumerate(mode.uses):
                if use:
                    size = -float(work * use) / scale
                    entries += [(row, t * shape[1] + r, size) for t in range(i)]
            if j >= 0:
                entries.append((row, own[j], -float(work * mode.length) / scale))
            row += 1
    rows, cols, sizes = zip(*entries, strict=True)
    solve_program: Any = linprog  # its stubs have no sparse matrices
    solved = solve_program(
        -gain,
        A_ub=csr_matrix((sizes, (rows, cols)), (row, columns)),
        b_ub=np.zeros(row),
        A_eq=csr_matrix(weight[None, :]),
        b_eq=np.ones(1),
        method="highs",
    )
    x = solved.x if solved.x is not None else weight
    return x[:cells].reshape(shape), {j: float(x[column]) for j, column in own.items()}


def _round(times: tuple[int, ...], resources: Any, jobs: dict[int, float]) -> Multipliers:
    largest = max(float(resources.max(initial=0)), *jobs.values(), 0.0) or 1.0

    def whole(x: float) -> int:
        return max(0, math.floor(x / largest * GRID))

    return Multipliers(
        times,
        tuple(tuple(whole(x) for x in row) for row in resources.tolist()),
        {j: whole(x) for j, x in jobs.items() if whole(x)},
    )


def capacity_weights(d: Demands) -> tuple[Fraction, ...]:
    """Return weights of the resources by which the cluster takes longest, all jobs together."""
    loads: dict[tuple[int, int, int], int] = {}
    for work, k in zip(d.work, d.kind, strict=True):
        loads[k, 1, -1] = loads.get((k, 1, -1), 0) + work
    found = _round((0,), *_dual(d, (0,), loads)).resources[0]
    return tuple(Fraction(x, GRID) for x in found)

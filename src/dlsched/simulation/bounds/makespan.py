"""Lower bounds on the makespan: nothing that is left at any time is done sooner than possible.

Jobs may have a choice: of servers, of GPU types, of CPUs and memory. In any schedule of makespan T
a job does shares of its work in its modes. It is not done for longer than from its submission to T;
and the jobs submitted at a time or later use of each resource no more than there is from then to T.
The least such T is a linear program (per type of GPUs as in Gavel's policy of least makespan). Any
multipliers >= 0 of these constraints prove a bound; those of the dual program, which HiGHS solves,
are rounded to whole numbers, and their bound is computed in exact arithmetic.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import chain
from operator import add, mul
from typing import Any, NamedTuple

import numpy as np

from dlsched.simulation.bounds.demands import Demands, Pool, pool, weighted_sum
from dlsched.simulation.bounds.sharing import Sharing, group_facet, least, mixtures, stage_facet

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


class Group(NamedTuple):
    """Jobs whose work is one in the program.

    Attributes
    ----------
    kind
        Their kind.
    times
        How many of the times from which on resources are counted are not after their submission.
    job
        The position of a job with a constraint of its own, which is alone in its group; else None.
    """

    kind: int
    times: int
    job: int | None = None


def evaluate(d: Demands, multipliers: Multipliers) -> Fraction:
    """Return the bound that multipliers prove, exactly, in microseconds; 0 if they prove none."""
    times, resources, jobs = multipliers
    if any(x < 0 for x in chain(*resources, jobs.values())):
        return Fraction(0)
    most = [resource.most for resource in d.resources]
    amounts = [weighted_sum(row, most) for row in resources]
    weight = sum(amounts) + sum(jobs.values())
    if not weight:
        return Fraction(0)
    value = weighted_sum(amounts, times) + sum(x * d.release[j] for j, x in jobs.items())
    # What is used after a time counts for all times up to it.
    prices = np.cumsum([[0] * len(most), *resources], axis=0, dtype=object).tolist()

    @cache
    def cost(kind: int, counted: int, time: int) -> Fraction:
        modes = d.kinds[kind].modes
        return min(weighted_sum(prices[counted], m.uses) + time * m.length for m in modes)

    for j, (work, kind, counted) in enumerate(zip(d.work, d.kind, _counted(d, times), strict=True)):
        value += work * cost(kind, counted, jobs.get(j, 0))
    return value / weight


def _counted(d: Demands, times: Sequence[int]) -> list[int]:
    """Return how many of the times are not after each job's submission."""
    counted: list[int] = np.searchsorted(times, d.release, side="right").tolist()
    return counted


def solve(d: Demands) -> Multipliers:
    """Return multipliers of a large bound, by the dual program.

    Jobs of a kind that are submitted between the same two of the times are one; a job that is long
    even in its fastest mode has a constraint of its own.
    """
    releases = sorted(set(d.release))
    spread = np.linspace(0, len(releases) - 1, SUBMISSIONS).round().astype(int)
    times = tuple(releases[i] for i in np.unique(spread))
    slowest = [float(max(mode.length for mode in kind.modes)) for kind in d.kinds]
    jobs = zip(d.release, d.work, d.kind, strict=True)
    ends = [release + work * slowest[kind] for release, work, kind in jobs]
    long = set(np.argsort(ends)[::-1][:LONG_JOBS].tolist())
    groups: Counter[Group] = Counter()
    for j, (work, kind, counted) in enumerate(zip(d.work, d.kind, _counted(d, times), strict=True)):
        group = Group(kind, counted, j if j in long else None)
        groups[group] += work
    return _solve_dual(d, times, groups)


def _solve_dual(d: Demands, times: tuple[int, ...], groups: Mapping[Group, int]) -> Multipliers:
    """Return the multipliers by which groups of jobs, with their work, take longest.

    The program maximises the bound of multipliers whose weights add up to 1, see `evaluate`. Its
    columns are the multipliers by time and resource, those of jobs, and the cost of each group of
    jobs, which is at most that of each of its modes. Without an answer of HiGHS, some valid ones
    are returned.
    """
    scale = float(max(*d.release, *d.work)) or 1.0
    most = np.array([float(resource.most) for resource in d.resources])
    long = [group.job for group in groups if group.job is not None]
    of_cells = np.tile(most, len(times))
    weight = np.concatenate((of_cells, np.ones(len(long)), np.zeros(len(groups))))
    time_of_cells = np.repeat(np.array(times, float) / scale, len(most))
    release = np.array([d.release[j] / scale for j in long])
    gain = np.concatenate((of_cells * time_of_cells, release, np.ones(len(groups))))
    rows = _cost_rows(d, len(times), groups, scale)
    solved = least(-gain, rows, np.zeros(rows.shape[0]), A_eq=weight[None, :], b_eq=[1])
    multipliers = (weight if solved is None else solved)[: len(weight) - len(groups)]
    largest = max(float(multipliers.max()), 0.0) or 1.0
    whole = [max(0, math.floor(value / largest * GRID)) for value in multipliers.tolist()]
    cells = len(times) * len(most)
    of_resources = np.array(whole[:cells], object).reshape(len(times), -1)
    return Multipliers(
        times,
        tuple(map(tuple, of_resources.tolist())),
        {j: value for j, value in zip(long, whole[cells:], strict=True) if value},
    )


def _cost_rows(d: Demands, times: int, groups: Mapping[Group, int], scale: float) -> Any:
    """Return rows by which a group's cost is at most that of its work in a mode."""
    from scipy import sparse

    uses = []
    lengths = []
    counted = []
    group_of_row = []
    for g, (group, work) in enumerate(groups.items()):
        for mode in d.kinds[group.kind].modes:
            uses.append([float(work * use) / scale for use in mode.uses])
            lengths.append([float(work * mode.length) / scale])
            counted.append([t < group.times for t in range(times)])
            group_of_row.append(g)
    cells = np.array(counted)[:, :, None] * np.array(uses)[:, None, :]
    by_cell = sparse.csr_matrix(-cells.reshape(len(uses), -1))
    entries = (np.ones(len(uses)), (np.arange(len(uses)), group_of_row))
    by_group = sparse.csc_matrix(entries, (len(uses), len(groups)))
    of_one_job = [g for g, group in enumerate(groups) if group.job is not None]
    by_job = -by_group[:, of_one_job].multiply(np.array(lengths))
    return sparse.hstack((by_cell, by_job, by_group), "csr")


def capacity_weights(d: Demands) -> tuple[Fraction, ...]:
    """Return weights of the resources by which the cluster takes longest, all jobs together."""
    loads: Counter[Group] = Counter()
    for work, kind in zip(d.work, d.kind, strict=True):
        loads[Group(kind, 1)] += work
    weights = _solve_dual(d, (0,), loads).resources[0]
    return tuple(Fraction(x, GRID) for x in weights)


def of_demands(d: Demands) -> tuple[Fraction, str]:
    """Return a bound on the makespan in microseconds, and its source."""
    machine = pool(d, capacity_weights(d))
    bounds = {"each job alone": longest_job(machine), "GPU time on all GPUs": pooled_work(machine)}
    if any(len(kind.modes) > 1 for kind in d.kinds):
        bounds["GPU time by type, CPUs and memory"] = evaluate(d, solve(d))
    source = max(bounds, key=bounds.__getitem__)
    return bounds[source], source


def sharing_demands(jobs: Sharing) -> Demands:
    """Return the demands by which jobs that may share GPUs take longest, all together."""
    loads = jobs.loads()
    facet = group_facet(jobs, loads)
    if facet is None:
        facets = [stage_facet(jobs, weights) for weights in mixtures(jobs.resources)]
        facet = max(facets, key=lambda charges: sum(map(mul, charges, loads)))
    return jobs.demands([facet])


def longest_job(d: Pool) -> Fraction:
    """Return the latest time at which a job alone would be complete, in microseconds."""
    return Fraction(max(map(add, d.release, d.length)))


def pooled_work(d: Pool) -> Fraction:
    """Return a time before which the machine cannot be through, in microseconds.

    For each submission: what is submitted then or later has to be done after it.
    """
    capacity = d.capacity
    latest = Fraction(0)
    later_area = 0
    for release, area in zip(reversed(d.release), reversed(d.area), strict=True):
        later_area += area
        done = Fraction(release)
        if later_area:
            done = capacity.reached(capacity.until(release) + later_area)
        latest = max(latest, done)
    return latest

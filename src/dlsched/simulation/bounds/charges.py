"""Charges: of jobs that share GPUs, how much of an iteration of their group each counts for.

Charges are valid if in every group that there can be they add up to at most the time of the
group's iteration. Then the GPU time of all groups is at least the sum over jobs of GPUs x charge x
iterations, whatever the groups are. With weights for the kinds of jobs, the best charges are the
dual of covering the weights by groups in the least time: a linear program with a row per group.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations, combinations_with_replacement, pairwise
from typing import Any, NamedTuple

MOST_GROUPS = 5_000
"""Groups above which there is no linear program."""
GRID = 2**30
"""Charges are rounded down to multiples of the largest time over this."""


class Groups(NamedTuple):
    """All groups that there can be.

    Attributes
    ----------
    kinds
        Number of kinds of jobs.
    times
        From the kinds of a group's members, ascending, to the least time of its iteration. Every
        kind alone is a group.
    """

    kinds: int
    times: Mapping[tuple[int, ...], Fraction]


def count_groups(kinds: int, most: int) -> int:
    """Return the number of groups of one to `most` jobs, of which several may be of a kind."""
    return sum(math.comb(kinds + size - 1, size) for size in range(1, most + 1))


def groups(kinds: int, most: int, time: Callable[[tuple[int, ...]], Fraction]) -> Groups:
    """Return all groups of one to `most` jobs, with the least time of an iteration of each."""
    sizes = range(1, most + 1)
    members = chain.from_iterable(combinations_with_replacement(range(kinds), n) for n in sizes)
    return Groups(kinds, {group: time(group) for group in members})


def best_charges(known: Groups, weights: Sequence[float]) -> tuple[Fraction, ...]:
    """Return valid charges with a large sum of weight x charge.

    The solver's charges are rounded, and then shrunk until every group's sum is exactly at most its
    time; so they are valid whatever the solver says.

    Parameters
    ----------
    weights
        Of each kind, 0 or more.
    """
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    times = known.times.values()
    columns = list(chain.from_iterable(known.times))
    ends = np.cumsum([0, *map(len, known.times)])
    matrix = csr_matrix((np.ones(len(columns)), columns, ends), (len(times), known.kinds))
    matrix.sum_duplicates()
    scale = max(weights) or 1.0
    objective = -np.array(weights) / scale - 1e-9
    limits = np.array(list(map(float, times)))
    solve: Any = linprog  # its stubs have no sparse matrices
    solved = solve(objective, A_ub=matrix, b_ub=limits, method="highs")
    values = solved.x if solved.x is not None else np.zeros(known.kinds)
    unit = Fraction(max(times)) / GRID
    charges = [max(0, math.floor(Fraction(x) / unit)) * unit for x in values.tolist()]
    return valid(known, charges)


def valid(known: Groups, charges: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Return charges shrunk by one factor until they are valid."""
    factor = Fraction(1)
    for group, time in known.times.items():
        total = sum((charges[kind] for kind in group), Fraction(0))
        if total * factor > time:
            factor = time / total
    # One division fewer digits: the factor is rounded down to a multiple of 1 / GRID.
    factor = Fraction(math.floor(factor * GRID), GRID)
    return tuple(charge * factor for charge in charges)


def mixtures(resources: int, steps: int = 8) -> Iterator[tuple[Fraction, ...]]:
    """Yield weights of resources that are multiples of 1 / `steps` and of sum 1."""

    places = steps + resources - 1
    for bars in combinations(range(places), resources - 1):
        edges = (-1, *bars, places)
        yield tuple(Fraction(end - start - 1, steps) for start, end in pairwise(edges))

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
from itertools import combinations_with_replacement
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
    members = (
        group
        for size in range(1, most + 1)
        for group in combinations_with_replacement(range(kinds), size)
    )
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

    members = list(known.times)
    rows = np.repeat(np.arange(len(members)), [len(group) for group in members])
    columns = np.array([kind for group in members for kind in group])
    matrix = csr_matrix((np.ones(len(rows)), (rows, columns)), (len(members), known.kinds))
    limits = np.array([float(time) for time in known.times.values()])
    scale = max(weights) or 1.0
    objective = -np.array([weight / scale for weight in weights]) - 1e-9
    solve: Any = linprog  # its stubs have no sparse matrices
    solved = solve(objective, A_ub=matrix, b_ub=limits, method="highs")
    found = solved.x if solved.x is not None else np.zeros(known.kinds)
    unit = Fraction(max(known.times.values())) / GRID
    charges = [max(0, math.floor(Fraction(float(x)) / unit)) * unit for x in found]
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

    def parts(count: int, left: int) -> Iterator[tuple[int, ...]]:
        if count == 1:
            yield (left,)
            return
        for first in range(left + 1):
            for rest in parts(count - 1, left - first):
                yield first, *rest

    for part in parts(resources, steps):
        yield tuple(Fraction(value, steps) for value in part)

"""Inequalities that hold for the tasks on one machine and that counts of a block violate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from dlsched.problems.dispatch.blocks import Amounts, Shape
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.standard_form import INF, StandardForm

Weights: TypeAlias = tuple[tuple[Shape, int], ...]
"""A whole weight for each of some shapes."""
_MOST_LOADS = 5000
"""Upper limit of the loads of a machine that are enumerated."""
_SCALES = (2520, 2520 * 2**20)
"""Weights are rounded to whole parts of the first that will do; 2520 has all divisors up to ten."""


def violated(
    shapes: Sequence[Shape], counts: Sequence[int], have: Amounts, machines: int, run: Run
) -> Weights | None:
    """Return weights of which the counts have more than all machines can; ``None`` if none exist.

    The weights are the duals of the fractional bin packing of the counts: no load of one machine
    has more than 1, and the counts have the most that is possible. Rounding them costs no
    validity, as `capacity` computes anew what a machine can have.

    Parameters
    ----------
    shapes, counts
        Tasks by shape.
    have, machines
        What each machine has, and how many there are.
    """
    from scipy import sparse

    loads = _loads(tuple(shapes), have)
    if loads is None:
        return None
    rows = np.array(loads, dtype=float)
    form = StandardForm(
        sparse.csc_array(rows),
        np.full(len(loads), -INF),
        np.ones(len(loads)),
        np.zeros(len(shapes)),
        np.ones(len(shapes)),
        np.zeros(len(shapes), dtype=bool),
        (np.array(counts, dtype=float),),
        (0.0,),
        ("max",),
        (Fraction(0),),
    )
    outcome = highs.solve(form, 0, run, relax=True)
    if outcome.values is None:
        return None
    for scale in _SCALES:
        parts = np.rint(scale * np.maximum(outcome.values, 0.0)).astype(int).tolist()
        found = tuple((shape, part) for shape, part in zip(shapes, parts, strict=True) if part)
        total = sum(part * count for part, count in zip(parts, counts, strict=True))
        most = capacity(found, have) if found else None
        if most is not None and total > machines * most:
            return found
    return None


@lru_cache(maxsize=1000)
def capacity(weights: Weights, have: Amounts) -> int | None:
    """Return the largest weight of tasks on one machine; ``None`` if there are too many loads."""
    loads = _loads(tuple(shape for shape, _ in weights), have)
    if loads is None:
        return None
    return max(sum(n * part for n, (_, part) in zip(load, weights, strict=True)) for load in loads)


@lru_cache(maxsize=1000)
def _loads(shapes: tuple[Shape, ...], have: Amounts) -> list[tuple[int, ...]] | None:
    """Return the loads of a machine to which no task of the last shape can be added."""
    found = []
    for load in _extend([shape.need for shape in shapes], have):
        found.append(load)
        if len(found) > _MOST_LOADS:
            return None
    return found


def _extend(needs: Sequence[Amounts], have: Amounts) -> Iterator[tuple[int, ...]]:
    most = min(a // b for a, b in zip(have, needs[0], strict=True) if b)
    if len(needs) == 1:
        yield (most,)
        return
    for n in range(most, -1, -1):
        left = (have[0] - n * needs[0][0], have[1] - n * needs[0][1], have[2] - n * needs[0][2])
        for rest in _extend(needs[1:], left):
            yield (n, *rest)

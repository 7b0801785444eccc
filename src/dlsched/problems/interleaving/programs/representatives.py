"""Jobs that stand for others with nearly the same stages."""

from __future__ import annotations

import numpy as np

from dlsched.problems.interleaving.programs.column_pool import Pool
from dlsched.problems.interleaving.structures.groups import Indices, Vector

_APART = 0.25
"""A gap in the values of this share of their range is where they are divided; else in the middle"""


def representatives(pool: Pool, most: int) -> Indices:
    """Return how many jobs each row stands for: itself and those near it; 0 for the others.

    The profiles of a class are divided in two along the number in which they differ most, until no
    part has more than its share of jobs. Of each part the profile next to the mean is kept. The
    numbers are the shares of the stages in their sum, and the logarithm of the sum.

    Parameters
    ----------
    most
        Number of parts, roughly.
    """
    kept: Indices = np.zeros_like(pool.multiplicity)
    size = 1.3 * float(pool.multiplicity.sum()) / most  # halves are smaller than the largest part
    for part in pool.classes:
        stages = pool.stages[part.rows]
        place = np.column_stack([stages / part.sums[:, None], np.log(part.sums)])
        for near in _divided(place, pool.multiplicity[part.rows], size):
            middle = place[near].mean(axis=0)
            chosen = near[np.abs(place[near] - middle).sum(axis=1).argmin()]
            kept[part.rows[chosen]] = pool.multiplicity[part.rows[near]].sum()
    return kept


def _divided(place: Vector, jobs: Indices, size: float) -> list[Indices]:
    """Return parts of some profiles, with no more jobs than a size unless it is one profile."""
    waiting: list[Indices] = [np.arange(len(place))]
    parts = []
    while waiting:
        some = waiting.pop()
        if len(some) <= 1 or jobs[some].sum() <= size:
            parts += [some] if len(some) else []
            continue
        widest = int(np.ptp(place[some], axis=0).argmax())
        some = some[np.argsort(place[some, widest], kind="stable")]
        apart = np.diff(place[some, widest])
        cut = int(apart.argmax()) + 1
        if apart.max() <= _APART * apart.sum():
            cut = len(some) // 2
        waiting += [some[:cut], some[cut:]]
    return parts

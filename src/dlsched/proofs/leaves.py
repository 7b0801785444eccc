"""Integer multipliers of a leaf from a solver's duals; their check is in `proofs.tree`."""

import math
from collections.abc import Sequence

import numpy as np

from dlsched.proofs.levels import Aim
from dlsched.proofs.tree import proves
from dlsched.results.proof import Leaf
from dlsched.solvers.outcome import Vector

BITS = (0, 1, 2, 4, 6, 8, 11, 15, 20, 26, 33, 41, 50, 60)
"""Numbers of bits that are tried, the fewest first."""
_LARGEST_DUAL = 2.0 ** (1023 - BITS[-1])
"""Larger multipliers, which no solver means, are left out: with most bits they are not doubles."""
_LARGEST_RAY = 16
"""A ray is divided by its largest entry; with b bits, that becomes this times two to the b."""


def leaf_of(
    aim: Aim, multipliers: Vector, empty: bool, lower: Sequence[int], upper: Sequence[int]
) -> Leaf | None:
    """Return a leaf that proves the aim, with the fewest bits tried; None if none does.

    Parameters
    ----------
    multipliers
        The duals of the relaxation of the node, or, if it is `empty`, a ray.
    """
    used = np.flatnonzero((np.abs(multipliers) < _LARGEST_DUAL) & (multipliers != 0))
    y = multipliers[used]
    if empty and len(used):
        y = y * (_LARGEST_RAY / np.abs(y).max())
    for bits in BITS:
        chosen: dict[int, int] = {}
        for i, v in zip(used.tolist(), y.tolist(), strict=True):
            rounded = round(math.ldexp(v, bits))  # a power of two times a double is exact
            row = aim.rows[i]
            side = row.low if rounded > 0 else row.high
            if rounded and side is not None:
                chosen[i] = rounded
        leaf = Leaf(bits, chosen, empty)
        if proves(aim.rows, aim.goal.costs, leaf, lower, upper, aim.least, aim.strict):
            return leaf
    return None

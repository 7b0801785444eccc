"""Inequalities that hold for the tasks on one machine and that counts of a block violate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dlsched.problems.dispatch.programs.loads import Weights, capacity, loads_of
from dlsched.problems.dispatch.structures.blocks import Shape
from dlsched.problems.dispatch.structures.victims import Amounts
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.standard_form import INF, StandardForm

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

    loads = loads_of(tuple(shapes), have)
    if loads is None:
        return None
    form = StandardForm.of(
        sparse.csc_array(np.array(loads, dtype=float)),
        np.full(len(loads), -INF),
        np.ones(len(loads)),
        np.ones(len(shapes)),
        np.array(counts, dtype=float),
        sense="max",
    )
    outcome = highs.solve(form, 0, run, relax=True)
    if outcome.values is None:
        return None
    for scale in _SCALES:
        parts = np.rint(scale * np.maximum(outcome.values, 0.0)).astype(int).tolist()
        weights = tuple((shape, part) for shape, part in zip(shapes, parts, strict=True) if part)
        total = sum(part * count for part, count in zip(parts, counts, strict=True))
        most = capacity(weights, have) if weights else None
        if most is not None and total > machines * most:
            return weights
    return None

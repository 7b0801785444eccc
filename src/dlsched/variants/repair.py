"""Repair of a start that violates a variant: the least violation over growing neighbourhoods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dlsched.run import Stage
from dlsched.schema.solution import Solution
from dlsched.solvers import highs
from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import INF, StandardForm
from dlsched.variants.best_solution import BestSolution
from dlsched.variants.neighbourhoods import Mask, beside, restricted

NODES = 300
"""Of each integer program: unlike seconds the same on every machine."""
_LAYERS = 3
"""How often the neighbourhood of a repair grows before it is the whole model."""


def repair_any(search: BestSolution, starts: Sequence[Solution]) -> None:
    """Repair one start after the other, until there is a solution."""
    seen: list[Solution] = []
    for start in starts:
        if search.best is not None or search.run.stop_reason():
            return
        if start not in seen:
            _repair(search, start)
        seen.append(start)


def _repair(search: BestSolution, start: Solution) -> None:
    """Minimize what the added rows are violated by, over growing neighbourhoods of a start."""
    model, form = search.program()
    point = search.point(model, form, start)
    assert search.change is not None
    search.run.announce(Stage.SEARCHING, "a repair of a start")
    added = {id(row) for row in search.change.constraints}
    own = {id(variable) for variable in search.change.variables}
    soft = np.array([id(c) in added for c in form.constraints], dtype=bool)
    value = form.A @ point
    tolerance = 1e-6
    broken = (value < form.row_lower - tolerance) | (value > form.row_upper + tolerance)
    free: Mask = (abs(form.A).T @ (broken & soft).astype(float)) > 0
    free |= ~form.integer | np.array([id(v) in own for v in form.variables], dtype=bool)
    for layer in range(_LAYERS + 1):
        if search.run.stop_reason():
            return
        free = free | beside(form, free) if layer < _LAYERS else np.ones_like(free)
        part = _elastic(form, soft, point, free)
        if part is None:
            continue
        outcome = highs.solve(part, 0, search.run, quiet=True, nodes=NODES, target=0.0)
        if outcome.values is None:
            continue
        inside = outcome.values[: int(free.sum())]
        if search.take(model, form, point, free, inside):
            return


def _elastic(form: StandardForm, soft: Mask, point: Vector, free: Mask) -> StandardForm | None:
    """Return the program of the least violation of soft rows; None if no row can be satisfied."""
    from scipy import sparse

    part = restricted(form, point, free)
    kept = {id(c) for c in np.array(form.constraints, dtype=object)[soft]}
    rows = np.flatnonzero([id(c) in kept for c in part.constraints])
    count, size = len(rows), part.shape[0]
    slack = sparse.csc_array((np.ones(count), (rows, np.arange(count))), shape=(size, count))
    columns = part.shape[1]
    return replace(
        part,
        A=sparse.csc_array(sparse.hstack([part.A, slack, -slack], format="csc")),
        lower=np.append(part.lower, np.zeros(2 * count)),
        upper=np.append(part.upper, np.full(2 * count, INF)),
        integer=np.append(part.integer, np.zeros(2 * count, dtype=bool)),
        costs=(np.append(np.zeros(columns), np.ones(2 * count)),),
        offsets=(0.0,),
        senses=("min",),
        granularities=(type(part.granularities[0])(0),),
        level_names=("violation",),
        variables=[],
    )

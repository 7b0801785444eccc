"""What a user would do without dlsched's exact methods: hand the model to a solver, as it is.

The model is the room's own, compiled to a matrix, so every solver gets the same rows and columns.
Levels are solved one after another, each with the earlier ones held by a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dlsched import Claim, Status
from dlsched.objective import Bound
from dlsched.registry import problem
from dlsched.run import Run
from dlsched.schema import Instance
from dlsched.solvers.certificate import round_to_granularity
from dlsched.solvers.standard_form import StandardForm, compile_model

_SLACK = 1e-6


@dataclass(frozen=True)
class Answer:
    """What a solver said of one level, in the level's own units and sense."""

    values: Any
    bound: float | None
    proven: bool
    reason: str


Backend = Callable[[StandardForm, int, Run], Answer]


def by_levels(instance: Instance, run: Run, backend: Backend, name: str) -> Claim:
    """Solve the room's model with a solver, and return what it claims."""
    room = problem(instance.problem).module("model")
    model = room.build(instance)
    form = compile_model(model)
    values, reason, proven = None, "", False
    bounds: list[list[Bound]] = []
    for level in range(len(form.costs)):
        answer = backend(form, level, run)
        values = answer.values if answer.values is not None else values
        bounds.append(_bound(form, level, answer.bound, name))
        proven, reason = answer.proven, answer.reason
        if not proven:
            break
        rounded = np.where(form.integer, np.rint(answer.values), answer.values)
        form = form.held(level, form.value(level, rounded))
    if values is None:
        return Claim(status=Status.NO_SOLUTION, reason=reason, bounds=bounds, solver=name)
    form.load(values)
    return Claim(
        solution=room.read(instance, model),
        status=Status.OPTIMAL if proven else Status.FEASIBLE,
        reason=reason,
        bounds=bounds,
        solver=name,
    )


def _bound(form: StandardForm, level: int, bound: float | None, name: str) -> list[Bound]:
    if bound is None or not np.isfinite(bound):
        return []
    grid, sense = form.granularities[level], form.senses[level]
    slack = Fraction(_SLACK * max(1.0, abs(bound)))
    if grid <= 2 * slack:
        return [Bound(bound, "claimed", name)]
    inner = Fraction(bound) + (slack if sense == "max" else -slack)
    return [Bound(round_to_granularity(inner, grid, sense), "claimed", name)]

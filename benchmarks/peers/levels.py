"""Peers without structure: the problem's model, compiled to a matrix, solved by another solver.

Every solver gets the same rows and columns. Levels are solved one after another; rows fix the
values of the earlier ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from typing import Any

import numpy as np

from dlsched import Claim, Status, Termination
from dlsched.registry import problem
from dlsched.results.objective import Bound
from dlsched.run import Run
from dlsched.schema import Instance
from dlsched.solvers.certificate import round_to_granularity
from dlsched.solvers.standard_form import StandardForm, compile_model

_SLACK = 1e-6


@dataclass(frozen=True)
class Answer:
    """A solver's answer for one level, in the level's own units and sense.

    ``reason`` is the solver's own word for why it ended, if it has no proof.
    """

    values: Any
    bound: float | None
    proven: bool
    reason: str = ""


Backend = Callable[[StandardForm, int, Run], Answer]


def by_levels(instance: Instance, run: Run, backend: Backend, name: str) -> Claim:
    """Solve the problem's model with a solver, and return the claim."""
    run.record_solver(name, version(name))
    owner = problem(instance.problem).module("model")
    model = owner.build(instance)
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
    ended = None if proven else stopped(run)
    if values is None:
        return Claim(
            status=Status.NO_SOLUTION, termination=ended, bounds=bounds, solver_message=reason
        )
    form.load(values)
    return Claim(
        solution=owner.read(instance, model),
        status=Status.OPTIMAL if proven else Status.FEASIBLE,
        termination=ended,
        bounds=bounds,
        solver_message=reason,
    )


def stopped(run: Run) -> Termination:
    """Return why a solver ended without a proof; it may end just before its time limit."""
    limit = Termination.UNDECIDED if run.time_limit is None else Termination.TIME_LIMIT
    return run.stop_reason() or limit


def _bound(form: StandardForm, level: int, bound: float | None, name: str) -> list[Bound]:
    if bound is None or not np.isfinite(bound):
        return []
    grid, sense = form.granularities[level], form.senses[level]
    slack = Fraction(_SLACK * max(1.0, abs(bound)))
    if grid <= 2 * slack:
        return [Bound(bound, "claimed", name)]
    inner = Fraction(bound) + (slack if sense == "max" else -slack)
    return [Bound(round_to_granularity(inner, grid, sense), "claimed", name)]

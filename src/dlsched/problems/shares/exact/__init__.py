"""The exact methods of shares: the linear program over kinds of jobs, and water filling.

Water filling (Gavel) goes on with the least value of the others, and so on.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.shares import model
from dlsched.problems.shares.definition.check import value_of
from dlsched.problems.shares.definition.schema import Instance, Solution
from dlsched.problems.shares.heuristics import isolated
from dlsched.problems.shares.structures.kinds import pooled
from dlsched.proofs.forms.form import FormChoice
from dlsched.registry.own import method
from dlsched.results.objective import Bound, at_bound
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run, Stage
from dlsched.solvers import highs
from dlsched.solvers.certificate import dual_bound
from dlsched.solvers.levels import SOLVER_LIBRARIES
from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import StandardForm, compile_model

_PRECISE = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
"""HiGHS's own, 1e-7, leave a gap of 5e-9 of the value of 1,024 jobs."""
_MOST = 30
"""Most programs for finish times; Newton's method needs about five."""
_POSITIVE = 1e-7
"""A row's dual counts as positive from this part of the sum of all."""
_KEPT = 1 - Fraction(1, 10**10)
"""The part of a level that later rounds keep: their programs need an interior."""


@method("shares", kind="exact", preload=SOLVER_LIBRARIES, begins_with="lp")
def milp(instance: Instance, run: Run) -> Claim:
    """Linear program over kinds of jobs; of finish times one for each step of Newton's method.

    Exact because equal jobs may have equal shares, by symmetry. A finish time's value is concave in
    the throughput; tangents at the best value so far give a bound, and a better solution, until the
    two agree. The bound is certified from the duals; before there are any it is that of the GPUs
    of all types together.
    """
    known: Any = run.start or run.known or isolated(instance)
    best = value_of(instance, known)
    bound = pooled(instance, best)
    for number in range(_MOST if instance.objective == "finish_time" else 1):
        if run.stop_reason() is not None:
            break
        run.announce(Stage.SEARCHING, f"program {number + 1}")
        built = model.build(instance, best)
        solved = optimize(built, run)
        if solved is None:
            break
        bound = min(bound, solved.bound)
        solution = model.read(instance, built)
        worth = value_of(instance, solution)
        if worth > best:
            known, best = solution, worth
        run.record(float(best), float(bound))
        if at_bound(best, Bound(bound, "certified", "lp")):
            break
    return claim_of(instance, run, known, bound)


@method("shares", kind="bound", preload=SOLVER_LIBRARIES)
def lp(instance: Instance, run: Run) -> Claim:
    """The linear program's bound, from its duals; of finish times at the value of `isolated`.

    Where a limit stops it, the bound is that of the GPUs of all types together.
    """
    at = value_of(instance, isolated(instance))
    bound = pooled(instance, at)
    if not run.stop_reason():
        solved = optimize(model.build(instance, at), run)
        bound = min(bound, solved.bound) if solved else bound
    ended = run.stop_reason() or Termination.BOUND_ONLY
    stated = Bound(bound, "certified", "lp")
    return Claim(status=Status.NO_SOLUTION, termination=ended, bounds=[[stated]])


def refined(instance: Instance) -> Any:
    """Return the model whose value is the optimum, of finish times as well."""
    best: Any = milp(instance, Run()).solution
    return model.build(instance, value_of(instance, best))


class Solved(NamedTuple):
    """An optimum, whose values the model's variables have: its form, duals and certified bound."""

    form: StandardForm
    duals: Vector
    bound: Fraction


def optimize(built: Any, run: Run) -> Solved | None:
    """Solve a linear program; ``None`` if HiGHS was stopped or did not succeed."""
    form = compile_model(built)
    outcome = highs.solve(form, 0, run, relax=True, options=_PRECISE)
    if outcome.values is None or outcome.duals is None:
        return None
    bound = dual_bound(form, 0, outcome.duals)
    for variable, found in zip(form.variables, outcome.values.tolist(), strict=True):
        variable.set_value(found, skip_validation=True)
    return None if bound is None else Solved(form, outcome.duals, Fraction(bound))


def claim_of(instance: Instance, run: Run, known: Solution, bound: Fraction) -> Claim:
    """Return what a solution and a bound on its value are worth."""
    stated = Bound(bound, "certified", "lp")
    if at_bound(value_of(instance, known), stated):
        return Claim(known, status=Status.OPTIMAL, bounds=[[stated]])
    return Claim(known, Status.FEASIBLE, bounds=[[stated]], termination=run.stop_reason())


@method("shares", kind="exact", preload=SOLVER_LIBRARIES)
def water_filling(instance: Instance, run: Run) -> Claim:
    """One linear program a round. Exact because the first round is `milp`; others keep its level.

    A kind of jobs whose row has a positive dual is at the level in every optimum, by complementary
    slackness: it is held there, and the next round maximises the least value of the others. The
    authors' public code finds such jobs by an integer program.
    """
    if instance.objective not in ("max_min", "makespan"):
        raise OptionError(f"water filling is not for the objective {instance.objective}; use milp")
    built = model.build(instance)
    bound = pooled(instance, Fraction(0))
    solution = isolated(instance)
    while (solved := optimize(built, run)) is not None:
        bound = bound if built.HELD else min(bound, solved.bound)
        prices = _prices(built, solved)
        level = Fraction(built.UNIT) * Fraction(built.level.value) * _KEPT
        solution = model.read(instance, built)
        reached = [c for c, price in prices.items() if price > _POSITIVE * sum(prices.values())]
        for c in reached:
            built.HELD[c] = level
            row = built.least[c]
            row.set_value(row.body - built.level + float(level / Fraction(built.UNIT)) <= 0)
        built.level.setub(model.NEGLIGIBLE)  # no job with a row has more
        if not reached or len(built.HELD) == len(built.least):
            break
    start: Any = run.start or run.known or solution
    if value_of(instance, start) > value_of(instance, solution) * (1 + 2 * (1 - _KEPT)):
        solution = start  # the program was not solved
    return claim_of(instance, run, solution, bound)


def _prices(built: Any, solved: Solved) -> dict[str, float]:
    """Return the duals of the rows at the common level, by kind."""
    rows = zip(solved.form.constraints, np.abs(solved.duals).tolist(), strict=True)
    named = ((row.index(), price) for row, price in rows if row.parent_component() is built.least)
    return {c: price for c, price in named if c not in built.HELD}


def choices(instance: Instance, solution: Solution, level: int, run: Run) -> Iterator[FormChoice]:
    """Yield the form with tangents at the solution's value; without finish times 0 does as well."""
    timed = instance.objective == "finish_time"
    at = value_of(instance, solution) if timed else 0
    yield FormChoice("tangents", {"at": str(at)})

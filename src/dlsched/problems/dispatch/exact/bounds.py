"""Bounds for dispatch, level by level, from the aggregated program."""

from __future__ import annotations

from dlsched.problems.dispatch.definition.schema import Instance
from dlsched.problems.dispatch.programs.aggregated_program import Aggregate
from dlsched.registry.own import method
from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run, Stage
from dlsched.schema import Number
from dlsched.solvers import highs
from dlsched.solvers.certificate import claimed_bound, dual_bound, round_to_granularity
from dlsched.solvers.outcome import Outcome
from dlsched.solvers.standard_form import StandardForm


@method("dispatch", kind="bound", preload=("highspy", "scipy.sparse"))
def lp(instance: Instance, run: Run) -> Claim:
    """Linear relaxation of the aggregated program, each level certified from its duals.

    Machines of a cluster with equal capacity are one pool. A level is bounded with the earlier ones
    held at their bounds.
    """
    return _bounds(instance, run, integer=False)


@method("dispatch", kind="bound", preload=("highspy", "scipy.sparse"))
def aggregated(instance: Instance, run: Run) -> Claim:
    """The aggregated program with whole workloads and victims; stronger and slower than lp.

    The bounds of the integer program are claimed, those of its relaxation certified.
    """
    return _bounds(instance, run, integer=True)


def _bounds(instance: Instance, run: Run, integer: bool) -> Claim:
    run.announce(Stage.BUILDING, f"the aggregated program of {instance.name}")
    program = Aggregate(instance)
    form = program.form(program.decisions if integer else ())
    bounds: list[list[Bound]] = []
    termination = Termination.BOUND_ONLY
    for level in range(len(form.costs)):
        if not form.costs[level].any():
            bounds.append([Bound(0, "certified", "a constant level")])
            continue
        found, held, ended = _level(form, level, run, integer)
        bounds.append(found)
        if held is None:
            termination = ended or termination
            break
        form = form.held(level, held)
    return Claim(status=Status.NO_SOLUTION, termination=termination, bounds=bounds)


def _level(
    form: StandardForm, level: int, run: Run, integer: bool
) -> tuple[list[Bound], float | None, Termination | None]:
    """Return the bounds of one level, the value to hold, and the limit that ended it, if any.

    The integer program's value is held, which its bound may exceed by the slack.
    """
    sense, grain = form.senses[level], form.granularities[level]
    relaxed = highs.solve(form, level, run, relax=True)
    found: list[Bound] = []
    if relaxed.duals is not None:
        value: Number | None = dual_bound(form, level, relaxed.duals)
        if value is not None:
            rounded = round_to_granularity(value, grain, sense)
            found.append(Bound(rounded, "certified", "dual vector of the LP"))
    if relaxed.status is not Status.OPTIMAL:
        return found, None, _end(relaxed)
    if not integer:
        return found, float(found[0].value) if found else None, None
    outcome = highs.solve(form, level, run.nested())
    if outcome.bound is not None:
        found.append(Bound(claimed_bound(form, level, outcome.bound), "claimed", "highs"))
    if outcome.status is not Status.OPTIMAL:
        return found, None, _end(outcome)
    return found, outcome.objective, None


def _end(outcome: Outcome) -> Termination:
    """Return why a level is not solved; the program itself has a solution, to start nothing."""
    infeasible = outcome.status is Status.INFEASIBLE
    return Termination.TOLERANCES if infeasible else outcome.termination

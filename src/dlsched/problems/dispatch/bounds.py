"""Bounds for dispatch, level by level, from the aggregated program."""

from __future__ import annotations

from fractions import Fraction

from dlsched.objective import Bound
from dlsched.problems.dispatch.aggregate import Aggregate
from dlsched.problems.dispatch.schema import Instance
from dlsched.registry import method
from dlsched.result import Claim, Status, Termination
from dlsched.run import Run, Stage
from dlsched.schema import Number
from dlsched.solvers import highs
from dlsched.solvers.certificate import dual_bound, round_to_granularity
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
    form = Aggregate(instance).form(integer)
    bounds: list[list[Bound]] = []
    termination = Termination.BOUND_ONLY
    for level in range(len(form.costs)):
        found, ended = _level(form, level, run, integer)
        bounds.append(found)
        if ended is not None or not found:
            termination = ended or termination
            break
        strongest = (min if form.senses[level] == "max" else max)(b.value for b in found)
        if form.costs[level].any():
            form = form.held(level, float(strongest))
    return Claim(status=Status.NO_SOLUTION, termination=termination, bounds=bounds)


def _level(
    form: StandardForm, level: int, run: Run, integer: bool
) -> tuple[list[Bound], Termination | None]:
    """Return the bounds of one level, and the limit that ended it, if any."""
    if not form.costs[level].any():
        return [Bound(0, "certified", "a constant level")], None
    sense, grain = form.senses[level], form.granularities[level]
    relaxed = highs.solve(form, level, run, relax=True)
    found = []
    if relaxed.duals is not None:
        value: Number | None = dual_bound(form, level, relaxed.duals)
        if value is not None:
            rounded = round_to_granularity(value, grain, sense)
            found.append(Bound(rounded, "certified", "dual vector of the LP"))
    if relaxed.status is not Status.OPTIMAL:
        return found, relaxed.termination
    if not integer:
        return found, None
    outcome = highs.solve(form, level, run, quiet=True)
    if outcome.bound is not None:
        slack = 1e-6 * max(1.0, abs(outcome.bound))
        weak = outcome.bound + (slack if sense == "max" else -slack)
        # Exact for levels of whole jobs; others keep the slack.
        rounded = round_to_granularity(Fraction(weak), grain, sense)
        found.append(Bound(rounded, "claimed", "highs"))
    return found, None if outcome.status is Status.OPTIMAL else outcome.termination

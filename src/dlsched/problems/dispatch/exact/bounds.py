"""Bounds for dispatch, level by level."""

from __future__ import annotations

from collections.abc import Sequence

from dlsched.problems.dispatch.definition.schema import Instance
from dlsched.problems.dispatch.programs.aggregated_program import Aggregate
from dlsched.problems.dispatch.structures.fleet import Barred
from dlsched.registry.own import method
from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run, Stage
from dlsched.schema import Number
from dlsched.solvers import highs
from dlsched.solvers.certificate import dual_bound, round_to_granularity


@method("dispatch", kind="bound", preload=("highspy", "scipy.sparse"))
def lp(instance: Instance, run: Run) -> Claim:
    """Linear relaxation of the aggregated program, each level certified from its duals.

    Machines of a cluster with equal capacity are one pool. A level is bounded with the earlier ones
    held at their bounds.
    """
    return bounds_of(instance, run)


def bounds_of(
    instance: Instance,
    run: Run,
    barred: Barred | None = None,
    known: Sequence[Number | float] = (),
) -> Claim:
    """Bound the levels in turn, under a rule if there is one.

    Parameters
    ----------
    known
        Bounds of the first levels, which are held; those of later ones are returned.
    """
    run.announce(Stage.BUILDING, f"the aggregated program of {instance.name}")
    form = Aggregate(instance, barred).form(whole=False)
    bounds: list[list[Bound]] = []
    termination = Termination.BOUND_ONLY
    for level, costs in enumerate(form.costs):
        of_level: list[Bound] = []
        bounds.append(of_level)
        if level < len(known):
            form = form.held(level, float(known[level])) if costs.any() else form
            continue
        if not costs.any():
            of_level.append(Bound(0, "certified", "a constant level"))
            continue
        outcome = highs.solve(form, level, run, relax=True)
        value = None if outcome.duals is None else dual_bound(form, level, outcome.duals)
        if value is not None:
            value = round_to_granularity(value, form.granularities[level], form.senses[level])
            of_level.append(Bound(value, "certified", "dual vector of the LP"))
        if outcome.status is not Status.OPTIMAL:
            infeasible = outcome.status is Status.INFEASIBLE  # but to start nothing is feasible
            termination = Termination.TOLERANCES if infeasible else outcome.termination
            break
        if value is None:
            break
        form = form.held(level, float(value))
    return Claim(status=Status.NO_SOLUTION, termination=termination, bounds=bounds)

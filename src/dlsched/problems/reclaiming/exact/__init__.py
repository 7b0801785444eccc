"""The exact method for reclaiming, the integer program, and bounds on the preempted weight."""

from dataclasses import replace

from dlsched.problems.reclaiming import model
from dlsched.problems.reclaiming.definition.schema import Instance, Solution
from dlsched.problems.reclaiming.heuristics.densest import densest
from dlsched.problems.reclaiming.programs.reduced import Reduced
from dlsched.problems.reclaiming.programs.spectral import is_scattered, preempted_weight
from dlsched.registry.own import method
from dlsched.results.objective import Bound
from dlsched.results.result import Claim
from dlsched.run import Run, Stage
from dlsched.schema import granularity
from dlsched.solvers.certificate import round_to_granularity
from dlsched.solvers.division import PARTS
from dlsched.solvers.levels import SOLVER_LIBRARIES, relax_first_level, solve_levels


@method("reclaiming", kind="bound", preload=SOLVER_LIBRARIES)
def lp(instance: Instance, run: Run) -> Claim:
    """Linear relaxation of level 1, certified from its duals and rounded to a multiple."""
    return relax_first_level(instance, run, model)


@method("reclaiming", kind="bound", preload=SOLVER_LIBRARIES)
def spectral(instance: Instance, run: Run) -> Claim:
    """Bound by eigenvalues where most of the weight is in jobs on three servers or more, and `lp`.

    Such a job runs on only if all its servers stay, which a quadratic form bounds; the largest form
    on a sphere is a bound, re-checked in whole numbers. Elsewhere the bound is that of `lp` alone.
    """
    limit = run.time_limit or float("inf")
    bounds = _by_eigenvalues(instance, run.nested(limit * (PARTS - 1) / PARTS))
    return _with_bounds(lp(instance, run), bounds)


def _by_eigenvalues(instance: Instance, run: Run) -> list[Bound]:
    """Return the bound of level 1 by eigenvalues, where it can be the stronger one."""
    if not is_scattered(instance):
        return []
    run.announce(Stage.SEARCHING, "a bound by eigenvalues")
    least = preempted_weight(instance, run)
    if least is None:
        return []
    based = zip(instance.weights, instance.base_servers, strict=True)
    step = granularity(weight for weight, base in based if base and weight)
    return [Bound(round_to_granularity(least, step, "min"), "certified", "eigenvalues")]


def _with_bounds(claim: Claim, bounds: list[Bound]) -> Claim:
    """Add bounds of level 1."""
    first, *others = claim.bounds or [[]]
    return replace(claim, bounds=[[*first, *bounds], *others])


@method("reclaiming", kind="exact", preload=SOLVER_LIBRARIES, begins_with="spectral")
def milp(instance: Instance, run: Run, levels: int = 2) -> Claim:
    """Integer program: first the preempted weight, then, held at its optimum, the collateral.

    Exact because solutions of the model and of the instance correspond (models/reclaiming.md) and
    branch and bound searches all of them except those that preempt a job heavier than the whole
    preempted weight of `densest`, or of the start. The certified bound comes from the relaxation's
    duals, or with a limit, of which it takes up to a third, from `spectral`. If the weights add up
    to more than about 400,000 multiples of their greatest common divisor, the solver's tolerances
    can leave a gap of about 1e-9, which is stated.

    Parameters
    ----------
    levels
        1 to stop after the preempted weight.
    """
    known = run.start or run.known
    weighted = len(set(instance.weights)) > 1
    if known is None and weighted and instance.demand <= len(instance.servers):
        known = densest(instance, run)
    bounds = []
    if run.time_limit is not None:  # without a limit the search itself proves what can be
        bounds = _by_eigenvalues(instance, run.nested(run.time_limit / PARTS))
    reduced = Reduced.by(instance, known) if isinstance(known, Solution) else Reduced()
    return _with_bounds(solve_levels(instance, run, reduced, levels), bounds)

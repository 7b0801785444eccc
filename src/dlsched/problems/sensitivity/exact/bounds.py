"""Bounds `pooled` and `synergy_opt` (Synergy, section 4.1); the prices' is `Lagrangian`."""

from dlsched.errors import SolverFailure
from dlsched.problems.sensitivity.definition.schema import Instance
from dlsched.problems.sensitivity.programs.cvxpy_reference import (
    solver_version,
    stage_one,
    stage_two,
    time_limit,
)
from dlsched.problems.sensitivity.programs.pooled import pooled_bounds, split_bound
from dlsched.registry.own import method
from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.solvers import highs

_MOST_PAIRS = 100_000
"""Upper limit of pairs of server and job for stage two, a dense linear program over them."""


@method("sensitivity", kind="bound", preload=("highspy", "scipy.sparse"))
def pooled(instance: Instance, run: Run) -> Claim:
    """Stage one on all servers' CPUs and memory together, a bound by Theorem 4.1.

    Jobs of one profile are one type, dominated choices are dropped. The certified bound is that of
    the relaxation, re-checked from its duals; the claimed one is the integer optimum.
    """
    return Claim(
        status=Status.NO_SOLUTION, bounds=[pooled_bounds(instance, run), [split_bound(instance)]]
    )


@method("sensitivity", kind="reference", preload=("cvxpy", "scipy.sparse"))
def synergy_opt(instance: Instance, run: Run) -> Claim:
    """Synergy-OPT's two stages as the paper states them; a bound and fragments, no solution.

    Stage one without aggregation, by the run's solver (``"highs"``, ``"scip"`` or ``"glpk"``) with
    what is left of the time limit. Then the linear program of stage two by HiGHS, whose fractional
    placement need not be whole GPUs.
    `stage_one` and `stage_two` of `programs.cvxpy_reference` return allocation and placement.
    """
    if not instance.jobs:
        return Claim(status=Status.NO_SOLUTION, reason="there are no jobs")
    try:
        first = stage_one(instance, run.solver, **time_limit(run.solver, run.remaining()))
    except SolverFailure:
        if stopped := run.stop_reason():
            reason = f"{stopped.sentence} in stage one, without a solution of it"
            return Claim(status=Status.NO_SOLUTION, termination=stopped, reason=reason)
        raise
    run.record_solver(run.solver, solver_version(run.solver))
    pairs = instance.servers.count * len(instance.jobs)
    reason = f"stage one: throughput {first.throughput:g} over {first.variables} variables"
    bounds = []
    if first.optimal:
        bounds.append(Bound(first.throughput, "claimed", f"{run.solver}, stage one"))
    stopped = run.stop_reason()
    if stopped or pairs > _MOST_PAIRS:
        reason += f"; stage two omitted, {pairs} pairs of server and job"
    else:
        fragments = stage_two(instance, first).fragmented
        most = 3 * instance.servers.count
        run.record_solver(highs.NAME, highs.version())
        reason += f"; stage two: {fragments} jobs fragmented, at a vertex at most {most}"
    return Claim(
        status=Status.NO_SOLUTION,
        termination=stopped or Termination.BOUND_ONLY,
        reason=reason,
        bounds=[bounds, []],
    )

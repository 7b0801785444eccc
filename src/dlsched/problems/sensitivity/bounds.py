"""Bounds for sensitivity: the cluster as one machine (Synergy, section 4.1)."""

from __future__ import annotations

from dlsched.objective import Bound
from dlsched.problems.sensitivity.pooled import solve_pooled
from dlsched.problems.sensitivity.schema import Instance
from dlsched.registry import method
from dlsched.result import Claim, Status
from dlsched.run import Run


@method("sensitivity", kind="bound", preload=(".pooled",))
def pooled(instance: Instance, run: Run) -> Claim:
    """Stage one over one super-machine, which no placement can beat (Theorem 4.1).

    Jobs of one profile are one type, dominated choices are dropped. The certified bound is the
    relaxation's, re-checked from its two prices; the claimed one the integer optimum.
    """
    certified, claimed = solve_pooled(instance, run)
    bounds = [Bound(certified, "certified", "prices of pooled CPUs and memory")]
    if claimed is not None:
        bounds.append(Bound(claimed, "claimed", "highs on the pooled cluster"))
    most = instance.servers.gpus
    larger = sum(instance.profile(job).gpus > most for job in instance.jobs)
    forced = 0 if instance.may_wait else larger
    return Claim(
        status=Status.NO_SOLUTION,
        reason=run.stop_reason() or "bound only",
        bounds=[bounds, [Bound(forced, "certified", "jobs larger than a server")]],
    )


@method("sensitivity", kind="reference", preload=(".reference",))
def synergy_opt(instance: Instance, run: Run) -> Claim:
    """Synergy-OPT's two stages as the paper has them; a bound and fragments, no solution.

    Stage one without aggregation, then the linear program of stage two, whose fractional placement
    need not be whole GPUs. See `reference`, whose functions return allocation and placement. Stage
    one is solved by the run's solver: ``"highs"``, ``"scip"`` or ``"glpk"``.
    """
    from dlsched.problems.sensitivity.reference import stage_one, stage_two

    if not instance.jobs:
        return Claim(status=Status.NO_SOLUTION, reason="there are no jobs")
    first = stage_one(instance, run.solver)
    pairs = instance.servers.count * len(instance.jobs)
    said = f"stage one: throughput {first.throughput:g} over {first.variables} variables"
    bounds = []
    if first.optimal:
        bounds.append(Bound(first.throughput, "claimed", f"{run.solver}, stage one"))
    if pairs > _MOST_PAIRS or run.stop_reason():
        said += f"; stage two left out, {pairs} pairs of server and job"
    else:
        fragments, most = stage_two(instance, first).fragmented, 3 * instance.servers.count
        said += f"; stage two: {fragments} jobs fragmented, at a vertex at most {most}"
    return Claim(status=Status.NO_SOLUTION, reason=said, bounds=[bounds, []])


_MOST_PAIRS = 100_000
"""Stage two is a dense linear program over pairs of server and job."""

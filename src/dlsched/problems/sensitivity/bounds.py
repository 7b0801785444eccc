"""Bounds for sensitivity: the cluster as one machine (Synergy, section 4.1)."""

from __future__ import annotations

from dlsched.problem import method
from dlsched.problems.sensitivity.pooled import solve_pooled
from dlsched.problems.sensitivity.schema import Instance
from dlsched.result import Bound, Claim, Status
from dlsched.run import Run


@method("sensitivity", kind="bound", compiled="pooled")
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
    forced = sum(instance.profile(job).gpus > most for job in instance.jobs)
    return Claim(
        status=Status.NO_SOLUTION,
        reason=run.stop_reason() or "bound only",
        bounds=[bounds, [Bound(forced, "certified", "jobs larger than a server")]],
        solver="highs",
    )

"""The smallest total duration: the fewest slots in which every job can finish."""

from bisect import bisect_left
from typing import Any

from dlsched.errors import DlschedError, SolverDisagreement
from dlsched.problems.utility.definition.check import check, explain
from dlsched.problems.utility.definition.schema import Instance
from dlsched.problems.utility.exact import solve_model
from dlsched.results.result import Status
from dlsched.run import Run


def total_duration(instance: Instance, time_limit: float | None = None) -> int | None:
    """Return the fewest slots in which all jobs finish; ``None`` if the horizon is too short.

    By bisection over the horizon; `milp` decides each one, with `must_finish` (P1).

    Parameters
    ----------
    time_limit
        Seconds for each of the programs.

    Raises
    ------
    DlschedError
        If one of the programs could not be decided in time.
    SolverDisagreement
        If the checker rejects a program's schedule.
    """

    def possible(slots: int) -> bool:
        if any(job.arrival > slots for job in instance.jobs):
            return False
        changes = {
            "slots": slots,
            "must_finish": True,
            "utility": instance.utility.model_copy(update={"kind": "linear"}),
            "jobs": tuple(job.model_copy(update={"utilities": None}) for job in instance.jobs),
        }
        shorter = instance.model_copy(update=changes)
        if explain(shorter):
            return False
        claim = solve_model(shorter, Run(time_limit, gap=0.999))
        found: Any = claim.solution
        if found is None and claim.status is not Status.INFEASIBLE:
            ended = claim.reason or claim.termination
            raise DlschedError(f"{instance.name} in {slots} slots: {ended}")
        if found is not None and not check(shorter, found).feasible:
            raise SolverDisagreement(f"{instance.name} in {slots} slots: an infeasible schedule")
        return found is not None

    fewest = 1 + bisect_left(range(1, instance.slots + 1), True, key=possible)
    return fewest if fewest <= instance.slots else None

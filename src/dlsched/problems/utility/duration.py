"""The smallest total duration: in how few slots every job can finish."""

from __future__ import annotations

from dlsched.errors import DlschedError
from dlsched.problems.utility.schema import Instance


def total_duration(instance: Instance, time_limit: float | None = None) -> int | None:
    """Return the fewest slots in which all jobs finish; ``None`` if the horizon is too short.

    By bisection over the horizon, each decided by `milp` with every job to finish (P1).

    Parameters
    ----------
    time_limit
        Seconds for each of the programs.

    Raises
    ------
    DlschedError
        If one of the programs could not be decided in time.
    """
    import dlsched

    def possible(slots: int) -> bool:
        if any(job.arrival > slots for job in instance.jobs):
            return False
        jobs = tuple(job.model_copy(update={"utilities": None}) for job in instance.jobs)
        shorter = instance.model_copy(
            update={
                "slots": slots,
                "must_finish": True,
                "utility": instance.utility.model_copy(update={"kind": "linear"}),
                "jobs": jobs,
            }
        )
        result = dlsched.solve(shorter, "milp", time_limit=time_limit, gap=0.999)
        if result.solution is None and result.status != "infeasible":
            raise DlschedError(f"{instance.name} in {slots} slots: {result.reason}")
        return result.solution is not None

    low, high = 0, instance.slots
    if not possible(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if possible(middle) else (middle, high)
    return high

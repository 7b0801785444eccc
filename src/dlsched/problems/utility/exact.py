"""Exact methods for utility: the integer program, and Dantzig-Wolfe over the jobs' schedules."""

from __future__ import annotations

import time
from typing import Any

from dlsched.problems.utility.schema import Instance
from dlsched.registry import method
from dlsched.result import Claim, Start, Status
from dlsched.run import Run
from dlsched.solvers.levels import SOLVER_LIBRARIES, solve_levels

MOST_RUNS = 1_500
"""Up to so many triples of job, slot and speed the integer program is tried first."""
_COMPILING = 1.0
"""Pyomo takes about this share of the time for building to turn a model into arrays."""


def choose(instance: Instance) -> str:
    """Return the exact method for an instance: `milp` where it is small, or forking."""
    runs = sum(
        (instance.slots - job.arrival + 1) * len(speeds)
        for job, speeds in zip(instance.jobs, instance.speeds, strict=True)
    )
    return "milp" if instance.forking or runs <= MOST_RUNS else "dantzig_wolfe"


@method("utility", kind="exact", preload=SOLVER_LIBRARIES)
def milp(instance: Instance, run: Run) -> Claim:
    """Integer program: when each job runs, at which speed, and when it is complete.

    Exact because machines matter only through their GPUs of each type, and gangs fit on these if
    and only if Hall's condition holds, whose rows the program has (models/utility.md).
    """
    return solve_model(instance, run)


def solve_model(instance: Instance, run: Run) -> Claim:
    """Solve the integer program within the run's limits, building included."""
    from dlsched.problems.utility import model

    try:
        return solve_levels(instance, run, _Building(run), 1)
    except model.Stopped as error:
        reason = f"{error} while the integer program was built"
        if run.start is not None:
            return Claim(solution=run.start, reason=reason, start=Start(True, "as it was given"))
        return Claim(status=Status.NO_SOLUTION, reason=reason)


class _Building:
    """The model's module, with a `build` that ends at the run's limits."""

    def __init__(self, run: Run) -> None:
        from dlsched.problems.utility import model

        self.run, self.read, self.assign, self.module = run, model.read, model.assign, model

    def build(self, instance: Instance) -> Any:
        began = time.perf_counter()
        built = self.module.build(instance, self.run.stop_reason)
        spent = time.perf_counter() - began
        if _COMPILING * spent > self.run.remaining():
            raise self.module.Stopped("time limit")
        return built


@method("utility", kind="exact", preload=(".columns",))
def dantzig_wolfe(instance: Instance, run: Run) -> Claim:
    """Columns are the jobs' schedules, priced by one dynamic program for all finish slots at once.

    The prices' bound is re-checked by one pricing pass, `priced_bound`; the incumbent comes from
    insertion with neighbourhoods and from the integer master over the columns met. It is exact
    where the two meet, and else returns the certified gap. A job's work is rounded up to whole
    units for the bound, and down for schedules, so both are on the safe side.
    """
    from dlsched.problems.utility.columns import search

    return search(instance, run, "dantzig_wolfe")

"""Exact methods for utility: the integer program, and Dantzig-Wolfe over the jobs' schedules."""

from __future__ import annotations

from dlsched.problem import method
from dlsched.problems.utility.schema import Instance
from dlsched.result import Claim
from dlsched.run import Run
from dlsched.solvers.levels import solve_levels

MOST_RUNS = 1_500
"""Up to so many triples of job, slot and speed the integer program is tried first."""


def choose(instance: Instance) -> str:
    """Return the exact method for an instance: `milp` where it is small, or forking."""
    runs = sum(
        (instance.slots - job.arrival + 1) * len(speeds)
        for job, speeds in zip(instance.jobs, instance.speeds, strict=True)
    )
    return "milp" if instance.forking or runs <= MOST_RUNS else "dantzig_wolfe"


@method("utility", kind="exact", model=True)
def milp(instance: Instance, run: Run) -> Claim:
    """Integer program: when each job runs, at which speed, and when it is complete.

    Exact because machines matter only through their GPUs of each type, and gangs fit on these if
    and only if Hall's condition holds, whose rows the program has (models/utility.md).
    """
    from dlsched.problems.utility import model

    return solve_levels(instance, run, model, 1)


@method("utility", kind="exact", compiled="columns")
def dantzig_wolfe(instance: Instance, run: Run) -> Claim:
    """Columns are the jobs' schedules, priced by one dynamic program for all finish slots at once.

    The prices' bound is re-checked by one pricing pass, `priced_bound`; the incumbent comes from
    insertion with neighbourhoods and from the integer master over the columns met. It is exact
    where the two meet, and else returns the certified gap. A job's work is rounded up to whole
    units for the bound, and down for schedules, so both are on the safe side.
    """
    from dlsched.problems.utility.columns import search

    return search(instance, run, "dantzig_wolfe")

"""Variants in which jobs may run only in some slots and at some speeds, by Dantzig-Wolfe."""

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.utility.definition.schema import Instance
from dlsched.problems.utility.exact import bound_of, solve_barred
from dlsched.problems.utility.exact.schedule_columns import ScheduleSearch
from dlsched.problems.utility.structures.gangs import Barred
from dlsched.problems.utility.variant.allow import Allow, require_form
from dlsched.results.result import Claim
from dlsched.run import Run
from dlsched.solvers.levels import SOLVER_LIBRARIES

PRELOAD = SOLVER_LIBRARIES


def solve_allowed(instance: Instance, run: Run, allow: Allow) -> Claim:
    """Dantzig-Wolfe over the schedules whose runs are allowed.

    Exact as `dantzig_wolfe` is: pricing, insertion and the integer program have only these runs.
    """
    return solve_barred(instance, run, barred(instance, allow))


def bound_allowed(instance: Instance, run: Run, allow: Allow) -> Claim:
    """Least bound by prices of these schedules that the master's periods give."""
    return bound_of(ScheduleSearch(instance, run, barred(instance, allow)))


def barred(instance: Instance, allow: Allow) -> Barred:
    """Return, jobs x slots x speeds, what is not allowed.

    Raises
    ------
    OptionError
        If a speed is allowed and a faster one is not, as a gang may always get faster GPUs.
    """
    require_form(instance)
    most = max(1, max(map(len, instance.speeds), default=0))
    result = np.zeros((len(instance.jobs), instance.slots, most), dtype=np.bool_)
    for j, job in enumerate(instance.jobs):
        for slot in range(job.arrival, instance.slots + 1):
            may = [allow(instance, job, slot, speed) for speed in instance.speeds[j]]
            result[j, slot - 1, : len(may)] = np.logical_not(may)
            if may != sorted(may, reverse=True):
                v = may.index(False)
                raise OptionError(
                    f"allow: job {job.id} may run in slot {slot} at a speed slower than "
                    f"{float(instance.speeds[j][v].gain):g} iterations a slot, but not at that; a "
                    f"gang may always get faster GPUs, so allow faster speeds, too, or state the "
                    f"rule by constrain"
                )
    return result

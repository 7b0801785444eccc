"""First prices, from a linear program over the periods in which jobs may finish.

``z[j, v, p]`` is the part of job j that finishes in period p and runs at speed v only. It is worth
the utility at the first slot of the period in which it can finish, and takes the GPU slots of all
its work. At most one schedule of each job, and by the end of each period, for each set of types of
Hall's condition, no more GPU slots than there are until then:

    maximise sum worth z  with  sum_vp z[j, v, p] <= 1  and  sum_{jv, q <= p} need z <= supply to p

A GPU slot is of use to all that finishes in its period or later, so its price is the sum of the
duals from there to the end. That such prices bound all schedules does not depend on this program.
"""

import numpy as np

from dlsched.errors import SolverFailure
from dlsched.problems.utility.structures.gangs import Gangs
from dlsched.results.result import Termination
from dlsched.run import Run
from dlsched.solvers.arrays import Floats, Ints
from dlsched.solvers.incremental import IncrementalProgram


def prices_of_finishes(gangs: Gangs, run: Run, cuts: Ints) -> Floats | None:
    """Return prices by slot and type; ``None`` if a limit struck, or the solver failed.

    Parameters
    ----------
    cuts
        The first slots of the periods, and the end.
    """
    from scipy import sparse

    width, periods = len(gangs.sets), len(cuts) - 1
    slots_needed = _slots_needed(gangs)
    earliest = gangs.first[:, None] + slots_needed - 1
    in_time = (slots_needed > 0)[:, :, None] & (earliest[:, :, None] < cuts[1:])
    job, speed, period = np.nonzero(in_time)
    finish = np.maximum(cuts[period], earliest[job, speed])
    gpu_slots = (gangs.workers[job] * slots_needed[job, speed]).astype(float)
    column, limit = np.nonzero(gangs.within[gangs.mask_of_speed[job, speed]])
    rows, columns = [periods * width + job], [np.arange(len(job))]
    for p in range(periods):
        by_then = period[column] <= p
        rows.append(p * width + limit[by_then])
        columns.append(column[by_then])
    places = np.concatenate(rows), np.concatenate(columns)
    entries = np.append(np.ones(len(job)), gpu_slots[places[1][len(job) :]])
    supply = np.outer(cuts[1:], gangs.capacity).ravel()
    upper = np.append(supply, np.ones(len(gangs.workers))).astype(float)
    A = sparse.csc_array(sparse.coo_array((entries, places), shape=(len(upper), len(job))))
    program = IncrementalProgram(run, maximize=True)
    program.add_rows(np.full(len(upper), -np.inf), upper)
    program.add_columns(gangs.worth[job, finish], A)
    try:
        solved = program.solve() is Termination.PROVED
    except SolverFailure:  # prices of any origin will do
        solved = False
    if not solved:
        return None
    duals = np.maximum(0.0, program.duals[: periods * width]).reshape(periods, width)
    until_end = duals[::-1].cumsum(axis=0)[::-1]
    return np.repeat(gangs.by_type(until_end), np.diff(cuts), axis=0)


def _slots_needed(gangs: Gangs) -> Ints:
    """Return jobs x speeds: the slots that a job takes at one speed; 0 where that is too long."""
    inst = gangs.instance
    needed = np.zeros_like(gangs.mask_of_speed)
    for row, job, speeds in zip(needed, inst.jobs, inst.speeds, strict=True):
        for v, speed in enumerate(speeds):
            slots = -(-job.iterations // speed.gain)
            row[v] = slots if slots <= inst.slots - job.arrival + 1 else 0
    return needed

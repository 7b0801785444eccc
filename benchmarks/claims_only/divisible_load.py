"""The fewest slots that forked jobs (HadarE, section V) take if work is divisible at will."""

import numpy as np
from scipy.optimize import linprog

from dlsched.errors import SolverFailure
from dlsched.problems.utility import Instance


def divisible_load(instance: Instance) -> float:
    """Return the fewest slots in which all work could be done if it were divisible at will.

    A linear program: shares of slots of every machine's GPUs for each job. No forked schedule in
    which all jobs finish is shorter.

    Raises
    ------
    SolverFailure
        If the program has no optimum: some job has no rate anywhere.
    """
    places = [
        (j, m, kind, float(instance.gain(job, job.rates[kind])))
        for j, job in enumerate(instance.jobs)
        for m, machine in enumerate(instance.machines)
        for kind, count in machine.gpus.items()
        if count and job.rates.get(kind)
    ]
    if not instance.jobs:
        return 0.0
    # Columns: slots of each place, then the duration.
    work = np.zeros((len(instance.jobs), len(places) + 1))
    pairs: dict[object, list[int]] = {}
    for c, (j, m, kind, gain) in enumerate(places):
        work[j, c] = -gain / float(instance.jobs[j].iterations)
        pairs.setdefault((m, kind), []).append(c)
        pairs.setdefault((m, j, "job"), []).append(c)
    rows = []
    for key, columns in pairs.items():
        row = np.zeros(len(places) + 1)
        row[columns] = 1
        assert isinstance(key, tuple)
        row[-1] = -1 if len(key) == 3 else -instance.machines[key[0]].gpus[key[1]]
        rows.append(row)
    cost = np.zeros(len(places) + 1)
    cost[-1] = 1
    solved = linprog(
        cost,
        A_ub=np.vstack([work, *rows]),
        b_ub=np.append(-np.ones(len(instance.jobs)), np.zeros(len(rows))),
        method="highs",
    )
    if solved.x is None:
        raise SolverFailure(f"the divisible load has no optimum: {solved.message}")
    return float(solved.x[-1])

"""Gavel's programs as the paper has them, in cvxpy: a variable for every job and pair of jobs.

Written from the paper's definition; it shares nothing with the library but the instance.
"""

from itertools import combinations

import numpy as np
from scipy import sparse

from dlsched.problems.shares import Instance


class AllPairs:
    """Matrices over one variable per job or pair, and type of GPU."""

    def __init__(self, instance: Instance) -> None:
        """Enumerate the variables and fill the matrices."""
        model = {m.id: m for m in instance.models}
        beside = {}
        for pair in instance.pairs:
            beside[(*pair.models, pair.type)] = pair.rates
            beside[(*pair.models[::-1], pair.type)] = pair.rates[::-1]
        jobs, kinds = instance.jobs, list(instance.gpus)
        entries = []  # (type, GPUs, ((job, rate), ...))
        for i, job in enumerate(jobs):
            of = model[job.model]
            for k, kind in enumerate(kinds):
                if instance.gpus[kind] >= of.gpus:
                    entries.append((k, of.gpus, ((i, of.rates.get(kind, 0)),)))
        for (i, a), (j, b) in combinations(enumerate(jobs), 2):
            gpus = model[a.model].gpus
            for k, kind in enumerate(kinds):
                both = beside.get((a.model, b.model, kind))
                if both and instance.gpus[kind] >= gpus:
                    entries.append((k, gpus, ((i, both[0]), (j, both[1]))))
        self.size = len(entries)
        self.time = sparse.lil_array((len(jobs), self.size))
        self.rate = sparse.lil_array((len(jobs), self.size))
        self.used = sparse.lil_array((len(kinds), self.size))
        for v, (k, gpus, sides) in enumerate(entries):
            self.used[k, v] = gpus
            for i, rate in sides:
                self.time[i, v] = 1
                self.rate[i, v] = float(rate)
        self.gpus = np.array([instance.gpus[k] for k in kinds], dtype=float)
        self.scale = np.array([model[job.model].gpus for job in jobs], dtype=float)
        alone = [
            [float(model[job.model].rates.get(k, 0)) * (instance.gpus[k] >= scale) for k in kinds]
            for job, scale in zip(jobs, self.scale, strict=True)
        ]
        self.proportional = np.array(alone) @ self.gpus / self.gpus.sum()


def optimum(instance: Instance) -> float:
    """Return the optimum over all jobs and pairs of jobs, as the level ``value`` has it."""
    import cvxpy as cp

    program = AllPairs(instance)
    x = cp.Variable(program.size)
    speed = program.rate.tocsr() @ x
    weight = np.array([float(job.weight) for job in instance.jobs])
    steps = np.array([float(job.steps or 1) for job in instance.jobs])
    solver = cp.HIGHS
    if instance.objective == "max_min":
        fair = program.scale / (weight * program.proportional)
        objective = cp.Maximize(cp.min(cp.multiply(fair, speed)))
    elif instance.objective == "total":
        objective = cp.Maximize(weight @ speed)
    elif instance.objective == "makespan":
        objective = cp.Maximize(cp.min(cp.multiply(1 / steps, speed)))
    else:
        elapsed = np.array([float(job.elapsed) for job in instance.jobs])
        part = program.gpus.sum() / (len(steps) * program.scale)
        whole = elapsed + steps / (program.proportional * np.minimum(1, part))
        late = [
            (elapsed[j] + steps[j] * cp.inv_pos(speed[j])) / whole[j] for j in range(len(steps))
        ]
        objective, solver = cp.Minimize(cp.max(cp.hstack(late))), cp.CLARABEL
    limits = [x >= 0, program.time.tocsr() @ x <= 1, program.used.tocsr() @ x <= program.gpus]
    problem = cp.Problem(objective, limits)
    problem.solve(solver=solver)
    value = float(problem.value)
    return 1 / value if instance.objective == "finish_time" else value

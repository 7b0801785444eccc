"""The programs as Gavel's paper has them: a variable for every job and every pair of jobs.

Written from the paper's definition; it shares nothing with the library but the rates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import sparse

from dlsched.problems.shares import Job, Rates


class AllPairs:
    """Matrices over one variable per (job or pair, type of GPU)."""

    def __init__(
        self, jobs: Sequence[Job], rates: Rates, gpus: Mapping[str, int], sharing: bool
    ) -> None:
        """Enumerate the variables and fill the matrices."""
        n, kinds = len(jobs), list(gpus)
        entries = []  # (type, GPUs, ((job, rate), ...))
        for i, a in enumerate(jobs):
            for k, gpu in enumerate(kinds):
                if gpus[gpu] >= a.scale:
                    entries.append((k, a.scale, ((i, rates.rate(a.model, a.scale, gpu)),)))
            for j in range(i + 1, n if sharing else i):
                b = jobs[j]
                for k, gpu in enumerate(kinds):
                    both = rates.pair(a.model, b.model, a.scale, gpu)
                    if a.scale == b.scale and both and gpus[gpu] >= a.scale:
                        entries.append((k, a.scale, ((i, both[0]), (j, both[1]))))
        self.size = len(entries)
        self.time = sparse.lil_array((n, self.size))
        self.rate = sparse.lil_array((n, self.size))
        self.used = sparse.lil_array((len(kinds), self.size))
        for v, (k, scale, sides) in enumerate(entries):
            self.used[k, v] = scale
            for i, rate in sides:
                self.time[i, v] = 1
                self.rate[i, v] = float(rate)
        self.gpus = np.array([gpus[k] for k in kinds], dtype=float)
        total = self.gpus.sum()
        alone = [
            [float(rates.rate(j.model, j.scale, k)) if gpus[k] >= j.scale else 0 for k in kinds]
            for j in jobs
        ]
        self.proportional = np.array(alone) @ self.gpus / total
        scale = np.array([j.scale for j in jobs], dtype=float)
        weight = np.array([float(j.weight) for j in jobs])
        self.weight = weight
        self.fair = scale / (weight * self.proportional)
        self.isolated = self.proportional * np.minimum(1, total / (n * scale))

    def constraints(self, x: object) -> list[object]:
        """Return the constraints that all policies have, in cvxpy."""
        return [x >= 0, self.time.tocsr() @ x <= 1, self.used.tocsr() @ x <= self.gpus]


def optimum(
    policy: str, jobs: Sequence[Job], rates: Rates, gpus: Mapping[str, int], sharing: bool
) -> float:
    """Return a policy's optimum over all jobs and pairs of jobs."""
    import cvxpy as cp

    program = AllPairs(jobs, rates, gpus, sharing)
    x = cp.Variable(program.size)
    speed = program.rate.tocsr() @ x
    if policy == "max_min":
        objective = cp.Maximize(cp.min(cp.multiply(program.fair, speed)))
    elif policy == "max_sum_throughput":
        objective = cp.Maximize(program.weight @ speed)
    else:
        steps = np.array([float(job.steps or 0) for job in jobs])
        if policy == "makespan":
            objective = cp.Maximize(cp.min(cp.multiply(1 / steps, speed)))
        else:
            elapsed = np.array([float(job.elapsed) for job in jobs])
            alone = elapsed + steps / program.isolated
            ratios = [
                (elapsed[j] + steps[j] * cp.inv_pos(speed[j])) / alone[j] for j in range(len(jobs))
            ]
            objective = cp.Minimize(cp.maximum(*ratios))
    problem = cp.Problem(objective, program.constraints(x))
    problem.solve(solver=cp.CLARABEL if policy == "finish_time_fairness" else cp.HIGHS)
    value = float(problem.value)
    return 1 / value if policy == "makespan" else value

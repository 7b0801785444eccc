"""Synergy-OPT stated job by job, as the authors' public code states it to cvxpy, for its time.

`dlsched.problems.sensitivity.programs.cvxpy_reference` has the same two programs with one vector of
variables and sparse matrices, which cvxpy prepares much faster.
"""

import cvxpy as cp
import numpy as np

from dlsched.problems.sensitivity import Instance


def synergy_opt_plain(instance: Instance, limit: int, solver: str = "GLPK_MI") -> float:
    """Solve both stages and return the throughput of stage one; nan where `limit` seconds end it.

    Stage one has a boolean matrix for each job, CPUs by memory, with a sum of 1, a throughput of at
    least the proportional share's and explicit bounds; stage two a matrix of fractions, servers by
    jobs, and a constant objective.
    """
    servers = instance.servers
    jobs = [instance.profiles[job.profile] for job in instance.jobs]
    fair = [float(instance.shares[job.profile].throughput) for job in instance.jobs]
    chosen, limits, total = [], [], 0
    cpus, memory = 0, 0
    for profile, share in zip(jobs, fair, strict=True):
        table = np.array([[float(t) for t in row] for row in profile.throughput])
        y = cp.Variable(table.shape, boolean=True)
        rate = cp.sum(cp.multiply(table, y))
        by_cpus = np.array([[float(c)] for c in profile.cpus])
        by_memory = np.array([[float(m) for m in profile.memory]])
        cpus = cpus + profile.gpus * cp.sum(cp.multiply(by_cpus, y))
        memory = memory + profile.gpus * cp.sum(cp.multiply(by_memory, y))
        total = total + rate
        limits += [cp.sum(y) == 1, rate >= share - 1e-9, y >= 0]
        chosen.append((y, by_cpus, by_memory))
    limits += [
        cpus <= float(servers.count * servers.cpus),
        memory <= float(servers.count * servers.memory),
    ]
    program = cp.Problem(cp.Maximize(total), limits)
    try:
        program.solve(solver=solver, tm_lim=1000 * limit)
    except cp.SolverError:
        return float("nan")
    if program.status != cp.OPTIMAL:
        return float("nan")
    demands = np.array(
        [
            [p.gpus, p.gpus * float((c * y.value).sum()), p.gpus * float((m * y.value).sum())]
            for p, (y, c, m) in zip(jobs, chosen, strict=True)
        ]
    )
    x = cp.Variable((servers.count, len(jobs)))
    sizes = (servers.gpus, float(servers.cpus), float(servers.memory))
    placed = [
        cp.sum(cp.multiply(demands[:, r][None, :], x), axis=1) <= size + 1e-6
        for r, size in enumerate(sizes)
    ]
    second = cp.Problem(cp.Minimize(1), [*placed, cp.sum(x, axis=0) == 1, x >= 0])
    second.solve(solver=solver)
    if second.status != cp.OPTIMAL:
        raise RuntimeError(f"stage two: {second.status}")
    return float(program.value)

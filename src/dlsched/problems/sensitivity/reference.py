"""Synergy-OPT as the paper states it (section 4.1), in cvxpy: no types, no patterns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dlsched.errors import OptionError, SolverFailure, SolverMissing
from dlsched.problems.sensitivity.schema import Choice, Instance

SOLVERS = {"highs": "HIGHS", "scip": "SCIP", "glpk": "GLPK_MI"}
"""Names that cvxpy has for the solvers of stage one; GLPK comes with the optional extra `glpk`."""
_POSITIVE = 1e-7


@dataclass(frozen=True)
class StageOne:
    """The ideal allocation on pooled servers: each job's choice, and the sum of throughput."""

    choices: tuple[Choice, ...]
    throughput: float
    variables: int
    optimal: bool


@dataclass(frozen=True)
class StageTwo:
    """The fractional placement, servers x jobs: the share of each job on each server.

    It is no feasible solution: nothing says that a share is a whole number of GPUs.
    """

    placement: NDArray[np.float64]

    @property
    def fragmented(self) -> int:
        """Jobs on more than one server."""
        return int(((self.placement > _POSITIVE).sum(axis=0) > 1).sum())


def stage_one(instance: Instance, solver: str = "highs", **options: Any) -> StageOne:
    """Choose CPUs and memory for every job on one super-machine.

    A binary variable for each job and each measured choice that is no slower than the proportional
    share; one choice a job; CPUs and memory within the cluster's. Nothing is aggregated.

    Parameters
    ----------
    solver
        ``"highs"``, ``"scip"`` or ``"glpk"``.
    **options
        Passed on to cvxpy's ``solve``.

    Raises
    ------
    SolverMissing
        If cvxpy does not have the solver.
    SolverFailure
        If it finds no solution.
    """
    import cvxpy as cp

    if solver not in SOLVERS:
        raise OptionError(f"solver={solver!r} must be one of {', '.join(SOLVERS)}")
    if SOLVERS[solver] not in cp.installed_solvers():
        raise SolverMissing(f"cvxpy has no {SOLVERS[solver]}: install the extra of {solver}")
    rows = [(j, c) for j, job in enumerate(instance.jobs) for c in instance.choices[job.profile]]
    gpus = np.array([instance.profile(instance.jobs[j]).gpus for j, _ in rows], dtype=float)
    owner = sparse.csr_array(
        (np.ones(len(rows)), ([j for j, _ in rows], range(len(rows)))),
        shape=(len(instance.jobs), len(rows)),
    )
    y = cp.Variable(len(rows), boolean=True)
    servers = instance.servers
    program = cp.Problem(
        cp.Maximize(np.array([float(c.throughput) for _, c in rows]) @ y),
        [
            owner @ y == 1,
            (gpus * [float(c.cpus) for _, c in rows]) @ y <= servers.count * float(servers.cpus),
            (gpus * [float(c.memory) for _, c in rows]) @ y
            <= servers.count * float(servers.memory),
        ],
    )
    program.solve(solver=SOLVERS[solver], **options)
    if y.value is None:
        raise SolverFailure(f"{solver} ended stage one with {program.status}")
    chosen = {rows[i][0]: rows[i][1] for i in np.flatnonzero(y.value > 0.5).tolist()}
    return StageOne(
        choices=tuple(chosen[j] for j in range(len(instance.jobs))),
        throughput=float(sum(c.throughput for c in chosen.values())),
        variables=len(rows),
        optimal=program.status == cp.OPTIMAL,
    )


def stage_two(instance: Instance, first: StageOne) -> StageTwo:
    """Spread the jobs with these choices over the servers in few pieces, by a linear program.

    The least total of shares, each job whole, servers within their GPUs, CPUs and memory. Solved
    by the simplex method: of its rows only three a server are not a job's, so that a vertex leaves
    at most 3 x servers jobs in pieces.

    Raises
    ------
    SolverFailure
        If there is no optimum.
    """
    import cvxpy as cp

    servers, jobs = instance.servers, instance.jobs
    gpus = np.array([float(instance.profile(job).gpus) for job in jobs])
    x = cp.Variable((servers.count, len(jobs)), nonneg=True)
    limits = [cp.sum(x, axis=0) == 1, x @ gpus <= servers.gpus]
    for name in ("cpus", "memory"):
        each = gpus * [float(getattr(c, name)) for c in first.choices]
        limits.append(x @ each <= float(getattr(servers, name)))
    program = cp.Problem(cp.Minimize(cp.sum(x)), limits)
    program.solve(solver=cp.HIGHS, highs_options={"solver": "simplex"})
    if x.value is None:
        raise SolverFailure(f"HiGHS ended stage two with {program.status}")
    return StageTwo(placement=np.asarray(x.value))

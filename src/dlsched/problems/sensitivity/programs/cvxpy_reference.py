"""Synergy-OPT as the paper states it (section 4.1), in cvxpy."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError, SolverFailure, SolverMissing
from dlsched.extras import require
from dlsched.problems.sensitivity.definition.schema import Choice, Instance
from dlsched.problems.sensitivity.structures.scaled_units import row_unit
from dlsched.solvers import highs

SOLVERS = {"highs": "HIGHS", "scip": "SCIP", "glpk": "GLPK_MI"}
"""cvxpy's names of the solvers of stage one; SCIP and GLPK need the extras `scip` and `glpk`."""
_PACKAGES = {"scip": "pyscipopt", "glpk": "cvxopt"}
"""Python packages that contain the solvers."""
_POSITIVE = 1e-7
_LEAST_SECONDS = 1e-6
"""Shortest limit of time for a solver: to some 0 is no limit."""


@dataclass(frozen=True)
class StageOne:
    """The ideal allocation on pooled servers: each job's choice, ``None`` if it waits."""

    choices: tuple[Choice | None, ...]
    throughput: float
    variables: int
    optimal: bool


@dataclass(frozen=True)
class StageTwo:
    """The fractional placement, servers x jobs: the fraction of each job on each server.

    It is no solution of the instance, as fractions need not be whole numbers of GPUs.
    """

    placement: NDArray[np.float64]

    @property
    def fragmented(self) -> int:
        """Jobs on more than one server."""
        return int(((self.placement > _POSITIVE).sum(axis=0) > 1).sum())


def solver_version(solver: str) -> str:
    """Return the version of a solver in `SOLVERS`: HiGHS's, else its Python package's."""
    if solver == highs.NAME:
        return highs.version()
    return f"{_PACKAGES[solver]} {metadata.version(_PACKAGES[solver])}"


def time_limit(solver: str, seconds: float) -> Mapping[str, Any]:
    """Return the options of cvxpy's ``solve`` that set a solver's time limit, in seconds."""
    if math.isinf(seconds):
        return {}
    seconds = max(seconds, _LEAST_SECONDS)
    options: dict[str, dict[str, Any]] = {
        "highs": {"highs_options": {"time_limit": seconds}},
        "scip": {"scip_params": {"limits/time": seconds}},
        "glpk": {"tm_lim": math.ceil(1000 * seconds)},
    }
    return options.get(solver, {})


def stage_one(instance: Instance, solver: str = "highs", **options: Any) -> StageOne:
    """Choose CPUs and memory for every job on pooled servers, by an integer program.

    It has a binary variable for each job and each measured choice no slower than the proportional
    share, one choice per job, and the cluster's CPUs and memory as capacities; nothing is
    aggregated. Where jobs may wait, an extension of the paper's program, a job has at most one
    choice and the GPUs are a capacity, too.

    The solver is one of `SOLVERS`; the options are passed to cvxpy's ``solve``. `SolverFailure` if
    it finds no solution.
    """
    from scipy import sparse

    cp = _cvxpy("the paper's stage one")
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
    limits = [owner @ y == 1]
    if instance.may_wait:
        limits = [owner @ y <= 1, gpus @ y <= servers.count * servers.gpus]
    for name in ("cpus", "memory"):
        unit = row_unit(getattr(servers, name), [getattr(c, name) for _, c in rows])
        per_gpu = np.array([float(getattr(c, name) / unit) for _, c in rows])
        limits.append((gpus * per_gpu) @ y <= float(servers.count * getattr(servers, name) / unit))
    # Scaled, as the solvers' tolerances are absolute.
    top = max((Fraction(c.throughput) for _, c in rows), default=Fraction(1))
    values = np.array([float(c.throughput / top) for _, c in rows])
    program = cp.Problem(cp.Maximize(values @ y), limits)
    _solve(program, f"{solver}: stage one", solver=SOLVERS[solver], **options)
    optimal = program.status == cp.OPTIMAL
    # HiGHS without a solution at its limit returns zeros.
    if y.value is None or not (optimal or y.value.any()):
        raise SolverFailure(f"{solver} ended stage one with {program.status}")
    chosen = {rows[i][0]: rows[i][1] for i in np.flatnonzero(y.value > 0.5).tolist()}
    return StageOne(
        choices=tuple(chosen.get(j) for j in range(len(instance.jobs))),
        throughput=float(sum(c.throughput for c in chosen.values())),
        variables=len(rows),
        optimal=optimal,
    )


def stage_two(instance: Instance, first: StageOne) -> StageTwo:
    """Place fractions of the jobs on the servers with these choices, by a linear program.

    Constraints: the GPUs, CPUs and memory of each server, and a sum of fractions of 1 for each job
    that does not wait. The paper asks for few fragmented jobs (section 4.1.2) and leaves the
    program to its extended version. The sum of all fractions is minimised here, the number 1 in
    the authors' public code: both are constant under these constraints. At most 3 x servers jobs
    are fragmented because the simplex method returns a vertex, and all constraints but three per
    server belong to one job each.
    """
    cp = _cvxpy("the paper's stage two")
    servers = instance.servers
    placed = [j for j, choice in enumerate(first.choices) if choice is not None]
    chosen = [choice for choice in first.choices if choice is not None]
    placement = np.zeros((servers.count, len(instance.jobs)))
    if not placed:
        return StageTwo(placement=placement)
    gpus = np.array([float(instance.profile(instance.jobs[j]).gpus) for j in placed])
    x = cp.Variable((servers.count, len(placed)), nonneg=True)
    limits = [cp.sum(x, axis=0) == 1, x @ gpus <= servers.gpus]
    for name in ("cpus", "memory"):
        unit = row_unit(getattr(servers, name), [getattr(c, name) for c in chosen])
        needed = gpus * [float(getattr(c, name) / unit) for c in chosen]
        limits.append(x @ needed <= float(getattr(servers, name) / unit))
    program = cp.Problem(cp.Minimize(cp.sum(x)), limits)
    _solve(program, "stage two", solver=cp.HIGHS, highs_options={"solver": "simplex"})
    if x.value is None:
        raise SolverFailure(f"HiGHS ended stage two with {program.status}")
    placement[:, placed] = x.value
    return StageTwo(placement=placement)


def _cvxpy(what: str) -> Any:
    """Import cvxpy, after a first HiGHS of ours: the first of a process may write on stdout."""
    highs.version()
    return require("cvxpy", what)


def _solve(program: Any, what: str, **options: Any) -> None:
    """Solve a cvxpy program; cvxpy's error is raised as `SolverFailure`."""
    cp = _cvxpy(what)
    try:
        with warnings.catch_warnings():
            # What a limit ended is said by the program's status.
            warnings.filterwarnings("ignore", "Solution may be inaccurate")
            program.solve(**options)
    except cp.error.SolverError as error:
        raise SolverFailure(f"{what}: {error}") from None

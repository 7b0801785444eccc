"""The exact method that solves the model with every server."""

from collections.abc import Callable
from typing import TypeAlias

from dlsched.errors import SolverFailure
from dlsched.problems.sensitivity import model
from dlsched.problems.sensitivity.definition.schema import Instance, Solution
from dlsched.problems.sensitivity.heuristics.price_round import price_round
from dlsched.registry.own import method
from dlsched.results.objective import ByLevel
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.schema import Number
from dlsched.solvers.incumbent import Incumbent
from dlsched.solvers.levels import SOLVER_LIBRARIES, solve_levels
from dlsched.solvers.single_level import ModelModule

Best: TypeAlias = Incumbent[Solution, ByLevel[Number]]
"""The best solution known; points show its throughput."""


@method("sensitivity", kind="exact", preload=SOLVER_LIBRARIES)
def milp(instance: Instance, run: Run, levels: int = 2) -> Claim:
    """Integer program: every job's choice and its GPUs on every server, level by level.

    Exact because the model's solutions are the instance's except those with dominated choices,
    which no optimum needs (models/sensitivity.md). For few servers, as they are identical. It
    begins from the solution of `price_round`. Where CPUs or memory have more digits than a
    solver's tolerances allow, the model's capacities are rounded so that no solution is lost; a
    point that overloads a server is not returned, and nothing is called optimal then.

    Parameters
    ----------
    levels
        1 to stop after the throughput.
    """
    model.validate_size(instance)
    first = run.known or price_round(instance, run.nested()).solution
    return solve_model(instance, run, first if isinstance(first, Solution) else None, levels)


def solve_model(
    instance: Instance,
    run: Run,
    first: Solution | None,
    levels: int | None = None,
    module: ModelModule[Instance] = model,
) -> Claim:
    """Solve a model from a first solution, which is returned where the solver fails."""
    try:
        return solve_levels(instance, run, module, levels, first=first)
    except SolverFailure as error:
        known = run.start if first is None else first
        status = Status.NO_SOLUTION if known is None else Status.FEASIBLE
        return Claim(known, status, str(error), termination=Termination.UNDECIDED)


def incumbent(run: Run, worth: Callable[[Solution], ByLevel[Number] | None]) -> Best:
    """Return the incumbent of a search, which has none yet."""
    return Incumbent(run, worth, ByLevel.better_than, lambda value: float(value[0]))

"""Exact methods and the bound for configurations."""

from collections.abc import Iterator

from dlsched.problems.configurations import model
from dlsched.problems.configurations.definition.costs import in_units
from dlsched.problems.configurations.definition.schema import Instance, Solution
from dlsched.problems.configurations.programs.kinds import Kinds, solve
from dlsched.proofs.forms.form import FormChoice
from dlsched.registry.own import method
from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run, Stage
from dlsched.solvers.levels import SOLVER_LIBRARIES, solve_levels


@method("configurations", kind="exact", preload=SOLVER_LIBRARIES, begins_with="lp")
def sia(instance: Instance, run: Run) -> Claim:
    """Sia's program, exact to nine decimals of every cost, by kinds of jobs.

    Exact because equal jobs can be exchanged, and no optimum needs a choice that is left out (see
    `programs.kinds`). If the cost found is beyond the first gap, that distance from the bound of
    the prices is the second.
    """
    return solve(Kinds(instance), run)


@method("configurations", kind="exact", preload=SOLVER_LIBRARIES, begins_with="lp")
def milp(instance: Instance, run: Run) -> Claim:
    """The card's model, with every job and every configuration that it can use.

    Exact because its solutions are those of the instance (models/configurations.md), and branch and
    bound searches all of them.
    """
    return solve_levels(instance, run, model)


@method("configurations", kind="bound", preload=SOLVER_LIBRARIES)
def lp(instance: Instance, run: Run) -> Claim:
    """Linear relaxation of level 1 by kinds of jobs, certified by its prices in whole numbers."""
    run.announce(Stage.SEARCHING, "prices of GPUs")
    kinds = Kinds(instance)
    bound = Bound(in_units(kinds.bound(kinds.prices(run))), "certified", "lp")
    ended = run.stop_reason() or Termination.BOUND_ONLY
    return Claim(status=Status.NO_SOLUTION, termination=ended, bounds=[[bound]])


def choices(instance: Instance, solution: Solution, level: int, run: Run) -> Iterator[FormChoice]:
    """Yield the program by kinds, with the prices of its linear relaxation; then the model."""
    yield FormChoice("prices", {"prices": list(Kinds(instance).prices(run).values())})
    yield FormChoice("model")

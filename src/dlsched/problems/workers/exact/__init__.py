"""Exact methods for workers: by arcs, and by the model with its servers one by one."""

from collections.abc import Iterator

from dlsched.errors import OptionError
from dlsched.problems.workers import model
from dlsched.problems.workers.definition.schema import Instance, Solution
from dlsched.problems.workers.heuristics import confined_placement
from dlsched.problems.workers.programs.arc_program import MOST_ARCS, ArcProgram, choose
from dlsched.proofs.forms.form import FormChoice
from dlsched.registry.own import method
from dlsched.results.result import Claim
from dlsched.run import Run
from dlsched.solvers.levels import SOLVER_LIBRARIES, relax_first_level, solve_levels


@method("workers", kind="exact", preload=SOLVER_LIBRARIES, begins_with="lp")
def arc_flow(instance: Instance, run: Run, levels: int = 4) -> Claim:
    """Flow program: servers are paths on which free GPUs fall worker by worker.

    Exact because every placement is a set of such paths, one for each server with workers, and
    paths that supply the workers of each size, pool and group are a placement of the same value
    (models/workers.md). Its size does not depend on how many sets of workers a server can hold. The
    certified bounds come from the relaxations' duals. The search begins with the placement of
    `confined_first`.

    Parameters
    ----------
    levels
        Levels to solve, from the first on.
    """
    if choose(instance) == "milp":
        raise OptionError(f"{instance.name} has more than {MOST_ARCS:,} arcs; use milp")
    first = run.known or confined_placement(instance)
    return solve_levels(instance, run, ArcProgram(instance), levels, first=first)


@method("workers", kind="exact", preload=SOLVER_LIBRARIES, begins_with="lp")
def milp(instance: Instance, run: Run, levels: int = 4) -> Claim:
    """The card's model: integer program with the workers of each size on each server.

    Exact because its solutions are the placements, up to workers of one size, pool and group that
    replace each other (models/workers.md), and branch and bound searches all of them. Equal servers
    and equal jobs are treated one by one, so it takes longer than `arc_flow` on large fleets.

    Parameters
    ----------
    levels
        Levels to solve, from the first on.
    """
    return solve_levels(instance, run, model, levels)


@method("workers", kind="bound", preload=SOLVER_LIBRARIES)
def lp(instance: Instance, run: Run) -> Claim:
    """Linear relaxation of level 1 of the flow program, certified from its duals, rounded down.

    With too many arcs it is that of the card's model, which is weaker: there free GPUs count also
    where no worker fits.
    """
    if choose(instance) == "milp":
        return relax_first_level(instance, run, model)
    return relax_first_level(instance, run, ArcProgram(instance))


def choices(instance: Instance, solution: Solution, level: int, run: Run) -> Iterator[FormChoice]:
    """Yield the forms to try for a level, the most promising first."""
    if choose(instance) == "arc_flow":
        yield FormChoice("arcs")
    yield FormChoice("model")

"""Exact methods for workers: by patterns, by arcs, and by the model with its servers one by one."""

from __future__ import annotations

from dlsched.errors import OptionError
from dlsched.problems.workers import model
from dlsched.problems.workers.definition.schema import Instance
from dlsched.problems.workers.heuristics import confined_placement
from dlsched.problems.workers.programs.arc_program import ArcProgram, arcs_exceed
from dlsched.problems.workers.programs.choice import MOST_ARCS, MOST_PATTERNS
from dlsched.problems.workers.programs.pattern_program import Program
from dlsched.problems.workers.structures.patterns import patterns_exceed
from dlsched.registry.own import method
from dlsched.results.result import Claim
from dlsched.run import Run
from dlsched.solvers.levels import SOLVER_LIBRARIES, solve_levels


@method("workers", kind="exact", preload=SOLVER_LIBRARIES, begins_with="lp")
def milp(instance: Instance, run: Run, levels: int = 4) -> Claim:
    """Pattern program: numbers of servers of each class with each maximal pattern of workers.

    Exact because every placement gives each server workers that one of its maximal patterns covers,
    and levels 1 to 3 depend only on the workers by pool; conversely servers of a class, jobs of a
    type, and workers of one size, pool and group can replace each other, so any solution of the
    program is a placement of the same value (models/workers.md). Branch and bound searches all
    solutions, beginning with that of `confined_first`; the certified bounds come from the
    relaxations' duals.

    Parameters
    ----------
    levels
        Levels to solve, from the first on.
    """
    if patterns_exceed(instance, MOST_PATTERNS):
        raise OptionError(f"{instance.name} has more than {MOST_PATTERNS:,} patterns; use arc_flow")
    first = run.known or confined_placement(instance)
    return solve_levels(instance, run, Program(instance), levels, first=first)


@method("workers", kind="exact", preload=SOLVER_LIBRARIES, begins_with="lp")
def arc_flow(instance: Instance, run: Run, levels: int = 4) -> Claim:
    """Flow program: servers are paths on which free GPUs fall worker by worker.

    Exact because every placement is a set of such paths, one for each server with workers, and
    paths that supply the workers of each size, pool and group are a placement of the same value
    (models/workers.md). Its relaxation is as strong as that of `milp`, and its size does not depend
    on the number of patterns. The search begins with the placement of `confined_first`.

    Parameters
    ----------
    levels
        Levels to solve, from the first on.
    """
    if arcs_exceed(instance, MOST_ARCS):
        raise OptionError(f"{instance.name} has more than {MOST_ARCS:,} arcs; use per_server")
    first = run.known or confined_placement(instance)
    return solve_levels(instance, run, ArcProgram(instance), levels, first=first)


@method("workers", kind="exact", preload=SOLVER_LIBRARIES, begins_with="lp")
def per_server(instance: Instance, run: Run, levels: int = 4) -> Claim:
    """The card's model: integer program with the workers of each size on each server.

    Exact because its solutions are the placements, up to workers of one size, pool and group that
    replace each other (models/workers.md), and branch and bound searches all of them. Equal servers
    and equal jobs are treated one by one, so it takes longer than `milp` on large fleets.

    Parameters
    ----------
    levels
        Levels to solve, from the first on.
    """
    return solve_levels(instance, run, model, levels)

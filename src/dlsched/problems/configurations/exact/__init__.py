"""Exact methods and the bound for configurations."""

from __future__ import annotations

from dataclasses import replace

from dlsched.problems.configurations import model
from dlsched.problems.configurations.definition.costs import in_units
from dlsched.problems.configurations.definition.schema import Instance, Solution
from dlsched.problems.configurations.programs.kinds import KindProgram, Kinds, Prices
from dlsched.registry.own import method
from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run, Stage
from dlsched.solvers.levels import SOLVER_LIBRARIES, solve_levels

_ALL_WAIT = Solution(configurations={})
_PARTS = 4
"""Of the dearest GPU's price, for the first gap: an eighth is as quick, the whole takes 3 s."""


@method("configurations", kind="exact", preload=SOLVER_LIBRARIES, begins_with="lp")
def sia(instance: Instance, run: Run, levels: int = 2) -> Claim:
    """Sia's program, exact to nine decimals of every cost, by kinds of jobs.

    Exact because equal jobs can be exchanged, and no optimum needs a choice that is left out (see
    `programs.kinds`). The first gap is a quarter of the dearest GPU's price; if the cost found is
    further from the bound of the prices, that distance is the second. The certified bound is that
    of the prices; that at the optimum is the solver's.

    Parameters
    ----------
    levels
        1 for the paper's objective alone.
    """
    return solve(Kinds(instance), run, levels)


def solve(kinds: Kinds, run: Run, levels: int) -> Claim:
    """Solve the program of kinds level by level, first without what is too dear at the prices."""
    prices = kinds.prices(run)
    least = kinds.bound(prices)
    gap = max(prices.values(), default=0) // _PARTS
    claim, value = _within(kinds, prices, gap, run, levels)
    if value > least + gap:
        if run.stop_reason() is None:
            claim, _ = _within(kinds, prices, value - least, run, levels)
        else:  # of a part of the program
            status = Status.NO_SOLUTION if claim.solution is None else Status.FEASIBLE
            claim = replace(claim, status=status, termination=run.stop_reason(), bounds=())
    stated = Bound(in_units(least), "certified", "lp")
    first, *others = claim.bounds or [[]]
    return replace(claim, bounds=[[*first, stated], *others])


def _within(kinds: Kinds, prices: Prices, gap: int, run: Run, levels: int) -> tuple[Claim, int]:
    """Solve what a gap leaves of a program; also return the cost of the solution, or of none."""
    claim = solve_levels(kinds.instance, run, KindProgram(kinds, prices, gap), levels)
    found = claim.solution
    return claim, kinds.value(found if isinstance(found, Solution) else _ALL_WAIT)


@method("configurations", kind="exact", preload=SOLVER_LIBRARIES, begins_with="lp")
def milp(instance: Instance, run: Run, levels: int = 2) -> Claim:
    """The card's model, with every job and every configuration that it can use.

    Exact because its solutions are those of the instance (models/configurations.md), and branch and
    bound searches all of them. The certified bounds come from the relaxations' duals.

    Parameters
    ----------
    levels
        1 for the paper's objective alone.
    """
    return solve_levels(instance, run, model, levels)


@method("configurations", kind="bound", preload=SOLVER_LIBRARIES)
def lp(instance: Instance, run: Run) -> Claim:
    """Linear relaxation of level 1 by kinds of jobs, certified by its prices in whole numbers."""
    run.announce(Stage.SEARCHING, "prices of GPUs")
    kinds = Kinds(instance)
    least = kinds.bound(kinds.prices(run))
    return Claim(
        status=Status.NO_SOLUTION,
        termination=run.stop_reason() or Termination.BOUND_ONLY,
        bounds=[[Bound(in_units(least), "certified", "lp")]],
    )

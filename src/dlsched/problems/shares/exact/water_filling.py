"""Water filling: after the least value the least of the others, and so on (Gavel)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.shares import model
from dlsched.problems.shares.definition.check import value_of
from dlsched.problems.shares.definition.schema import Instance
from dlsched.problems.shares.exact import Solved, claim_of, optimize
from dlsched.problems.shares.heuristics import isolated
from dlsched.problems.shares.structures.kinds import pooled
from dlsched.registry.own import method
from dlsched.results.result import Claim
from dlsched.run import Run
from dlsched.solvers.levels import SOLVER_LIBRARIES

_POSITIVE = 1e-7
"""A row's dual counts as positive from this part of the sum of all."""
_KEPT = 1 - Fraction(1, 10**10)
"""The part of a level that later rounds keep: their programs need an interior."""
_MOST = 2.0**30
"""Levels of later rounds, by the ceiling of the first."""


@method("shares", kind="exact", preload=SOLVER_LIBRARIES)
def water_filling(instance: Instance, run: Run) -> Claim:
    """One linear program a round. Exact because the first round is `milp`; others keep its level.

    A kind of jobs whose row has a positive dual is at the level in every optimum, by complementary
    slackness: it is held there, and the next round maximises the least value of the others. The
    authors' public code finds such jobs by an integer program.
    """
    if instance.objective not in ("max_min", "makespan"):
        raise OptionError(f"water filling is not for the objective {instance.objective}; use milp")
    built = model.build(instance)
    bound = pooled(instance, Fraction(0))
    solution = isolated(instance)
    while (solved := optimize(built, run)) is not None:
        bound = bound if built.HELD else min(bound, solved.bound)
        prices = _prices(built, solved)
        level = Fraction(built.UNIT) * Fraction(built.level.value) * _KEPT
        solution = model.read(instance, built)
        reached = [c for c, price in prices.items() if price > _POSITIVE * sum(prices.values())]
        for c in reached:
            built.HELD[c] = level
            row = built.least[c]
            row.set_value(row.body - built.level + float(level / Fraction(built.UNIT)) <= 0)
        built.level.setub(_MOST)
        if not reached or len(built.HELD) == len(built.least):
            break
    start: Any = run.start or run.known or solution
    if value_of(instance, start) > value_of(instance, solution) * (1 + 2 * (1 - _KEPT)):
        solution = start  # the program was not solved
    return claim_of(instance, run, solution, bound)


def _prices(built: Any, solved: Solved) -> dict[str, float]:
    """Return the duals of the rows at the common level, by kind."""
    rows = zip(solved.form.constraints, np.abs(solved.duals).tolist(), strict=True)
    named = ((row.index(), price) for row, price in rows if row.parent_component() is built.least)
    return {c: price for c, price in named if c not in built.HELD}

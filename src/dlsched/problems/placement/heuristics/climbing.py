"""Hill climbing on a state, day by day, and what searches that end with it share."""

from __future__ import annotations

import numpy as np

from dlsched.problems.placement.heuristics import local_search
from dlsched.problems.placement.heuristics.incremental_cost import move_each
from dlsched.problems.placement.structures.arrays import Data
from dlsched.problems.placement.structures.flat_state import COST, INFEASIBILITY, State
from dlsched.problems.placement.structures.state import recompute
from dlsched.run import Run
from dlsched.solvers.compilation import Floats, Ints

_TABLES_PER_CALL = 2_000
"""Of hill climbing, between two checks of the limits."""
_SAMPLED_MOVES = 500
"""From which temperatures follow."""


def hill_climb(data: Data, state: State, run: Run, days: int | None) -> State:
    """Improve a state in place, day by day, until nothing moves or the run must stop."""
    day = 0
    tables = np.arange(len(data.size))
    while len(tables) and (days is None or day < days):
        gains = []
        for first in range(0, len(tables), _TABLES_PER_CALL):
            if run.stop_reason():
                return state
            gains.append(_best_moves(state, tables[first : first + _TABLES_PER_CALL]))
        region, worse, cost = (np.concatenate(parts) for parts in zip(*gains, strict=True))
        queue = np.lexsort((cost, worse))
        queue = queue[region[queue] != state.home[queue]]
        before = state.home.copy()
        for first in range(0, len(queue), _TABLES_PER_CALL):
            if run.stop_reason():
                break
            _best_moves(state, queue[first : first + _TABLES_PER_CALL], apply=True)
        recompute(*state.packed)  # updates round
        day += 1
        if np.array_equal(before, state.home):
            break
    return state


def move_to(state: State, homes: Ints) -> None:
    """Change a state in place to that of other homes."""
    state.home[:] = homes
    recompute(*state.packed)


def _best_moves(state: State, tables: Ints, apply: bool = False) -> tuple[Ints, Floats, Floats]:
    """Return each table's best region, and what moving there adds to infeasibility and cost."""
    region = np.zeros_like(tables)
    worse = np.zeros(len(tables))
    cost = np.zeros(len(tables))
    local_search.climb(*state.packed, tables, region, worse, cost, apply)
    return region, worse, cost


def rank(state: State) -> tuple[float, float]:
    """Return the infeasibility and the cost."""
    return float(state.sums[INFEASIBILITY]), float(state.sums[COST])


def mean_increase(data: Data, state: State, rng: np.random.Generator) -> float:
    """Return the mean increase of the cost by a random table's move that raises it."""
    tables = rng.integers(len(data.size), size=_SAMPLED_MOVES)
    into = rng.integers(len(data.capacity), size=_SAMPLED_MOVES)
    cost, worse = np.zeros((2, _SAMPLED_MOVES))
    move_each(*state.packed, tables, into, False, cost, worse)
    increases = cost[cost > 0]
    return float(increases.mean()) if len(increases) else 1.0  # no move costs anything: any does

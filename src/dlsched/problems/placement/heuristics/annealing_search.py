"""What annealing and replica exchange share: trials in a state, and the best placement so far."""

from __future__ import annotations

import numpy as np

from dlsched.problems.placement.heuristics import hill_climb, local_search, move_to, rank_of
from dlsched.problems.placement.heuristics.incremental_cost import move_each
from dlsched.problems.placement.structures.arrays import Data
from dlsched.problems.placement.structures.flat_state import State
from dlsched.run import Run
from dlsched.solvers.compilation import Floats, Ints

_TRIALS_PER_CALL = 20_000
"""Between two checks of the limits."""
_SAMPLED_MOVES = 500
"""From which the temperatures follow."""
_LEAST_TEMPERATURE = 1e-300


class Search:
    """Trials in a state, which first climbs, and the best placement so far.

    Parameters
    ----------
    state
        It is changed in place.

    Attributes
    ----------
    best
        Infeasibility and cost of the best placement.
    homes
        Its homes, by table.
    """

    def __init__(self, data: Data, state: State, run: Run) -> None:
        self.data, self.state, self.run = data, state, run
        hill_climb(data, state, run, None)
        self.best, self.homes = rank_of(state), state.home.copy()
        self._increase = 1.0

    @property
    def immovable(self) -> bool:
        """Whether there is nothing to move, or nowhere."""
        return not len(self.data.size) or len(self.data.capacity) < 2

    def measure(self) -> None:
        """Take the mean increase of the cost by a move from the present state."""
        tables = self.run.rng.integers(len(self.data.size), size=_SAMPLED_MOVES)
        into = self.run.rng.integers(len(self.data.capacity), size=_SAMPLED_MOVES)
        cost, worse = np.zeros((2, _SAMPLED_MOVES))
        move_each(*self.state.packed, tables, into, False, cost, worse)
        increases = cost[cost > 0]
        # If no move costs anything, any temperature will do.
        self._increase = float(increases.mean()) if len(increases) else 1.0

    def temperatures(self, ends: tuple[float, float], number: int) -> Floats:
        """Return temperatures between two, in mean increases of the cost, at equal ratios."""
        first, last = np.maximum(np.array(ends) * self._increase, _LEAST_TEMPERATURE)
        between: Floats = np.geomspace(first, last, number)
        return between

    def penalties(self, ends: tuple[float, float], number: int) -> Floats:
        """Return costs of an infeasibility of 1 between two, in sums of the weights."""
        weights = self.data.traffic_weight + self.data.gpu_weight + self.data.storage_weight
        between: Floats = (weights or 1.0) * np.geomspace(*ends, number)
        return between

    def anneal(self, temperatures: Floats, penalties: Floats) -> None:
        """Make a trial at each temperature; leave out some where a limit strikes before the end."""
        first, began, left = 0, self.run.elapsed(), self.run.remaining()
        while first < len(temperatures) and not self.run.stop_reason():
            part = slice(first, first + _TRIALS_PER_CALL)
            draws = self.run.rng.random((len(temperatures[part]), local_search.DRAWS))
            cost, worse = local_search.anneal(
                *self.state.packed, temperatures[part], penalties[part], draws
            )
            self._keep((worse, cost), self.state.best)
            passed = (self.run.elapsed() - began) / left
            first = max(first + _TRIALS_PER_CALL, int(passed * len(temperatures)))

    def climb_from_best(self) -> None:
        """Continue from the best placement, by hill climbing."""
        move_to(self.state, self.homes)
        hill_climb(self.data, self.state, self.run, None)
        self._keep(rank_of(self.state), self.state.home)

    def _keep(self, rank: tuple[float, float], homes: Ints) -> None:
        """Keep a placement if it is better by more than rounding."""
        (worse, cost), (least, best) = rank, self.best
        if worse < least or (worse == least and cost < best * (1 - local_search.RELATIVE)):
            self.best, self.homes = rank, homes.copy()

    def record(self) -> None:
        """Report progress."""
        worse, cost = self.best
        self.run.record(None if worse else cost, None)

    def end(self) -> None:
        """Leave the state at the best placement."""
        move_to(self.state, self.homes)

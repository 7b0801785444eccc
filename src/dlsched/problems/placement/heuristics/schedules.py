"""Cooling schedules of annealing, one after the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dlsched.problems.placement.heuristics import local_search
from dlsched.problems.placement.heuristics.climbing import (
    hill_climb,
    mean_increase,
    move_to,
    rank,
)
from dlsched.problems.placement.structures.arrays import Data
from dlsched.problems.placement.structures.flat_state import State
from dlsched.run import Run
from dlsched.solvers.compilation import Floats, Ints

RESTARTS = 3
"""Cooling schedules of `annealing`."""
_TRIALS_PER_CALL = 20_000
"""Of annealing, between two checks of the limits."""
LEAST_TRIALS = 2_000
"""Of `short_annealing`, however few tables there are."""
HOTTEST = 2.0
"""First temperature, in mean increases of the cost by a move."""
_COLDEST = 0.01
"""Last temperature, in mean increases of the cost by a move."""
_LEAST_TEMPERATURE = 1e-300
SOFT = (0.1, 10.0)
"""First and last cost of an infeasibility of 1, in sums of the weights, so that large tables may
change places; where there are few tables, most such placements lead nowhere."""
_HARD = (1e6, 1e6)
"""The same, so that limits are hardly ever broken."""
MANY_TABLES = 100
"""From here on the first schedule is one with soft limits; the others alternate."""


class Schedules(NamedTuple):
    """Cooling schedules of annealing: their number, and the trials in each."""

    restarts: int
    trials: int


def long_schedules(data: Data) -> Schedules:
    """Return those of `annealing` by default."""
    return Schedules(RESTARTS, int(np.clip(1_500 * len(data.size), 200_000, 20_000_000)))


class Found(NamedTuple):
    """A placement: its infeasibility and cost, and its homes."""

    rank: tuple[float, float]
    homes: Ints


def found_in(state: State) -> Found:
    """Return a state's placement."""
    return Found(rank(state), state.home.copy())


def better(one: Found, other: Found) -> Found:
    """Return the better one of two placements, the first if they are equal."""
    return other if other.rank < one.rank else one


def anneal(data: Data, state: State, run: Run, restarts: int, trials: int) -> State:
    """Improve a state in place by hill climbing and restarts of annealing; return the best."""
    hill_climb(data, state, run, None)
    if not len(data.size) or len(data.capacity) < 2:
        return state
    best = found_in(state)
    for restart in range(restarts):
        soft = (restart % 2 == 0) == (len(data.size) >= MANY_TABLES)
        mean = mean_increase(data, state, run.rng)
        temperatures = falling(mean * HOTTEST, mean * _COLDEST, trials)
        penalties = unit_penalty(data) * np.geomspace(*(SOFT if soft else _HARD), trials)
        best = better(best, cool(state, run, temperatures, penalties))
        best = climbed_from(data, state, run, best)
        if run.stop_reason():
            break
    move_to(state, best.homes)
    return state


def falling(hottest: float, coldest: float, trials: int) -> Floats:
    """Return temperatures of trials, from the first to the last one."""
    first, last = np.maximum([hottest, coldest], _LEAST_TEMPERATURE).tolist()
    return np.geomspace(first, last, trials)


def unit_penalty(data: Data) -> float:
    """Return the sum of the weights, the unit of the cost of an infeasibility."""
    return data.traffic_weight + data.gpu_weight + data.storage_weight or 1.0


def cool(
    state: State,
    run: Run,
    temperatures: Floats,
    penalties: Floats,
    kinds: tuple[float, ...] = local_search.KINDS,
) -> Found:
    """Anneal a state in place, a trial for each temperature; return the best placement on the way.

    Parameters
    ----------
    kinds
        Shares of the kinds of trials, summed up from 0 to 1; see `local_search.KINDS`.
    """
    best = found_in(state)
    for first in range(0, len(temperatures), _TRIALS_PER_CALL):
        if run.stop_reason():
            break
        part = slice(first, first + _TRIALS_PER_CALL)
        draws = run.rng.random((len(temperatures[part]), local_search.DRAWS))
        if kinds != local_search.KINDS:
            draws[:, 0] = np.interp(draws[:, 0], kinds, local_search.KINDS)
        cost, worse = local_search.anneal(*state.packed, temperatures[part], penalties[part], draws)
        if (worse, cost) < best.rank:
            best = Found((worse, cost), state.best.copy())
    return best


def climbed_from(data: Data, state: State, run: Run, best: Found) -> Found:
    """Return the best placement so far after hill climbing from it, recorded as progress."""
    move_to(state, best.homes)
    hill_climb(data, state, run, None)
    best = better(best, found_in(state))
    worse, cost = best.rank
    run.record(None if worse else cost, None)
    return best

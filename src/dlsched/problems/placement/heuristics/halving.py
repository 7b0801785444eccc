"""Annealing of several placements side by side, of which the worse ones are dropped as it cools.

Where most bytes are in a few large tables, these settle while it is hot and then hardly move, and
which homes they settle at differs more from run to run than what follows improves. So the first,
hot part is run for several placements, and the rest for the best of these.
"""

from __future__ import annotations

import math
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from dlsched.problems.placement.heuristics import local_search
from dlsched.problems.placement.heuristics.climbing import (
    hill_climb,
    mean_increase,
    move_to,
    rank,
)
from dlsched.problems.placement.heuristics.schedules import (
    HOTTEST,
    LEAST_TRIALS,
    MANY_TABLES,
    SOFT,
    anneal,
    better,
    climbed_from,
    cool,
    falling,
    found_in,
    unit_penalty,
)
from dlsched.problems.placement.structures.arrays import Data
from dlsched.problems.placement.structures.flat_state import State
from dlsched.run import Run

_TRIALS = (300, 400)
"""Of `short_annealing` for each table, by default: with few tables, and with many."""


class Stage(NamedTuple):
    """A part of the cooling schedule."""

    placements: int
    coldest: float
    """Its last temperature, in mean increases of the cost by a move."""
    pace: float
    """Trials for each placement while the temperature falls by a factor, relative to others."""
    kinds: tuple[float, ...] = local_search.KINDS

    def trials(self, hottest: float) -> float:
        """Return the trials for each placement, relative to other stages'."""
        return self.pace * math.log(hottest / self.coldest)


STAGES = (
    Stage(2, 0.1, 1.0),
    Stage(1, 0.005, 0.7, (0.0, 0.55, 0.85, 0.95, 1.0, 1.0)),
)
"""In the last one hardly any cluster moves."""


def short_anneal(data: Data, state: State, run: Run, trials: int | None) -> State:
    """Improve a state in place by the search of `short_annealing`, with some trials per table."""
    many = len(data.size) >= MANY_TABLES
    count = max((trials or _TRIALS[many]) * len(data.size), LEAST_TRIALS)
    if many:
        return anneal_and_halve(data, state, run, count)
    return anneal(data, state, run, 2, count // 2)


def anneal_and_halve(data: Data, state: State, run: Run, trials: int) -> State:
    """Improve a state in place by hill climbing and the stages of annealing; return the best.

    All placements are from the same start, with other random numbers. Limits are soft.

    Parameters
    ----------
    trials
        Of all stages together.
    """
    hill_climb(data, state, run, None)
    if len(data.capacity) < 2:
        return state
    best = found_in(state)
    mean = mean_increase(data, state, run.rng)
    placements = [state.home.copy()]
    hottest = HOTTEST
    pace = trials / _work()
    for stage in STAGES:
        count = math.ceil(pace * stage.trials(hottest))
        temperatures = falling(mean * hottest, mean * stage.coldest, count)
        penalties = np.geomspace(_penalty(hottest), _penalty(stage.coldest), count)
        penalties *= unit_penalty(data)
        cooled = []
        for number in range(stage.placements):
            move_to(state, placements[number % len(placements)])
            best = better(best, cool(state, run, temperatures, penalties, stage.kinds))
            worse, cost = rank(state)
            cooled.append((cost + float(penalties[-1]) * worse, state.home.copy()))
        placements = [homes for _, homes in sorted(cooled, key=itemgetter(0))]
        hottest = stage.coldest
    best = climbed_from(data, state, run, best)
    move_to(state, best.homes)
    return state


def _work() -> float:
    """Return the trials of all stages at a pace of 1."""
    hottest = (HOTTEST, *(stage.coldest for stage in STAGES))
    pairs = zip(STAGES, hottest, strict=False)
    return sum(stage.placements * stage.trials(first) for stage, first in pairs)


def _penalty(temperature: float) -> float:
    """Return the soft cost of an infeasibility of 1 at a temperature, in sums of the weights."""
    part = math.log(HOTTEST / temperature) / math.log(HOTTEST / STAGES[-1].coldest)
    return float(SOFT[0] * (SOFT[1] / SOFT[0]) ** part)

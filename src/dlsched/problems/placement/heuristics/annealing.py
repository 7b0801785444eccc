"""Simulated annealing: cooling schedules, one after the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.placement.definition.schema import Instance
from dlsched.problems.placement.heuristics import claim_of, initial_state
from dlsched.problems.placement.heuristics.annealing_search import Search
from dlsched.problems.placement.structures.arrays import Data, arrays
from dlsched.problems.placement.structures.flat_state import State
from dlsched.problems.placement.structures.small import few_tables
from dlsched.registry.own import method
from dlsched.results.result import Claim
from dlsched.run import Run

_RESTARTS = 3
"""Cooling schedules of `annealing`."""
SHORT_TRIALS = 300
"""Of `short_annealing`, for each table."""
_LEAST_TRIALS = 2_000
"""Of `short_annealing`, however few tables there are."""
_TEMPERATURES = (2.0, 0.01)
"""The first and the last one, in mean increases of the cost by a move."""
_SOFT = (0.1, 10.0)
"""First and last cost of an infeasibility of 1, in sums of the weights, so that large tables may
change places; where there are few tables, most such placements lead nowhere."""
_HARD = (1e6, 1e6)
"""The same, so that limits are hardly ever broken."""
_MANY_TABLES = 100
"""From here on the first schedule is one with soft limits; the others alternate."""


@method("placement", kind="heuristic", preload=(".heuristics.local_search",))
def annealing(
    instance: Instance, run: Run, restarts: int = _RESTARTS, moves: int | None = None
) -> Claim:
    """Simulated annealing with moves of tables, of a job's tables, and of clusters, and swaps.

    A cluster is a table with smaller ones that are read together with it. It starts from the result
    of hill climbing, ends each restart with hill climbing, and returns the best placement. In every
    other schedule limits may be broken on the way, at a price that rises. A schedule that a time
    limit would end while it is hot leaves out trials, and so ends cold. Ours, not the paper's.

    Parameters
    ----------
    restarts
        Cooling schedules, one after the other; each but the first from the best so far.
    moves
        Trials in each; by default 1,500 for each table, from 200,000 to 20 million.
    """
    if restarts < 1 or (moves is not None and moves < 1):
        raise OptionError("restarts and moves must be from 1")
    data = arrays(instance)
    schedules = Schedules(restarts, moves or long_schedules(data).trials)
    state = anneal(data, initial_state(instance, data, run), run, *schedules)
    return claim_of(instance, data, state, run)


@method("placement", kind="heuristic", preload=(".heuristics.local_search",), small=few_tables)
def short_annealing(instance: Instance, run: Run, trials: int = SHORT_TRIALS) -> Claim:
    """`annealing` with so few trials that it takes about ten times the time of `hill_climbing`.

    One cooling schedule with soft limits from 100 tables on; else two with half the trials each,
    the first with hard limits. Ours, not the paper's.

    Parameters
    ----------
    trials
        For each table, and 2,000 at least in all.
    """
    if trials < 1:
        raise OptionError(f"trials={trials} must be from 1")
    data = arrays(instance)
    state = anneal(data, initial_state(instance, data, run), run, *short_schedules(data, trials))
    return claim_of(instance, data, state, run)


class Schedules(NamedTuple):
    """Cooling schedules of annealing: their number, and the trials in each."""

    restarts: int
    trials: int


def long_schedules(data: Data) -> Schedules:
    """Return those of `annealing` by default."""
    return Schedules(_RESTARTS, int(np.clip(1_500 * len(data.size), 200_000, 20_000_000)))


def short_schedules(data: Data, trials: int) -> Schedules:
    """Return those of `short_annealing` with some trials for each table."""
    restarts = 1 if len(data.size) >= _MANY_TABLES else 2
    return Schedules(restarts, max(trials * len(data.size), _LEAST_TRIALS) // restarts)


def anneal(data: Data, state: State, run: Run, restarts: int, trials: int) -> State:
    """Improve a state in place by hill climbing and restarts of annealing; return the best."""
    search = Search(data, state, run)
    if search.immovable:
        return state
    for restart in range(restarts):
        soft = (restart % 2 == 0) == (len(data.size) >= _MANY_TABLES)
        search.measure()
        temperatures = search.temperatures(_TEMPERATURES, trials)
        search.anneal(temperatures, search.penalties(_SOFT if soft else _HARD, trials))
        search.climb_from_best()
        search.record()
        if run.stop_reason():
            break
    search.end()
    return state

"""Simulated annealing: cooling schedules, one after the other."""

from __future__ import annotations

from typing import NamedTuple

from dlsched.errors import OptionError
from dlsched.problems.placement.definition.schema import Instance
from dlsched.problems.placement.heuristics import claim_of, initial_state
from dlsched.problems.placement.heuristics.annealing_search import Search
from dlsched.problems.placement.structures.arrays import Data, arrays
from dlsched.problems.placement.structures.flat_state import State
from dlsched.registry.own import method
from dlsched.results.result import Claim
from dlsched.run import Run

_TRIALS_PER_TABLE = 2_000
_LEAST_BY_DEFAULT = 200_000
_LEAST_TRIALS = 2_000
"""However few tables there are."""
_TRIALS_PER_SCHEDULE = 25_000
"""Where tables are few: with 200,000 trials eight schedules end nearer to optima than two."""
_TEMPERATURES = (2.0, 0.01)
"""The first and the last one, in mean increases of the cost by a move."""
_SOFT = (0.1, 10.0)
"""First and last cost of an infeasibility of 1, in sums of the weights, so that large tables may
change places; where there are few tables, most such placements lead nowhere."""
_HARD = (1e6, 1e6)
"""The same, so that limits are hardly ever broken."""
_MANY_TABLES = 100
"""From here on there is one schedule, with soft limits; else they alternate, hard limits first."""


@method("placement", kind="heuristic", preload=(".heuristics.local_search",))
def annealing(instance: Instance, run: Run, trials: int | None = None) -> Claim:
    """Simulated annealing with moves of tables, of a job's tables, and of clusters, and swaps.

    A cluster is a table with smaller ones that are read together with it. It starts from the result
    of hill climbing, ends each cooling schedule with it, and returns the best placement: one
    schedule from 100 tables on, else some, each but the first from the best so far. In every other
    one limits may be broken on the way, at a price that rises. A schedule that a time limit would
    end while it is hot leaves out trials, and so ends cold. Ours, not the paper's.

    Parameters
    ----------
    trials
        For each table, and 2,000 at least in all; by default 2,000, and 200,000 at least in all.
    """
    if trials is not None and trials < 1:
        raise OptionError(f"trials={trials} must be from 1")
    data = arrays(instance)
    state = anneal(data, initial_state(instance, data, run), run, *schedules(data, trials))
    return claim_of(instance, data, state, run)


class Schedules(NamedTuple):
    """Cooling schedules of annealing: their number, and the trials in each."""

    number: int
    trials: int


def schedules(data: Data, trials: int | None = None) -> Schedules:
    """Return those of `annealing` with some trials for each table, or by default."""
    tables = len(data.size)
    least = _LEAST_BY_DEFAULT if trials is None else _LEAST_TRIALS
    total = max((trials or _TRIALS_PER_TABLE) * tables, least)
    number = 1 if tables >= _MANY_TABLES else max(2, total // _TRIALS_PER_SCHEDULE)
    return Schedules(number, total // number)


def anneal(data: Data, state: State, run: Run, number: int, trials: int) -> State:
    """Improve a state in place by hill climbing and cooling schedules; return the best."""
    search = Search(data, state, run)
    if search.immovable:
        return state
    for schedule in range(number):
        soft = (schedule % 2 == 0) == (len(data.size) >= _MANY_TABLES)
        search.measure()
        temperatures = search.temperatures(_TEMPERATURES, trials)
        search.anneal(temperatures, search.penalties(_SOFT if soft else _HARD, trials))
        search.climb_from_best()
        search.record()
        if run.stop_reason():
            break
    search.end()
    return state

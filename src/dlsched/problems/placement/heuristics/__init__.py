"""MAST's hill climbing, simulated annealing, and the placement of today."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.placement.definition.check import check
from dlsched.problems.placement.definition.schema import Instance, Solution
from dlsched.problems.placement.heuristics import local_search
from dlsched.problems.placement.heuristics.incremental_cost import move_each
from dlsched.problems.placement.structures.arrays import Data, arrays, homes_of
from dlsched.problems.placement.structures.flat_state import COST, INFEASIBILITY, MOVED, State
from dlsched.problems.placement.structures.small import few_tables, some_tables
from dlsched.problems.placement.structures.state import recompute, state_of
from dlsched.registry.own import method
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.solvers.compilation import Floats, Ints

_TABLES_PER_CALL = 2_000
"""Of hill climbing, between two checks of the limits."""
_TRIALS_PER_CALL = 20_000
"""Of annealing, between two checks of the limits."""
_RESTARTS = 3
"""Cooling schedules of `annealing`."""
SHORT_TRIALS = 300
"""Of `short_annealing`, for each table."""
_LEAST_TRIALS = 2_000
"""Of `short_annealing`, however few tables there are."""
_SAMPLED_MOVES = 500
"""From which the temperatures follow."""
_HOTTEST = 2.0
"""First temperature, in mean increases of the cost by a move."""
_COLDEST = 0.01
"""Last temperature, in mean increases of the cost by a move."""
_LEAST_TEMPERATURE = 1e-300
_SOFT = (0.1, 10.0)
"""First and last cost of an infeasibility of 1, in sums of the weights, so that large tables may
change places; where there are few tables, most such placements lead nowhere."""
_HARD = (1e6, 1e6)
"""The same, so that limits are hardly ever broken."""
_MANY_TABLES = 100
"""From here on the first schedule is one with soft limits; the others alternate."""


@method("placement", kind="heuristic", preload=(".heuristics.local_search",), small=some_tables)
def hill_climbing(instance: Instance, run: Run, days: int | None = None) -> Claim:
    """Tables by the gain of their best move, each re-evaluated before it moves (section 3.4).

    A pass over all tables is one day. When its turn comes, a table moves to the region that is
    best then; it does not move if no region improves the cost, or if the move quota would be
    exceeded. A move never breaks a constraint that holds; from a start that breaks some, moves are
    ordered by infeasibility first, then by cost.

    Parameters
    ----------
    days
        Passes at most; until nothing moves by default. The quota is for all of them together; for
        one quota per day see `daily`.
    """
    if days is not None and days < 0:
        raise OptionError(f"days={days} must be from 0, or none")
    data = arrays(instance)
    state = hill_climb(data, initial_state(instance, data, run), run, days)
    return _claim(instance, data, state, run)


@method("placement", kind="heuristic", preload=(".heuristics.local_search",))
def annealing(
    instance: Instance, run: Run, restarts: int = _RESTARTS, moves: int | None = None
) -> Claim:
    """Simulated annealing with moves of tables, of a job's tables, and of clusters, and swaps.

    A cluster is a table with smaller ones that are read together with it. It starts from the result
    of hill climbing, ends each restart with hill climbing, and returns the best placement. In every
    other schedule limits may be broken on the way, at a price that rises. With a time limit, which
    may strike while a schedule is hot, `short_annealing` comes first, and its placement is returned
    if it is better. Ours, not the paper's.

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
    short = None
    if moves is None and run.time_limit is not None:
        start = initial_state(instance, data, run)
        short = anneal(data, start, run.nested(), *short_schedules(data, SHORT_TRIALS))
    schedules = Schedules(restarts, moves or long_schedules(data).trials)
    state = anneal(data, initial_state(instance, data, run), run, *schedules)
    if short is not None and _rank(short) < _rank(state):
        state = short
    return _claim(instance, data, state, run)


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
    return _claim(instance, data, state, run)


@method("placement", kind="baseline", preload=(".heuristics.local_search",), small=some_tables)
def no_moves(instance: Instance, run: Run) -> Claim:
    """Every table where it is today; one without a home in the region with most free storage."""
    data = arrays(instance)
    return _claim(instance, data, initial_state(instance, data, run), run)


def daily(instance: Instance, days: int, run: Run | None = None) -> Iterator[Solution]:
    """Yield the placement of hill climbing after each day; each day has the whole move quota.

    Parameters
    ----------
    instance
        Its tables' homes are those before the first day.
    days
        Number of passes.
    """
    run = run or Run()
    data = arrays(instance)
    state = initial_state(instance, data, run)
    for _ in range(days):
        state = hill_climb(data, state, run, 1)
        yield solution_of(instance, state)
        data = data._replace(home=state.home.copy())
        state = state_of(data, data.home)


def initial_state(instance: Instance, data: Data, run: Run) -> State:
    """Return the state of the run's start, or else of the homes of today."""
    if isinstance(run.start, Solution):
        return state_of(data, homes_of(instance, run.start))
    return state_of(data, initial_homes(data))


def initial_homes(data: Data) -> Ints:
    """Return the homes of today; a table without one goes where most storage is free."""
    home = data.home.copy()
    settled = home >= 0
    free = data.storage - np.bincount(home[settled], data.size[settled], len(data.storage))
    homeless = np.flatnonzero(home < 0)
    for t in homeless[np.argsort(-data.size[homeless], kind="stable")].tolist():
        home[t] = np.argmax(free)
        free[home[t]] -= data.size[t]
    return home


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
    hill_climb(data, state, run, None)
    if not len(data.size) or len(data.capacity) < 2:
        return state
    best = _rank(state)
    homes = state.home.copy()
    weights = data.traffic_weight + data.gpu_weight + data.storage_weight or 1.0
    for restart in range(restarts):
        soft = (restart % 2 == 0) == (len(data.size) >= _MANY_TABLES)
        temperatures = np.geomspace(*_temperatures(data, state, run.rng), trials)
        penalties = weights * np.geomspace(*(_SOFT if soft else _HARD), trials)
        for first in range(0, trials, _TRIALS_PER_CALL):
            if run.stop_reason():
                break
            part = slice(first, first + _TRIALS_PER_CALL)
            draws = run.rng.random((len(temperatures[part]), local_search.DRAWS))
            cost, worse = local_search.anneal(
                *state.packed, temperatures[part], penalties[part], draws
            )
            if (worse, cost) < best:
                best = (worse, cost)
                homes = state.best.copy()
        _move_to(state, homes)
        hill_climb(data, state, run, None)
        if _rank(state) < best:
            best = _rank(state)
            homes = state.home.copy()
        worse, cost = best
        run.record(None if worse else cost, None)
        if run.stop_reason():
            break
    _move_to(state, homes)
    return state


def _move_to(state: State, homes: Ints) -> None:
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


def _rank(state: State) -> tuple[float, float]:
    """Return the infeasibility and the cost."""
    return float(state.sums[INFEASIBILITY]), float(state.sums[COST])


def _temperatures(data: Data, state: State, rng: np.random.Generator) -> tuple[float, float]:
    """Return the first and the last temperature, from the mean increase of the cost by a move."""
    tables = rng.integers(len(data.size), size=_SAMPLED_MOVES)
    into = rng.integers(len(data.capacity), size=_SAMPLED_MOVES)
    cost, worse = np.zeros((2, _SAMPLED_MOVES))
    move_each(*state.packed, tables, into, False, cost, worse)
    increases = cost[cost > 0]
    mean = float(increases.mean()) if len(increases) else 1.0  # no move costs anything: any will do
    hottest, coldest = np.maximum([_HOTTEST * mean, _COLDEST * mean], _LEAST_TEMPERATURE).tolist()
    return hottest, coldest


def solution_of(instance: Instance, state: State) -> Solution:
    """Return a state's homes as a solution."""
    regions = [region.id for region in instance.regions]
    homes = zip(instance.tables, state.home.tolist(), strict=True)
    return Solution(home={table.id: regions[r] for table, r in homes})


def _claim(instance: Instance, data: Data, state: State, run: Run) -> Claim:
    """Return a state's placement if it is feasible."""
    termination = run.stop_reason() or Termination.FINISHED
    solution = solution_of(instance, state)
    feasible = state.sums[INFEASIBILITY] == 0 and state.sums[MOVED] <= data.quota
    if not (feasible or data.exact):  # limits in doubles are tighter than the exact ones
        feasible = check(instance, solution).feasible
    if feasible:
        return Claim(solution=solution, termination=termination)
    return Claim(
        status=Status.NO_SOLUTION,
        termination=termination,
        reason=f"{termination.sentence}; some constraints are still violated",
    )

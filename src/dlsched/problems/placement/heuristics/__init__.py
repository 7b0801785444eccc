"""MAST's hill climbing, simulated annealing, and the placement of today."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.placement.definition.check import check
from dlsched.problems.placement.definition.schema import Instance, Solution
from dlsched.problems.placement.heuristics.climbing import hill_climb, rank
from dlsched.problems.placement.heuristics.halving import short_anneal
from dlsched.problems.placement.heuristics.schedules import (
    RESTARTS,
    Schedules,
    anneal,
    long_schedules,
)
from dlsched.problems.placement.structures.arrays import Data, arrays, homes_of
from dlsched.problems.placement.structures.flat_state import INFEASIBILITY, MOVED, State
from dlsched.problems.placement.structures.small import few_tables, some_tables
from dlsched.problems.placement.structures.state import state_of
from dlsched.registry.own import method
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.solvers.compilation import Ints


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
    instance: Instance, run: Run, restarts: int = RESTARTS, moves: int | None = None
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
        short = short_anneal(data, start, run.nested(), None)
    schedules = Schedules(restarts, moves or long_schedules(data).trials)
    state = anneal(data, initial_state(instance, data, run), run, *schedules)
    if short is not None and rank(short) < rank(state):
        state = short
    return _claim(instance, data, state, run)


@method("placement", kind="heuristic", preload=(".heuristics.local_search",), small=few_tables)
def short_annealing(instance: Instance, run: Run, trials: int | None = None) -> Claim:
    """`annealing` with so few trials that it takes about ten times the time of `hill_climbing`.

    From 100 tables on, several placements are annealed side by side with soft limits, and only the
    better ones go on as it cools. Else two schedules, one after the other, have half the trials
    each, the first with hard limits. Ours, not the paper's.

    Parameters
    ----------
    trials
        For each table, and 2,000 at least in all; by default 300, from 100 tables on 400.
    """
    if trials is not None and trials < 1:
        raise OptionError(f"trials={trials} must be from 1")
    data = arrays(instance)
    state = short_anneal(data, initial_state(instance, data, run), run, trials)
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

"""MAST's hill climbing, annealing, and the baselines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.placement.arrays import Data, arrays
from dlsched.problems.placement.check import check
from dlsched.problems.placement.layout import BROKEN, COST, MOVED, State
from dlsched.problems.placement.schema import Instance, Solution
from dlsched.registry import method
from dlsched.result import Claim, Status
from dlsched.run import Run

_CHUNK = 2_000
"""Tables between two looks at the clock."""
_COLDEST = 1e-300
_TRIALS = 20_000
"""Trials of annealing between two looks at the clock."""


@method("placement", kind="heuristic", preload=(".local",))
def hill_climbing(instance: Instance, run: Run, days: int | None = None) -> Claim:
    """Tables by the gain of their best move, each re-evaluated before it moves (section 3.4).

    A pass over all tables is one day. A table moves to the region that is best when its turn
    comes, or stays where no region improves the cost; one whose move would exceed the move quota
    is passed over. A move never breaks a constraint that holds; from a start that breaks some, what
    breaks less goes first.

    Parameters
    ----------
    days
        Passes at most; until nothing moves by default. The quota is for all of them together; for
        one of its own each day see `daily`.
    """
    if days is not None and days < 0:
        raise OptionError(f"days={days} must be from 0, or none")
    data = arrays(instance)
    return claim(instance, data, climbed(data, start_of(instance, data, run), run, days), run,
                 "hill_climbing")  # fmt: skip


@method("placement", kind="heuristic", preload=(".local",))
def annealing(instance: Instance, run: Run, restarts: int = 3, moves: int | None = None) -> Claim:
    """Simulated annealing with moves of tables, of all tables of a job, and swaps.

    It starts from the climbed placement, ends each restart with a climb, and returns the best.
    Ours, not the paper's.

    Parameters
    ----------
    restarts
        Schedules, one after the other, from hot to cold; each but the first from the best so far.
    moves
        Trials in each; by default 1,500 for each table, from 200,000 to 20 million.
    """
    if restarts < 1 or (moves is not None and moves < 1):
        raise OptionError("restarts and moves must be from 1")
    data = arrays(instance)
    state = climbed(data, start_of(instance, data, run), run, None)
    if len(data.size) and len(data.capacity) > 1:
        trials = moves or int(np.clip(1_500 * len(data.size), 200_000, 20_000_000))
        state = annealed(data, state, run, restarts, trials)
    return claim(instance, data, state, run, "annealing")


@method("placement", kind="baseline", preload=(".local",))
def stay(instance: Instance, run: Run) -> Claim:
    """Every table where it is today; one without a home where most is free."""
    data = arrays(instance)
    return claim(instance, data, start_of(instance, data, run), run, "stay")


def daily(instance: Instance, days: int, run: Run | None = None) -> Iterator[Solution]:
    """Yield hill climbing's placement after each day, each with the whole move quota for itself.

    Parameters
    ----------
    instance
        Its tables' homes are those before the first day.
    days
        Number of passes.
    """
    from dlsched.problems.placement.tally import state_of

    run = run or Run()
    data = arrays(instance)
    state = start_of(instance, data, run)
    for _ in range(days):
        state = climbed(data, state, run, 1)
        yield solution_of(instance, state, "hill_climbing")
        data = data._replace(home=state.home.copy())
        state = state_of(data, data.home)


def start_of(instance: Instance, data: Data, run: Run) -> State:
    """Return the state from which a search starts: the run's start, or the homes of today."""
    from dlsched.problems.placement.tally import state_of

    if isinstance(run.start, Solution):
        home = [instance.region_index[run.start.home[t.id]] for t in instance.tables]
        return state_of(data, home)
    return state_of(data, settled(data))


def settled(data: Data) -> Any:
    """Return the homes of today, with the tables that have none where most bytes are free."""
    home = data.home.copy()
    free = data.capacity - np.bincount(
        home[home >= 0], data.size[home >= 0], minlength=len(data.capacity)
    )
    homeless = np.flatnonzero(home < 0)
    for t in homeless[np.argsort(-data.size[homeless], kind="stable")].tolist():
        home[t] = np.argmax(free)
        free[home[t]] -= data.size[t]
    return home


def climbed(data: Data, state: State, run: Run, days: int | None) -> State:
    """Climb a state in place, day by day, until nothing moves or the run must stop."""
    from dlsched.problems.placement import local

    day, tables = 0, len(data.size)
    while tables and (days is None or day < days):
        gains = []
        for first in range(0, tables, _CHUNK):
            if run.stop_reason():
                return refreshed(state)
            gains.append(_gains(state, first, min(first + _CHUNK, tables)))
        region, broken, cost = (np.concatenate(parts) for parts in zip(*gains, strict=True))
        queue = np.lexsort((cost, broken))
        queue = queue[region[queue] != state.home[queue]]
        moved = 0
        for first in range(0, len(queue), _CHUNK):
            if run.stop_reason():
                break
            part = queue[first : first + _CHUNK]
            moved += local.climb(*state.packed, part, *_found(len(part)), True)
        refreshed(state)
        day += 1
        if not moved:
            break
    return state


def annealed(data: Data, state: State, run: Run, restarts: int, trials: int) -> State:
    """Anneal a state in place, and return it as the best that was met."""
    from dlsched.problems.placement import local

    record = _rank(state)
    for _ in range(restarts):
        hot, cold = _heats(data, state, run.rng)
        heats = np.geomspace(hot, cold, trials)
        for first in range(0, trials, _TRIALS):
            if run.stop_reason():
                break
            part = heats[first : first + _TRIALS]
            draws = run.rng.random((len(part), local.DRAWS))
            cost, broken = local.anneal(*state.packed, part, draws)
            record = min(record, (broken, cost, state.best.copy()), key=lambda r: r[:2])
        state.home[:] = record[2]
        record = min(record, _rank(climbed(data, refreshed(state), run, None)),
                     key=lambda r: r[:2])  # fmt: skip
        run.record(record[1] if not record[0] else None, None)
        if run.stop_reason():
            break
    state.home[:] = record[2]
    return refreshed(state)


def _gains(state: State, first: int, last: int) -> tuple[Any, Any, Any]:
    """Return the best region of each of a range of tables, and what it adds to broken and cost."""
    from dlsched.problems.placement import local

    found = _found(last - first)
    local.climb(*state.packed, np.arange(first, last, dtype=np.int64), *found, False)
    return found


def _found(tables: int) -> tuple[Any, Any, Any]:
    """Return arrays for the best regions of tables, and what they add to broken and cost."""
    return np.zeros(tables, dtype=np.int64), np.zeros(tables), np.zeros(tables)


def _rank(state: State) -> tuple[float, float, Any]:
    """Return what is broken, the cost, and the homes."""
    return float(state.sums[BROKEN]), float(state.sums[COST]), state.home.copy()


def refreshed(state: State) -> State:
    """Compute a state's sums afresh, so that no rounding stays."""
    from dlsched.problems.placement.tally import fill

    fill(*state.packed)
    return state


def _heats(data: Data, state: State, rng: np.random.Generator) -> tuple[float, float]:
    """Return the heats at both ends, from the mean worsening by a move to another region.

    Worsenings are log-normal as the sizes are, so it takes thrice the mean to reach the largest.
    """
    from dlsched.problems.placement.tally import weighed

    worse = []
    for _ in range(500):
        t, r = int(rng.integers(len(data.size))), int(rng.integers(len(data.capacity)))
        cost, _ = weighed(*state.packed, t, r)
        if cost > 0:
            worse.append(cost)
    typical = float(np.mean(worse)) if worse else 1.0  # no move costs anything: any heat will do
    return max(3 * typical, _COLDEST), max(3e-3 * typical, _COLDEST)


def solution_of(instance: Instance, state: State, name: str) -> Solution:
    """Return a state's homes as a solution."""
    regions = [region.id for region in instance.regions]
    home = {
        table.id: regions[r] for table, r in zip(instance.tables, state.home.tolist(), strict=True)
    }
    return Solution(home=home)


def claim(instance: Instance, data: Data, state: State, run: Run, name: str) -> Claim:
    """Return a state as a method's answer: its solution if nothing is broken."""
    reason = run.stop_reason() or "finished"
    solution = solution_of(instance, state, name)
    fits = state.sums[BROKEN] == 0 and state.sums[MOVED] <= data.quota
    if not fits and not data.exact:  # the limits in doubles are a little tighter than the true ones
        fits = check(instance, solution).feasible
    if not fits:
        return Claim(
            status=Status.NO_SOLUTION, reason=f"{reason}; some constraints are still broken"
        )
    return Claim(solution=solution, status=Status.FEASIBLE, reason=reason)

"""MAST's hill climbing, and the placement of today."""

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.placement.definition.check import check
from dlsched.problems.placement.definition.schema import Instance, Solution
from dlsched.problems.placement.kernels import local_search
from dlsched.problems.placement.structures.arrays import Data, arrays, homes_of
from dlsched.problems.placement.structures.state import (
    COST,
    INFEASIBILITY,
    MOVED,
    State,
    state_of,
)
from dlsched.registry.own import method
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.solvers.arrays import Floats, Ints

_TABLES_PER_CALL = 2_000
"""Of hill climbing, between two checks of the limits."""


@method("placement", kind="heuristic")
def hill_climbing(instance: Instance, run: Run, days: int | None = None) -> Claim:
    """Tables by the gain of their best move, each re-evaluated before it moves (section 3.4).

    A pass over all tables is one day. When its turn comes, a table moves to the region that is
    best then; it does not move if no region improves the cost, or if the move quota would be
    exceeded. A move never breaks a constraint that holds; from a start that breaks some, moves are
    ordered by infeasibility first, then by cost.

    Parameters
    ----------
    days
        Passes at most; until nothing moves by default. The quota is for all of them together.
    """
    if days is not None and days < 0:
        raise OptionError(f"days={days} must be from 0, or none")
    data = arrays(instance)
    state = hill_climb(data, initial_state(instance, data, run), run, days)
    return claim_of(instance, data, state, run)


@method("placement", kind="baseline")
def no_moves(instance: Instance, run: Run) -> Claim:
    """Every table where it is today; one without a home in the region with most free storage."""
    data = arrays(instance)
    return claim_of(instance, data, initial_state(instance, data, run), run)


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
        local_search.recompute(*state.packed)  # updates round
        day += 1
        if np.array_equal(before, state.home):
            break
    return state


def move_to(state: State, homes: Ints) -> None:
    """Change a state in place to that of other homes."""
    state.home[:] = homes
    local_search.recompute(*state.packed)


def _best_moves(state: State, tables: Ints, apply: bool = False) -> tuple[Ints, Floats, Floats]:
    """Return each table's best region, and what moving there adds to infeasibility and cost."""
    region = np.zeros_like(tables)
    worse = np.zeros(len(tables))
    cost = np.zeros(len(tables))
    local_search.climb(*state.packed, tables, region, worse, cost, apply)
    return region, worse, cost


def rank_of(state: State) -> tuple[float, float]:
    """Return the infeasibility and the cost."""
    return float(state.sums[INFEASIBILITY]), float(state.sums[COST])


def solution_of(instance: Instance, state: State) -> Solution:
    """Return a state's homes as a solution."""
    regions = [region.id for region in instance.regions]
    homes = zip(instance.tables, state.home.tolist(), strict=True)
    return Solution(home={table.id: regions[r] for table, r in homes})


def claim_of(instance: Instance, data: Data, state: State, run: Run) -> Claim:
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

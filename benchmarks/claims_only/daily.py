"""Hill climbing day by day, each with the whole move quota (MAST, section 3.4)."""

from __future__ import annotations

from collections.abc import Iterator

from dlsched.problems.placement import Instance, Solution
from dlsched.problems.placement.heuristics import hill_climb, initial_state, solution_of
from dlsched.problems.placement.structures.arrays import arrays
from dlsched.problems.placement.structures.state import state_of
from dlsched.run import Run


def daily(instance: Instance, days: int) -> Iterator[Solution]:
    """Yield the placement after each day.

    From the second day on, all moves since the first one may exceed the quota.

    Parameters
    ----------
    instance
        Its tables' homes are those before the first day.
    days
        Number of passes.
    """
    run = Run()
    data = arrays(instance)
    state = initial_state(instance, data, run)
    for _ in range(days):
        state = hill_climb(data, state, run, 1)
        yield solution_of(instance, state)
        data = data._replace(home=state.home.copy())
        state = state_of(data, data.home)

"""The placements that the exact method starts from: those of this problem's heuristics."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dlsched.problems.placement.definition.schema import Instance, Solution
from dlsched.problems.placement.heuristics import (
    SHORT_TRIALS,
    Schedules,
    anneal,
    initial_state,
    long_schedules,
    short_schedules,
    solution_of,
)
from dlsched.problems.placement.structures.arrays import Data
from dlsched.problems.placement.structures.small import few_tables, very_few_tables
from dlsched.run import Run

_SHARE = 0.95
"""Share of the time left that each heuristic may take."""
_FEW_TRIALS = 100
"""Trials of annealing for each of few tables, where a proof follows soon."""


def starts(
    instance: Instance, data: Data, run: Run, part: Callable[[float], Run]
) -> Iterator[Solution]:
    """Yield the placement of today, or the run's start, and those that heuristics make of it.

    They are `short_annealing` and `annealing`, which begin with `hill_climbing`, with the random
    numbers that they have by themselves. It is a shorter annealing if tables are few and the run
    has no limit, or so few that loops run as Python.

    Parameters
    ----------
    part
        Returns a run for a part of this one, given its seconds.
    """
    yield solution_of(instance, initial_state(instance, data, run))
    schedules = [short_schedules(data, SHORT_TRIALS), long_schedules(data)]
    unlimited = run.time_limit is None
    if very_few_tables(instance) or (unlimited and few_tables(instance)):
        schedules = [Schedules(1, _FEW_TRIALS * len(data.size))]
    for restarts, trials in schedules:
        nested = part(_SHARE * run.remaining())
        state = anneal(data, initial_state(instance, data, run), nested, restarts, trials)
        yield solution_of(instance, state)

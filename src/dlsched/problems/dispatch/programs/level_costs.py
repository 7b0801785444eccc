"""The levels of dispatch as costs of a program's columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from dlsched.problems.dispatch.definition.ranking import Ranked
from dlsched.problems.dispatch.definition.workloads import MOST_PRIORITIES
from dlsched.problems.dispatch.programs.program_rows import LevelCosts
from dlsched.problems.dispatch.structures.fleet import Fleet
from dlsched.schema import granularity

ONE = Fraction(1)
"""Granularity of levels that count."""


def levels(
    fleet: Fleet,
    ranking: Sequence[Ranked],
    victims: Mapping[int, int],
    regions: Mapping[tuple[int, int], int],
    spread: Iterable[int],
) -> list[LevelCosts]:
    """Return the levels of the problem.

    Parameters
    ----------
    victims
        Column of each running workload that may be preempted, by position.
    regions
        Column of each workload, by position, in each region where it may start.
    spread
        Columns of machines and racks in use.
    """
    instance = fleet.instance
    sizes = {r.position: instance.size(instance.pending[r.position]) for r in ranking}
    size_granularity = granularity(sizes.values())
    priority = {ranked.position: ranked.priority for ranked in ranking}
    levels: list[LevelCosts] = []
    for p in range(1, MOST_PRIORITIES + 1):
        started = {column: sizes[w] for (w, _), column in regions.items() if priority[w] == p}
        levels += [jobs_lost(fleet, victims, p), LevelCosts(started, size_granularity, "max")]
    return [*levels, youth(fleet, victims), LevelCosts(dict.fromkeys(spread, 1), ONE)]


def jobs_lost(fleet: Fleet, victims: Mapping[int, int], priority: int) -> LevelCosts:
    """Return the level of the jobs of a priority that are preempted."""
    of_priority = {v: column for v, column in victims.items() if fleet.priority[v] == priority}
    return LevelCosts({column: fleet.jobs[v] for v, column in of_priority.items()}, ONE)


def youth(fleet: Fleet, victims: Mapping[int, int]) -> LevelCosts:
    """Return the level of the victims' youth."""
    young = {column: fleet.young[v] for v, column in victims.items()}
    return LevelCosts(young, granularity(young.values()))

"""The levels of dispatch as costs of a program's columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from dlsched.problems.dispatch.definition.ranking import Ranked
from dlsched.problems.dispatch.definition.schema import MOST_PRIORITIES
from dlsched.problems.dispatch.structures.fleet import Fleet
from dlsched.schema import Number, granularity
from dlsched.solvers.outcome import Vector

Costs: TypeAlias = dict[int, Number]
"""The exact cost of each column that has one."""


def levels(
    fleet: Fleet,
    ranking: Sequence[Ranked],
    victims: Mapping[int, int],
    regions: Mapping[tuple[int, int], int],
    spread: Sequence[int],
) -> tuple[list[Costs], list[Fraction], list[str]]:
    """Return costs, granularities and senses of the levels.

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
    priority = {ranked.position: ranked.priority for ranked in ranking}
    costs: list[Costs] = []
    grains, senses = [], []
    for p in range(1, MOST_PRIORITIES + 1):
        lost: Costs = {
            column: fleet.jobs[v] for v, column in victims.items() if fleet.priority[v] == p
        }
        gained: Costs = {column: sizes[w] for (w, _), column in regions.items() if priority[w] == p}
        costs += [lost, gained]
        grains += [Fraction(1), granularity(sizes.values())]
        senses += ["min", "max"]
    young = {column: fleet.young[v] for v, column in victims.items()}
    grains += [granularity(fleet.young[v] for v in victims), Fraction(1)]
    return [*costs, young, dict.fromkeys(spread, 1)], grains, [*senses, "min", "min"]


def as_vectors(costs: Sequence[Costs], width: int) -> tuple[Vector, ...]:
    """Return the levels' costs as doubles, for a program with `width` columns."""
    vectors = []
    for level in costs:
        vector = np.zeros(width)
        for column, cost in level.items():
            vector[column] = float(cost)
        vectors.append(vector)
    return tuple(vectors)

"""The levels of dispatch as costs of a program's columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from dlsched.problems.dispatch.fleet import Fleet
from dlsched.problems.dispatch.ranking import Ranked
from dlsched.problems.dispatch.schema import MOST_PRIORITIES
from dlsched.schema import granularity
from dlsched.solvers.outcome import Vector


def levels(
    fleet: Fleet,
    ranking: Sequence[Ranked],
    victims: Mapping[int, int],
    regions: Mapping[tuple[int, int], int],
    spread: Sequence[int],
    width: int,
) -> tuple[list[Vector], list[Fraction], list[str]]:
    """Return costs, granularities and senses of the levels.

    Parameters
    ----------
    victims
        Column of each running workload that may be preempted, by position.
    regions
        Column of each workload, by position, in each region where it may start.
    spread
        Columns of machines and racks in use.
    width
        Number of columns.
    """
    instance = fleet.instance
    sizes = {r.position: instance.size(instance.pending[r.position]) for r in ranking}
    priority = {ranked.position: ranked.priority for ranked in ranking}
    costs, grains, senses = [], [], []
    for p in range(1, MOST_PRIORITIES + 1):
        lost, gained = np.zeros(width), np.zeros(width)
        for v, column in victims.items():
            lost[column] = fleet.jobs[v] if fleet.priority[v] == p else 0
        for (w, _), column in regions.items():
            gained[column] = float(sizes[w]) if priority[w] == p else 0
        costs += [lost, gained]
        grains += [Fraction(1), granularity(sizes.values())]
        senses += ["min", "max"]
    young, wide = np.zeros(width), np.zeros(width)
    for v, column in victims.items():
        young[column] = float(fleet.young[v])
    wide[list(spread)] = 1
    grains += [granularity(fleet.young[v] for v in victims), Fraction(1)]
    return [*costs, young, wide], grains, [*senses, "min", "min"]

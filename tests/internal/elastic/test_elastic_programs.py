"""Internal: elastic's `completion_rates`, which only policies call, and the certificate of `dp`."""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import dlsched
from dlsched.problems.elastic import Instance, Solution
from dlsched.problems.elastic.definition.check import check
from dlsched.problems.elastic.definition.job_choices import (
    gpus_of,
    running_time,
    solution_of,
    splits,
    workers_of,
)
from dlsched.problems.elastic.instances.strategy import VARIATIONS, instances
from dlsched.problems.elastic.structures.knapsack import items_of
from dlsched.problems.elastic.structures.knapsack_table import fill_table, proves
from dlsched.simulation.policies.completion_rates import completion_rates
from dlsched.testing import oracles
from dlsched.testing.strategies import elastic
from drawing import drawn

PRECISION = Fraction(1, 10**6)
"""Gains are rounded to whole units of the largest one: their sum is optimal up to this share."""


def allocations(instance: Instance) -> Iterator[Solution]:
    """Yield every allocation that fits."""
    idle = (0,) * len(instance.capacities)
    options = [[*splits(instance, j), *([] if j.running else [idle])] for j in instance.jobs]
    for chosen in itertools.product(*options):
        given = list(zip(instance.jobs, chosen, strict=True))
        used = [gpus_of(instance, j, w) if any(w) else idle for j, w in given]
        totals = [sum(column) for column in zip(idle, *used, strict=True)]
        if all(n <= free for n, free in zip(totals, instance.capacities, strict=True)):
            yield solution_of({j.id: w for j, w in given if any(w)})


def rate_of(instance: Instance, solution: Solution) -> Fraction:
    """Return the completions per second, from the definition."""
    given = ((j, workers_of(instance, solution, j)) for j in instance.jobs)
    return sum((1 / Fraction(running_time(instance, j, w)) for j, w in given if any(w)), Fraction())


@pytest.mark.parametrize("variation", range(len(VARIATIONS)))
def test_the_sum_of_the_rates_is_that_of_enumeration(variation: int) -> None:
    """No allocation that fits completes more jobs per second."""

    @drawn(30, instances(**VARIATIONS[variation]))
    def compare(instance: Instance) -> None:
        solution = dlsched.solve(instance, completion_rates).solution
        assert check(instance, solution).feasible
        best = max(rate_of(instance, other) for other in allocations(instance))
        reached = rate_of(instance, solution)
        assert best * (1 - PRECISION) <= reached <= best

    compare()


POOLS = partial(elastic, pools=True, max_jobs=4, max_choices=3)


def never() -> str | None:
    """Return no reason to stop."""
    return None


@pytest.mark.parametrize("strategy", [elastic, POOLS], ids=["capacity", "pools"])
def test_a_damaged_table_proves_nothing(strategy: Any) -> None:
    """A table bounds brute force; with a lowered entry, or a row less, or stopped, it does not."""

    @drawn(40, strategy(), st.integers(0, 10**6), st.integers(1, 3))
    def run(instance: Instance, where: int, by: int) -> None:
        items, best = items_of(instance), oracles.elastic(instance)
        numbers = np.arange(len(items))
        table = fill_table(items, numbers, items.exact.worth, items.capacity, never)
        assert table is not None and proves(table, never)
        assert table.most == best.launched * items.exact.step + best.reduction / items.unit
        last = (-1,) * table.entries.ndim
        table.entries[last] -= by
        assert table.most < 0 or not proves(table, never)
        table.entries[last] += by
        assert not proves(table._replace(entries=table.entries[:-1]), never)
        assert not proves(table, lambda: "time limit") or len(table.entries) == 1
        table.entries[0].flat[where % table.entries[0].size] = -1
        assert not proves(table, never)

    run()

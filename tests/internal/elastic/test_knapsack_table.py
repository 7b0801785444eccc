"""Internal: the certificate of elastic's `dp` is refused if an entry of the table is too small."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from dlsched.problems.elastic import Instance
from dlsched.problems.elastic.structures.knapsack import items_of
from dlsched.problems.elastic.structures.knapsack_table import fill_table, proves
from dlsched.testing import oracles
from dlsched.testing.strategies import elastic
from drawing import drawn

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

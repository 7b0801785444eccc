"""Lyra's own numbers: Tables 3 and 4, Figure 6."""

from __future__ import annotations

import pytest

from dlsched.problems.elastic import jct
from dlsched.problems.elastic.generate import examples


@pytest.mark.parametrize(
    ("example", "rule", "mean"),
    [(0, "AB", 51.67), (0, "BA", 41.67), (0, "equal", 45), (1, "AB", 62), (1, "BA", 63.33)],
)
def test_tables_3_and_4(example: int, rule: str, mean: float) -> None:
    """Mean completion times to the printed digits."""
    order = rule if rule == "equal" else list(rule)
    assert round(float(jct(examples()[example], order).mean), 2) == mean


def test_figure_6() -> None:
    """A's one item is 2 GPUs for 50 s; B's are 1 to 4 GPUs for 20, 30, 36 and 40 s."""
    a, b = ([(i.gpus, i.reduction) for i in row] for row in examples()[2].items)
    assert a == [(2, 50)]
    assert b == [(1, 20), (2, 30), (3, 36), (4, 40)]

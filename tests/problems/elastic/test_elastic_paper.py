"""Lyra's Figure 6 to the printed digits, and the optimum of Table 4."""

from __future__ import annotations

import dlsched
from dlsched.problems.elastic.definition.job_choices import choices


def test_figure_6_items() -> None:
    """A's one item takes 2 GPUs and saves 50 s; B's four save 20, 30, 36 and 40 s."""
    a, b = choices(dlsched.load("lyra-fig6"))
    assert [(*i.gpus, i.reduction) for i in a] == [(0, 0), (2, 50)]
    assert [(*i.gpus, i.reduction) for i in b] == [(0, 0), (1, 20), (2, 30), (3, 36), (4, 40)]


def test_the_optimum_of_table_4_is_not_shortest_first() -> None:
    """The knapsack gives A its third worker and B the rest: 86 s saved, not 40."""
    best = dlsched.solve("lyra-table4")
    assert (best.solution.workers, tuple(best.objective)) == ({"A": 3, "B": 5}, (2, 86))
    shortest = {"dlsched": 1, "problem": "elastic", "instance": "lyra-table4"}
    report = dlsched.verify("lyra-table4", shortest | {"workers": {"A": 2, "B": 6}})
    assert tuple(report.objective) == (2, 40)

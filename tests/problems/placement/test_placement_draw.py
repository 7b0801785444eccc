"""The pictures of placement: demand, supply and moves."""

from __future__ import annotations

import matplotlib as mpl

import dlsched
from dlsched.problems.placement import Solution
from dlsched.problems.placement.draw import draw, draw_moves

mpl.use("agg")


def test_three_bars_for_each_region_and_type() -> None:
    """Supply, demand today (no job has a region) and demand in the optimum, for both regions."""
    inst = dlsched.load("mast-two-regions")
    ax = draw(inst, dlsched.solve(inst).solution)
    heights = [bar.get_height() for bar in ax.patches]
    assert heights[:4] == [6, 6, 0, 0]
    assert sorted(heights[4:]) == [5, 5]
    assert ax.get_title().startswith("mast-two-regions: milp")


def test_without_a_solution_nothing_moves() -> None:
    """Both demands are those of today."""
    ax = draw(dlsched.generate("placement", 1, tables=9, regions=3, jobs=9))
    heights = [bar.get_height() for bar in ax.patches]
    third = len(heights) // 3
    assert heights[third : 2 * third] == heights[2 * third :]
    assert "0 bytes moved" in ax.get_title()


def test_moves_are_shares_of_all_bytes() -> None:
    """Moving clicks, 10 of 32 bytes, from east to west is one cell of 31.2 %."""
    inst = dlsched.load("mast-two-regions")
    home = {table.id: table.home for table in inst.tables} | {"clicks": "west"}
    ax = draw_moves(inst, Solution(home=home))
    assert [(text.get_position(), text.get_text()) for text in ax.texts] == [((1, 0), "31.2")]

"""The pictures of placement: demand, supply and moves."""

from __future__ import annotations

import matplotlib as mpl

import dlsched
from dlsched.problems.placement import Solution
from dlsched.problems.placement.pictures.draw import draw, draw_moves, draw_supply

mpl.use("agg")


def test_three_bars_for_each_region_and_type() -> None:
    """Supply, demand today (no job has a region) and demand in the optimum, for both regions."""
    inst = dlsched.load("mast-two-regions")
    ax = draw_supply(inst, dlsched.solve(inst).solution)
    heights = [bar.get_height() for bar in ax.patches]
    assert heights[:4] == [6, 6, 0, 0]
    assert sorted(heights[4:]) == [5, 5]
    assert ax.get_title(loc="left").startswith("mast-two-regions: milp")


def test_a_cell_for_each_table_and_region() -> None:
    """The optimum's cells: what each region reads of each table, and 8 of 56 bytes across."""
    inst = dlsched.load("mast-two-regions")
    ax = draw(inst, dlsched.solve(inst).solution)
    assert len(ax.patches) == 4 * 2
    assert [label.get_text() for label in ax.artists + ax.texts] == ["20", "12", "8", "8", "8"]
    assert "8 B (14.3 %) read across regions" in " ".join(ax.get_title(loc="left").split())


def test_many_tables_are_summed_by_home() -> None:
    """The cells of 60 tables add up to all bytes that jobs read."""
    inst = dlsched.generate("placement", 1, tables=60, regions=3, jobs=50)
    ax = draw(inst)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert sum(int(name.partition("(")[2][:-1]) for name in names) == 60
    assert "(all 60 tables, summed by home)" in ax.get_xlabel().replace("\n", " ")


def test_without_a_solution_nothing_moves() -> None:
    """Both demands are those of today."""
    ax = draw_supply(dlsched.generate("placement", 1, tables=9, regions=3, jobs=9))
    heights = [bar.get_height() for bar in ax.patches]
    third = len(heights) // 3
    assert heights[third : 2 * third] == heights[2 * third :]
    assert "0 B of tables moved" in ax.get_title(loc="left")


def test_moves_are_shares_of_all_bytes() -> None:
    """Moving clicks, 10 of 32 bytes, from east to west is one cell of 31.2 %."""
    inst = dlsched.load("mast-two-regions")
    home = {table.id: table.home for table in inst.tables} | {"clicks": "west"}
    ax = draw_moves(inst, Solution(home=home))
    labels = ax.artists + ax.texts
    assert [(label.get_position(), label.get_text()) for label in labels] == [((1, 0), "31.2")]

"""The pictures of utility show what a schedule holds."""

from __future__ import annotations

import matplotlib as mpl

import dlsched
from dlsched.problems.utility.draw import draw, draw_prices

mpl.use("agg")


def test_one_box_for_every_gpu_held() -> None:
    """Section II-A's optimum: J1 holds 3 GPUs in 3 slots, J2 two in two and J3 two in five."""
    inst = dlsched.load("hadar-section2")
    ax = draw(inst, dlsched.solve(inst).solution)
    assert len(ax.patches) == 9 + 4 + 10
    assert [text.get_text() for text in ax.texts].count("J1") == 9
    assert ax.get_title() == "hadar-section2: milp"


def test_without_a_schedule_lanes_are_empty() -> None:
    """An empty picture has a lane for every GPU and no box."""
    ax = draw(dlsched.load("hadar-section2"))
    assert (len(ax.patches), len(ax.get_yticks())) == (0, 6)


def test_prices_are_a_map_of_slots_by_types() -> None:
    """The image has a row for each type and a column for each slot."""
    inst = dlsched.load("hadar-section2")
    prices = {"V100": [float(t) for t in range(12)], "P100": [0.0] * 12}
    ax = draw_prices(inst, prices)
    assert ax.images[0].get_array().shape == (2, 12)
    assert ax.images[0].get_array().max() == 11

"""The pictures of utility show what a schedule holds."""

from __future__ import annotations

from collections import Counter

import matplotlib as mpl

import dlsched
from dlsched.problems.utility.draw import draw, draw_prices

mpl.use("agg")


def test_boxes_cover_the_slots_held() -> None:
    """Section II-A's optimum: J1 holds 3 GPUs in 3 slots, J2 two in two and J3 two in five."""
    inst = dlsched.load("hadar-section2")
    ax = draw(inst, dlsched.solve(inst).solution)
    held = [p for p in ax.patches if p.get_facecolor() != (1, 1, 1, 1)]
    by_colour = Counter()
    for box in held:
        by_colour[box.get_facecolor()] += box.get_width()
    assert sorted(by_colour.values()) == [4, 9, 10]
    assert {label.get_text() for label in ax.artists + ax.texts} == {"J1", "J2", "J3"}
    title = "hadar-section2: 6 GPUs, 3 jobs, 12 slots of 360 s; milp"
    assert ax.get_title(loc="left").replace("\n", " ") == title


def test_without_a_schedule_lanes_are_empty() -> None:
    """An empty picture has a white lane for every GPU and no other box."""
    ax = draw(dlsched.load("hadar-section2"))
    assert len(ax.get_yticks()) == 6
    assert [box.get_facecolor() for box in ax.patches] == [(1, 1, 1, 1)] * 6


def test_prices_are_a_map_of_slots_by_types() -> None:
    """The image has a row for each type and a column for each slot."""
    inst = dlsched.load("hadar-section2")
    prices = {"V100": [float(t) for t in range(12)], "P100": [0.0] * 12}
    ax = draw_prices(inst, prices)
    assert ax.images[0].get_array().shape == (2, 12)
    assert ax.images[0].get_array().max() == 11

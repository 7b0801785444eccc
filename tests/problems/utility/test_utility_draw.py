"""The pictures of utility show what a schedule holds."""

from __future__ import annotations

from collections import Counter

import pytest

import dlsched
from dlsched.problems.utility.pictures.draw import draw_prices


def test_boxes_cover_the_slots_held() -> None:
    """Section II-A's optimum: J1 holds 3 GPUs in 3 slots, J2 two in two and J3 two in five."""
    inst = dlsched.load("hadar-section2")
    ax = dlsched.plot(dlsched.solve(inst))
    held = [p for p in ax.patches if p.get_facecolor() != (1, 1, 1, 1)]
    by_colour = Counter()
    for box in held:
        by_colour[box.get_facecolor()] += box.get_width()
    assert sorted(by_colour.values()) == [4, 9, 10]
    assert {label.get_text() for label in ax.artists + ax.texts} == {"J1", "J2", "J3"}
    title = "hadar-section2: 6 GPUs, 3 jobs, 12 slots of 360 s; dantzig_wolfe: utility 48.8095"
    assert ax.get_title(loc="left").replace("\n", " ") == f"{title}; optimal"


@pytest.mark.parametrize("color_by", ["job", "gpu_type"])
def test_the_map_has_a_cell_for_each_slot_held(color_by: str) -> None:
    """Of 60 GPUs by slots, as many cells are coloured as the schedule holds."""
    found = dlsched.solve("utility-40x60-effective-2", "srtf")
    ax = dlsched.plot(found, color_by=color_by)
    coloured = (ax.images[0].get_array() < 1).any(axis=2)
    held = [h.gpus for rows in found.solution.schedule.values() for h in rows]
    assert coloured.sum() == sum(
        n for gpus in held for kinds in gpus.values() for n in kinds.values()
    )
    assert coloured.shape[0] == 60


def test_without_a_schedule_jobs_are_drawn_alone() -> None:
    """Of 360 s, J1 needs 3 slots at rate 30 on three GPUs, J2 two at 15, J3 five at 10."""
    ax = dlsched.plot(dlsched.load("hadar-section2"))
    assert [bar.get_width() for bar in ax.patches] == [3, 2, 5]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["J1", "J2", "J3"]


def test_prices_are_a_map_of_slots_by_types() -> None:
    """The image has a row for each type and a column for each slot."""
    inst = dlsched.load("hadar-section2")
    prices = {"V100": [float(t) for t in range(12)], "P100": [0.0] * 12}
    ax = draw_prices(inst, prices)
    assert ax.images[0].get_array().shape == (2, 12)
    assert ax.images[0].get_array().max() == 11

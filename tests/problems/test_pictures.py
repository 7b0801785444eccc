"""What the pictures of problems say, and the amounts that they show as lengths and colours."""

from collections import Counter
from typing import Any

import pytest

import dlsched
from dispatch_instances import instance, job, machines, waiting
from dlsched.problems.utility.draw import draw_prices

WHITE = (1, 1, 1, 1)


def words(ax: Any) -> list[str]:
    """Return the texts of a picture, and those of its rows and legends."""
    boxes = [child for child in ax.get_children() if hasattr(child, "fits")]
    legend = [text for box in ax.figure.legends for text in box.get_texts()]
    return [t.get_text() for t in [*ax.texts, *ax.artists, *boxes, *ax.get_yticklabels(), *legend]]


def title(ax: Any) -> str:
    """Return the title without its division into lines."""
    return " ".join(ax.get_title(loc="left").split())


def coloured(ax: Any) -> list[Any]:
    """Return the boxes that are not white."""
    return [patch for patch in ax.patches if patch.get_facecolor() != WHITE]


TEXTS: list[tuple[str, set[str], str]] = [
    ("hadar-section2", {"J1", "J2", "J3"},
     "hadar-section2: 6 GPUs, 3 jobs, 12 slots of 360 s; dantzig_wolfe: utility 48.8095; optimal"),
    ("lyra-fig5", {*"123456", *"abcd"}, "preempted 1, collateral 0"),
    ("workers-two-groups", {"a", "b", "training", "on loan, base", "on loan, flexible"},
     "2 jobs; arc_flow: placed 2, flexible 2, off_preference 0 GPUs, opened 1; optimal"),
    ("mast-two-regions", {"20", "12", "8"}, "8 B (14.3 %) read across regions"),
    ("mast-ten-gpus", {"job3", "preempted"}, ""),
    ("dispatch-small-05", {"region r0, cluster r0c0", "region r1, cluster r1c0", "v1",
                           "waiting: 3 of 5 pending workloads"}, ""),
    ("muri-table2", {"storage", "cpu", "gpu", "network"}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "texts", "heading"), TEXTS)
def test_texts(name: str, texts: set[str], heading: str) -> None:
    """Rows, jobs and headings are named, and the title has the objective."""
    ax = dlsched.plot(dlsched.solve(name))
    assert texts <= set(words(ax))
    assert heading in title(ax)


@pytest.mark.parametrize(
    ("problem", "options", "words"),
    [
        ("sensitivity", {"servers": 2}, "proportional: throughput 16, split 0"),
        ("interleaving", {"jobs": 8}, "alone"),
    ],
)
def test_an_instance_has_the_title_of_what_is_drawn(
    problem: str, options: dict[str, Any], words: str
) -> None:
    """Without a solution the proportional allocation is drawn, or jobs alone."""
    assert words in title(dlsched.plot(dlsched.generate(problem, 1, **options)))


def test_reclaiming_marks_what_is_returned_and_preempted() -> None:
    """Two servers are returned, job a is crossed, four GPUs are idle; a large one has frames."""
    ax = dlsched.plot(dlsched.solve("lyra-fig5"))
    assert sum("returned" in word for word in words(ax)) == 2 + 1  # rows, and the legend
    assert len([line for line in ax.lines if line.get_color() == "black"]) == 4
    used = [p for p in coloured(ax) if p.get_facecolor()[3] == 1]
    idle = [p for p in ax.patches if p.get_facecolor() == WHITE]
    assert sum(p.get_width() for p in idle) - sum(p.get_width() for p in used) == 4
    ax = dlsched.plot(dlsched.solve(dlsched.generate("reclaiming", 1, servers=60), "lyra"))
    frames = [p for p in ax.patches if p.get_edgecolor() == (0, 0, 0, 1)]
    assert sum(p.get_width() for p in frames) == 6


def test_utility_draws_the_slots_held() -> None:
    """Of section II-A J1 holds 3 GPUs in 3 slots, J2 two in two, J3 two in five; prices a map."""
    inst = dlsched.load("hadar-section2")
    by_colour = Counter[Any]()
    for box in coloured(dlsched.plot(dlsched.solve(inst))):
        by_colour[box.get_facecolor()] += box.get_width()
    assert sorted(by_colour.values()) == [4, 9, 10]
    assert [bar.get_width() for bar in dlsched.plot(inst).patches] == [3, 2, 5]  # alone
    prices = {"V100": [float(t) for t in range(12)], "P100": [0.0] * 12}
    ax = draw_prices(inst, prices)
    shades = [sum(cell.get_facecolor()[:3]) for cell in ax.patches]
    assert shades == sorted(shades[:12], reverse=True) + [3] * 12 and "11" in words(ax)


@pytest.mark.parametrize("color_by", ["job", "gpu_type"])
def test_utility_s_map_has_a_cell_for_each_slot_held(color_by: str) -> None:
    """Of 60 GPUs by slots, as many cells are coloured as the schedule holds."""
    found = dlsched.solve("utility-40x60-effective-2", "srtf")
    cells = (dlsched.plot(found, color_by=color_by).images[0].get_array() < 1).any(axis=2)
    held = [gpus for rows in found.solution.schedule.values() for h in rows
            for kinds in h.gpus.values() for gpus in kinds.values()]  # fmt: skip
    assert (cells.sum(), len(cells)) == (sum(held), 60)


@pytest.mark.parametrize("rule", ["muri", "muri_worst_order"])
def test_interleaving_s_bars_fill_gamma_of_the_lanes(rule: str) -> None:
    """Of the lanes' area, bars that are not white are gamma, also at poor offsets."""
    made = dlsched.load("muri-table2")
    result = dlsched.solve(made, rule)
    ax = dlsched.plot(result)
    stages, every = (sum(p.get_width() for p in boxes) for boxes in (coloured(ax), ax.patches))
    assert stages == pytest.approx(float(sum(sum(job.stages) for job in made.jobs)))
    assert stages / every == pytest.approx(float(result.objective[0]))
    alone, grouped = (
        max(p.get_x() + p.get_width() for p in part.patches) for part in (dlsched.plot(made), ax)
    )
    assert rule != "muri" or (grouped == pytest.approx(917.67, abs=0.01) and grouped < alone)


def test_sensitivity_s_bars_are_the_shares_in_use() -> None:
    """Boxes add up to the checker's shares of GPUs, CPUs and memory; behind them all is idle."""
    made = dlsched.load("synergy-two-servers")
    result = dlsched.solve(made)
    ax = dlsched.plot(result)
    idle = [p.get_width() for p in ax.patches if p.get_facecolor() == WHITE]
    assert idle == [1] * 3 * made.servers.count
    expected = sum(result.details[name] for name in ("gpus", "cpus", "memory"))
    total = sum(p.get_width() for p in coloured(ax))
    assert total == pytest.approx(expected * made.servers.count)
    many, shades = dlsched.generate("sensitivity", 1, servers=24), []
    for method in ("proportional", "tune"):  # an even share has one colour
        pixels = dlsched.plot(dlsched.solve(many, method)).images[0].get_array()
        shades.append(len({tuple(cell) for row in pixels for cell in row} - {WHITE[:3]}))
    assert shades[0] == 1 < shades[1]


def test_dispatch_s_victims_are_hatched_below_their_machine() -> None:
    """The box of job3 is as wide as its share, hatched, and starts where its machine's row ends."""
    ax = dlsched.plot(dlsched.solve("mast-ten-gpus"))
    (victim,) = [p for p in ax.patches if p.get_hatch()]
    assert victim.get_width() == 1
    assert "running within quota" not in words(ax)
    (new,) = [p for p in ax.patches if p.get_width() == pytest.approx(10 / 12)]
    assert new.get_y() < victim.get_y()


@pytest.mark.filterwarnings("error")
def test_dispatch_without_machines_and_with_very_many_pending() -> None:
    """An empty picture without a warning; 500 waiting workloads are counted by priority."""
    dlsched.plot(instance({})).figure.canvas.draw()
    pending = [waiting(f"w{n}", job(gpus=1)) for n in range(500)]
    ax = dlsched.plot(instance({"c$": [machines("m$", 8)]}, pending=pending, name="$x$"))
    ax.figure.canvas.draw()
    assert {"99", "401"} <= set(words(ax))  # a quota of 99 GPUs, the others have the lowest
    assert len(ax.patches) < 10

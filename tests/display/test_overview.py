"""`dlsched.plot_overview`: all problems at a glance."""

from itertools import combinations
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from numpy.typing import NDArray

import dlsched
from dlsched.results.result import Point
from plotted import WIDTHS, at_width, large, legend, require_legible, with_names


def run(instance: str, method: str, **gaps: float | None) -> dict[str, Any]:
    """Return a row of reclaiming."""
    cells: dict[str, Any] = {f"{level}_gap_to_best": gap for level, gap in gaps.items()}
    stated = [gap for gap in gaps.values() if gap is not None]
    cells["gap_to_best"] = next((gap for gap in stated if gap), 0.0)
    cells["at_optimum"] = list(gaps) == ["preempted", "collateral"] and not any(stated)
    kinds = {"exact": "exact", "lyra": "heuristic", "scf": "baseline"}
    row = {"problem": "reclaiming", "instance": instance, "method": method, "status": "feasible"}
    return row | cells | {"kind": kinds[method]}


def table() -> pd.DataFrame:
    """Return a table in which reclaiming's methods differ at the second level only."""
    gaps = {"exact": (0.0, 0.0), "scf": (0.5, 0.25), "lyra": (0.1, 0.0)}
    rows = [
        run(instance, name, preempted=0.0, collateral=gap)
        for name, both in gaps.items()
        for instance, gap in zip("ab", both, strict=True)
    ]
    return pd.DataFrame(rows)


def rows_of(ax: Any) -> dict[str, str]:
    """Return what stands at the right of each method."""
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    beside = [text.get_text() for text in ax.texts if " of " in text.get_text()]
    return dict(zip(names, beside, strict=True))


def test_gaps_are_of_a_run_s_first_level_that_is_not_at_its_bound() -> None:
    """The best method is first; all levels decide on optimal."""
    (ax,) = dlsched.plot_overview(table()).axes
    assert ax.get_title(loc="right") == "gap"
    assert rows_of(ax) == {"exact": "2 of 2", "lyra": "1 of 2", "scf": "0 of 2"}
    means = [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == "-"]
    assert means == pytest.approx([0, 5, 37.5])


def test_one_run_that_differs_at_the_first_level_hides_no_others() -> None:
    """Gaps at later levels stay; worse runs and those without a gap count as not optimal."""
    worse = pd.DataFrame(
        [run("c", "exact", preempted=0.0, collateral=0.0), run("c", "scf", preempted=0.4)]
    )
    (ax,) = dlsched.plot_overview(pd.concat([table(), worse])).axes
    means = [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == "-"]
    assert means == pytest.approx([0, 5, (50 + 25 + 40) / 3])
    assert rows_of(ax)["scf"] == "0 of 3"
    failed = worse.assign(gap_to_best=None, at_optimum=False)
    (ax,) = dlsched.plot_overview(pd.concat([table(), failed])).axes
    assert rows_of(ax)["exact"] == "2 of 3"


def test_without_a_bound_it_says_so() -> None:
    """No count of optimal runs over an empty axis, which said "optimal 0 of 6"."""
    unknown = table().assign(gap_to_best=None, at_optimum=False)
    (ax,) = dlsched.plot_overview(unknown).axes
    texts = [text.get_text().replace("\n", " ") for text in ax.texts]
    assert sorted(texts) == ["2 runs"] * 3 + ["no bound computed; add exact or spectral"]
    assert not ax.get_xticks().size


@pytest.mark.parametrize("width", WIDTHS)
def test_text_is_legible_and_inside(width: str) -> None:
    """At both widths of a paper, with a panel for each problem, in two columns if it is wide."""
    both = pd.concat([table(), table().assign(problem="elastic", method="m" * 40)])
    figure = at_width(width, dlsched.plot_overview, both)
    assert len({round(ax.get_position().x0, 2) for ax in figure.axes}) == 1 + (width == "double")
    require_legible(figure)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("width", WIDTHS)
def test_a_single_run(width: str) -> None:
    """One method, and a run that failed, still have room for their dots."""
    failed = table().iloc[:1].assign(gap_to_best=None, at_optimum=False)
    for rows in (table().iloc[:1], failed):
        (ax,) = at_width(width, dlsched.plot_overview, rows).axes
        assert ax.get_window_extent().height > 20


def test_tables_without_runs_are_refused() -> None:
    """An empty table, and what is no table."""
    with pytest.raises(dlsched.OptionError, match="plot_overview: the table has no rows"):
        dlsched.plot_overview(table().iloc[:0])
    with pytest.raises(dlsched.OptionError, match="plot_overview needs a table with the column"):
        dlsched.plot_overview(table().drop(columns="method"))


PAIRS = {
    "reclaiming": ("lyra-fig5", "gpu_fraction", "3 of 4 jobs and 4 of 6 servers differ"),
    "elastic": ("elastic-small-05", "lyra", "4 of 9 jobs differ"),
    "workers": ("workers-small-07", "bfd", "8 of 11 jobs differ"),
    "interleaving": ("interleaving-small-05", "greedy", "12 of 16 jobs differ"),
    "utility": ("utility-small-02", "tiresias", "2 of 3 jobs differ"),
    "placement": ("placement-small-02", "no_moves", "tables differ"),
    "sensitivity": ("synergy-tables", "proportional", "4 of 4 jobs differ"),
    "dispatch": ("dispatch-small-05", "local", "3 of 10 workloads differ"),
    "shares": ("shares-small-03", "isolated", "5 of 5 jobs differ"),
    "configurations": ("configurations-small-03", "greedy", "jobs differ"),
}
"""For each problem an instance, a method that is not at its optimum, and words of the title."""


def pair(problem: str) -> tuple[dlsched.Result, dlsched.Result]:
    """Return a heuristic's result and the optimum."""
    instance = dlsched.load(PAIRS[problem][0])
    return dlsched.solve(instance, PAIRS[problem][1]), dlsched.solve(instance)


def title(figure: Any) -> str:
    """Return a figure's title in one line."""
    return " ".join(figure.get_suptitle().split())


@pytest.mark.parametrize(
    "problem", ["reclaiming", "utility", *(pytest.param(n, marks=pytest.mark.slow) for n in PAIRS)]
)
def test_every_problem_has_a_difference(problem: str) -> None:
    """Two pictures, the numbers in the title, one legend; text is inside, and not too small."""
    a, b = pair(problem)
    figure = at_width("double", dlsched.plot_difference, a, b)
    assert PAIRS[problem][2] in title(figure) and "gap of" in title(figure)
    left, right = figure.axes
    assert left.get_title(loc="left").startswith(f"{a.method}: ")
    assert " ".join(right.get_title(loc="left").split()).endswith("; optimal")
    assert len(figure.legends) == 1 and left.get_legend() is None
    require_legible(figure)


def test_what_is_equal_is_pale() -> None:
    """A solution beside itself has no colour of a job, and the title says so."""
    _, best = pair("reclaiming")
    figure: Any = dlsched.plot_difference(best, best.solution)
    assert title(figure) == (
        "lyra-fig5: 0 of 4 jobs and 0 of 6 servers differ; equal in all levels"
    )
    faces = {mpl.colors.to_hex(p.get_facecolor(), keep_alpha=True) for p in figure.axes[0].patches}
    assert {face for face in faces if face.endswith("ff")} == {"#e6e9edff", "#ffffffff"}
    (legend,) = figure.legends
    assert "the same outcome in both" in [text.get_text() for text in legend.get_texts()]


def test_a_narrow_one_is_above_the_other() -> None:
    """At the width of one column the two pictures are one above the other."""
    figure = at_width("single", dlsched.plot_difference, *pair("elastic"), title="$a$ title")
    above, below = (ax.get_position() for ax in figure.axes)
    assert above.y0 > below.y1
    assert title(figure) == r"\$a\$ title"


def test_differences_of_two_instances_are_refused() -> None:
    """Two instances, and results without a solution; the number of open figures stays."""
    a, _ = pair("elastic")
    other = dlsched.solve("lyra-table4")
    before = len(plt.get_fignums())
    with pytest.raises(dlsched.OptionError, match="two solutions of one instance"):
        dlsched.plot_difference(a, other)
    impossible = dlsched.load("lyra-fig5").model_copy(update={"demand": 99})
    with pytest.raises(dlsched.OptionError, match="a result has none"):
        dlsched.plot_difference(dlsched.solve(impossible), dlsched.solve(impossible))
    assert len(plt.get_fignums()) == before


def test_a_search_is_best_solution_and_bound() -> None:
    """The lines are the trajectory's, the best so far, from its first point to the total time."""
    result = dlsched.solve("interleaving-32")
    ax = dlsched.plot_search(result)
    best, bound = ax.lines
    assert [best.get_label(), bound.get_label()] == ["best solution", "bound"]
    assert list(bound.get_ydata()[1:]) == sorted(bound.get_ydata()[1:], reverse=True)
    assert best.get_ydata()[-1] == pytest.approx(float(result.objective[0]))
    assert ax.get_xlim() == pytest.approx((0, result.seconds.total))
    assert ax.get_title(loc="left").endswith("optimal")


def test_searches_that_cannot_be_drawn() -> None:
    """No points, points of several levels, and what is no result."""
    result = dlsched.solve("lyra-fig5")
    for points, said in (
        ((), "recorded no objective"),
        ((Point(0.1, 1.0, 1.0), Point(0.2, 0.0, 0.0)), "several levels"),
    ):
        object.__setattr__(result, "trajectory", points)
        with pytest.raises(dlsched.OptionError, match=said):
            dlsched.plot_search(result)
    object.__setattr__(result, "trajectory", (Point(0.1, 1.0, 1.0), Point(0.2, 0.0, 0.0)))
    with pytest.raises(dlsched.OptionError, match="several levels"):
        dlsched.plot_search(result)
    object.__setattr__(result, "trajectory", (Point(0.1, 3.0, 0.5), Point(0.2, 1.0, 1.0)))
    assert dlsched.plot_search(result).get_ylabel() == "preempted"
    with pytest.raises(dlsched.OptionError, match="cannot draw str"):
        dlsched.plot_search("lyra-fig5")


VISION = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
"""What is seen of linear red, green and blue (Machado, Oliveira, Fernandes, 2009, severity 1)."""
_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: Any) -> NDArray[np.float64]:
    """Return the linear parts of a colour."""
    parts = np.array(mpl.colors.to_rgb(colour))
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(colour: Any, vision: str) -> NDArray[np.float64]:
    """Return a colour as CIE L*a*b* (D65), as some vision sees it."""
    seen = np.clip(np.array(VISION[vision]) @ linear(colour), 0, 1)
    x, y, z = (_TO_XYZ @ seen) / np.array([0.9505, 1.0, 1.089])
    a, b, c = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return np.array([116 * b - 16, 500 * (a - b), 200 * (b - c)])


def contrast(a: Any, b: Any) -> float:
    """Return the contrast of two colours (WCAG 2)."""
    low, high = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


def looks(count: int) -> dict[str, tuple[Any, Any]]:
    """Return colour and pattern of so many jobs, by name, as the legend shows them."""
    names = tuple(f"job {n}" for n in range(count))
    (box,) = dlsched.plot(with_names(names), color_by="job").figure.legends
    entries = zip(box.get_texts(), box.legend_handles, strict=True)
    shown = {text.get_text(): handle for text, handle in entries}
    return {n: (h.get_facecolor(), h.get_hatch()) for n, h in shown.items() if n in names}


def test_seven_colours_can_be_told_apart() -> None:
    """Any two differ by at least 12 in CIE L*a*b*, where about 2 is just noticed side by side."""
    colours = [colour for colour, pattern in looks(7).values() if not pattern]
    assert len(set(colours)) == 7
    for vision in VISION:
        seen = [lab(colour, vision) for colour in colours]
        assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) >= 12


def test_more_than_seven_names_have_patterns() -> None:
    """21 names have 21 looks of colour and pattern; of 22 the legend says that looks repeat."""
    found = looks(21)
    assert len(found) == len(set(found.values())) == 21
    assert len({colour for colour, _ in found.values()}) == 7
    assert "22 jobs; looks repeat after 21" in legend(
        dlsched.plot(with_names(tuple(map(str, range(22)))), color_by="job")
    )


def test_text_has_contrast() -> None:
    """Labels in boxes, on every colour, have a contrast of at least 4.5 (WCAG 2, AA)."""
    names = tuple(f"job {n}" for n in range(7))
    figure = dlsched.plot(with_names(names), color_by="job").figure
    boxes = {patch.get_xy(): patch.get_facecolor() for patch in figure.axes[0].patches}
    labels = [t for t in figure.axes[0].get_children() if hasattr(t, "fits")]
    found = [contrast(label.get_color(), boxes[label.box[:2]]) for label in labels]
    assert len(found) >= 7 and min(found) >= 4.5


def test_running_workloads_stand_out_from_each_other() -> None:
    """On machines of dispatch, those within their quota are darker than those over it."""
    entries = legend(dlsched.plot(large("dispatch")))
    assert contrast(entries["running within quota"], entries["running over quota"]) >= 2.6


def test_names_of_methods_have_contrast() -> None:
    """Of the paper's rule, too, which alone has a colour: at least 4.5 on white."""
    for owner in map(dlsched.registry.problem, dlsched.list_problems()):
        assert not owner.paper_method or owner.methods[owner.paper_method].kind == "heuristic"
    table = dlsched.compare(["lyra-fig5", "reclaiming-small-05"], ["exact", "scf", "lyra"])
    (ax,) = dlsched.plot_overview(table).axes
    colours = {label.get_text(): label.get_color() for label in ax.get_yticklabels()}
    assert colours["lyra"] != colours["exact"] == colours["scf"]
    texts = [t for t in ax.figure.findobj(mpl.text.Text) if t.get_text() and t.get_visible()]
    assert min(contrast(text.get_color(), "white") for text in texts) >= 4.5

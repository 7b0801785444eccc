"""Pictures of documents and of tables of runs: what they say, with legible text."""

from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import dlsched
from calls import run
from dlsched import registry
from plotted import (
    DRAWN,
    WIDTHS,
    at_width,
    drawing,
    large,
    legend,
    require_legible,
    solved,
    svg_text,
    with_names,
    words,
)


@pytest.mark.parametrize("problem", sorted({*DRAWN} - {"placement", "dispatch", "shares"}))
def test_every_job_shown_has_its_legend_entry(problem: str) -> None:
    """The legend names the jobs that hold something, each in a colour of its own, and idle time."""
    result = solved(problem)
    ax = dlsched.plot(result)
    entries = legend(ax)
    jobs = [job.id for job in dlsched.load(DRAWN[problem].example).jobs]
    assert [name for name in entries if name in jobs] == jobs
    assert len({entries[name] for name in jobs}) == len(jobs)
    if problem not in ("elastic", "configurations"):
        assert entries["idle"] == mpl.colors.to_rgba("white")


def test_a_job_has_its_colour_whatever_is_drawn() -> None:
    """Two solutions of an instance, and the instance alone, show a job in the same colour."""
    instance = dlsched.generate("sensitivity", seed=1, servers=2)
    pictures = [dlsched.solve(instance, m) for m in ("greedy", "proportional")]
    first, second = (legend(dlsched.plot(result)) for result in pictures)
    shared = {job.id for job in instance.jobs} & set(first) & set(second)
    assert len(shared) > 10
    assert all(first[name] == second[name] for name in shared)


def test_the_map_of_servers_has_a_cell_for_every_gpu() -> None:
    """The cells of 120 servers of 8 GPUs, and white ones for those that are idle."""
    result = large("reclaiming")
    instance = dlsched.load(dlsched.generate("reclaiming", seed=1, servers=120))
    ax = dlsched.plot(result)
    cells = [image.get_array() for image in ax.images]
    assert sum(part.shape[0] * part.shape[1] for part in cells) == 8 * 120
    idle = sum(int((part == 1).all(axis=2).sum()) for part in cells)
    used = sum(worker.gpus for job in instance.jobs for worker in job.workers)
    assert idle == 8 * 120 - used


@pytest.mark.parametrize("problem", DRAWN)
@pytest.mark.parametrize("size", ["small", pytest.param("large", marks=pytest.mark.slow)])
def test_every_colouring(problem: str, size: str) -> None:
    """Each value of color_by draws; another is refused. A large picture says that all is in."""
    result = solved(problem) if size == "small" else large(problem)
    draw = drawing(problem)
    possible = draw.COLOR_BY
    if size == "large":
        possible = getattr(draw, "COLOR_BY_OF_MANY", possible)
        ax = dlsched.plot(result)
        assert DRAWN[problem].whole in words(ax)
        assert max(map(len, ax.get_xlabel().split("\n"))) < 140
    for name in possible:
        assert dlsched.plot(result, color_by=name).has_data()
    with pytest.raises(dlsched.OptionError, match=f"can be coloured by {', '.join(possible)}"):
        dlsched.plot(result, color_by="mood")


BACKGROUNDS = ("white", "plate", "transparent")


def test_files(workdir: Path) -> None:
    """Each format is written with text as text, twice the same, with any background."""
    dlsched.save(solved("reclaiming"), "best.json")
    for form in ("pdf", "svg", "png"):
        for background in BACKGROUNDS if form == "png" else ("white", "white"):
            run("plot", "lyra-fig5", "best.json", "--background", background, "-o", f"x.{form}")
            content = Path(f"x.{form}").read_bytes()
            before = Path(f"{background}.{form}")
            assert not before.exists() or before.read_bytes() == content
            before.write_bytes(content)
    pdf, svg = Path("white.pdf").read_bytes(), Path("white.svg").read_bytes()
    assert pdf.startswith(b"%PDF") and b"/Type /Font" in pdf and b"Type3" not in pdf
    assert svg.startswith(b"<?xml") and b"collateral 0 GPUs" in svg
    png = {background: plt.imread(f"{background}.png") for background in BACKGROUNDS}
    assert [png[b][0, 0, 3] for b in BACKGROUNDS] == [1, 0, 0]
    assert png["plate"][:, 30, 3].max() == 1


def test_what_plot_is_given() -> None:
    """The picture is on the given axes; what is no axes, or cannot be drawn, is refused."""
    _, (left, right) = plt.subplots(1, 2, figsize=(7, 2.5))
    assert dlsched.plot(solved("reclaiming"), right) is right
    assert right.get_legend() is not None and not left.has_data()
    instance, solution = dlsched.load("lyra-fig5"), solved("reclaiming")
    assert dlsched.plot(dlsched.load_solution(solved("elastic").to_data())).has_data()
    generated = dlsched.generate("reclaiming", seed=1, servers=8)
    bare = dlsched.load_solution(dlsched.solve(generated, "lyra").solution.to_data())
    assert dlsched.plot(bare, instance=generated).has_data()
    _, several = plt.subplots(1, 2)
    no_axes = "is not axes with x and y"
    refused: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
        *((instance, {"ax": ax}, dlsched.OptionError, no_axes) for ax in (several, 3)),
        (
            instance,
            {"ax": plt.figure().add_subplot(projection="polar")},
            dlsched.OptionError,
            no_axes,
        ),
        (solution, {"instance": "lyra-fig5"}, dlsched.OptionError, "str is no instance"),
        (bare, {}, dlsched.InstanceError, r"plot\(solution, instance=\.\.\.\)"),
        (
            bare,
            {"instance": instance},
            dlsched.InstanceError,
            "is not the instance given, lyra-fig5",
        ),
        ("lyra-fig5", {}, dlsched.OptionError, "give an instance, a solution or a result"),
    ]
    for what, options, error, said in refused:
        with pytest.raises(error, match=said):
            dlsched.plot(what, **options)


EMPTY = {"dlsched": 1, "problem": "utility", "name": "x", "slot_seconds": 1}


def crowded(instance: Any, count: int) -> Any:
    """Return an instance with so many servers more, like the first; each has a million GPUs."""
    own = [s.model_copy(update={"gpus": 10**6}) for s in instance.servers]
    more = [own[0].model_copy(update={"id": str(n)}) for n in range(count)]
    return instance.model_copy(update={"servers": (*own, *more)})


def test_more_cells_than_can_be_drawn() -> None:
    """They are refused before memory is taken, and left out in a notebook; a few lines are not."""
    instance = with_names(("a",))
    ax = dlsched.plot(crowded(instance, 0))
    assert len(ax.lines) + len(ax.collections) + len(ax.patches) < 20
    job = {"id": "a", "arrival": 1, "workers": 1, "iterations": 5, "rates": {"V100": 1}}
    machines = [{"id": "m", "gpus": {"V100": 10**9}}]
    schedule = dlsched.solve(EMPTY | {"slots": 9, "machines": machines, "jobs": [job]}, "srtf")
    for what, said in (
        (crowded(instance, 30), r"32 x 1,000,000 cells, .* can be drawn"),
        (crowded(dlsched.generate("workers", seed=1), 30), r"x 1,000,000 cells, .* can be drawn"),
        (schedule, r"1,000,000,000 x 9 cells"),
    ):
        with pytest.raises(dlsched.OptionError, match=said):
            dlsched.plot(what)
    assert "<img" not in schedule._repr_html_() and "srtf" in schedule._repr_html_()


@pytest.mark.filterwarnings("error")
def test_a_schedule_without_machines() -> None:
    """An empty picture, without a warning."""
    instance = dlsched.load(EMPTY | {"slots": 1, "machines": [], "jobs": []})
    assert "0 GPUs" in words(dlsched.plot(dlsched.solve(instance)))


@pytest.mark.parametrize(
    "width", [pytest.param(w, marks=() if w == "single" else pytest.mark.slow) for w in WIDTHS]
)
@pytest.mark.parametrize("problem", DRAWN)
def test_text_is_legible_and_inside_the_picture(problem: str, width: str) -> None:
    """No text is smaller than 6 points, and none reaches beyond a figure of a paper's width."""
    for result in (solved(problem), large(problem)):
        require_legible(at_width(width, dlsched.plot, result))


def test_labels_are_written_only_where_they_fit() -> None:
    """In a narrow picture a short stage has no name, in a wide one it has one."""
    result = solved("interleaving")
    written = {}
    for width in (2.0, 14.0):
        with mpl.rc_context({"figure.figsize": (width, 1)}):
            figure: Any = dlsched.plot(result).figure
        figure.canvas.draw()
        labels = [t for t in figure.axes[0].get_children() if hasattr(t, "fits")]
        written[width] = sum(label.fits(figure.canvas.get_renderer()) for label in labels)
    assert 0 < written[2.0] < written[14.0] <= len(labels)


def test_a_hatch_does_not_cross_a_label() -> None:
    """A label on a hatched box has an opaque plate in the box's colour."""
    instance = dlsched.generate("reclaiming", 4, servers=20, flexible=0.5)
    ax = dlsched.plot(instance, color_by="job")
    hatched = {p.get_xy() for p in ax.patches if p.get_hatch()}
    plates = [t for t in ax.get_children() if hasattr(t, "fits") and t.box[:2] in hatched]
    assert hatched and all(label.get_bbox_patch().get_alpha() is None for label in plates)
    assert len(plates) == len(hatched)


ODD = ("$\\frac{", "$a_b$", "_first", "two\nlines\tand a tab", "x" * 80)
"""Names that matplotlib would read as formulas, leave out, or break."""


def test_names_are_no_formulas() -> None:
    """Dollar signs, leading underscores and control characters are shown as they are."""
    ax = dlsched.plot(dlsched.solve(with_names(ODD)))
    written = svg_text(ax.figure)
    for text in ("100$ $\\bad$: 2 servers", *ODD[:3], "two\\nlines\\tand a tab"):
        assert f">{text}" in written


@pytest.mark.parametrize("problem", registry.problem_names())
def test_an_instance_s_name_is_no_formula(problem: str) -> None:
    """Every problem's title begins with the name as it is."""
    instance = dlsched.generate(problem, seed=1).model_copy(update={"name": "$\\frac{$"})
    assert ">$\\frac{$" in svg_text(dlsched.plot(instance).figure)


def test_a_title_of_one_s_own_is_shown_as_it_is() -> None:
    """A formula is set by matplotlib's own call."""
    ax = dlsched.plot(with_names(("a",)), title="$\\frac{$")
    assert ">$\\frac{$" in svg_text(ax.figure)
    ax.set_title("at $\\alpha = 1$")
    assert "\N{GREEK SMALL LETTER ALPHA}" in svg_text(ax.figure)


@pytest.mark.parametrize(
    "dpi", [110, *(pytest.param(dpi, marks=pytest.mark.slow) for dpi in (50, 300))]
)
def test_the_legend_stays_in_the_figure(dpi: int) -> None:
    """At resolutions where hinting makes letters wider, too."""
    names = tuple(f"ilm wxW_-a {k}" * (k % 4 + 1) for k in range(9))
    for count in range(2, 10):
        figure = dlsched.plot(with_names(names[:count])).figure
        figure.set_dpi(dpi)
        figure.canvas.draw()
        (box,) = figure.legends
        assert box.get_window_extent().x1 <= figure.bbox.x1
        plt.close(figure)


METHODS = ["arc_flow", "milp", "bfd", "bases_first"]

KINDS = ("gaps", "quality", "gap_profile", "profile", "time", "gap_by_size")


@cache
def table() -> pd.DataFrame:
    """Return four methods on six instances of three sizes."""
    instances = [
        dlsched.generate("workers", seed=s, training=n, loan=n) for n in (3, 5, 8) for s in (1, 2)
    ]
    rows = dlsched.compare(instances, METHODS)
    assert rows.groupby("size").size().to_dict() == {6: 8, 10: 8, 16: 8}  # servers
    return rows


def test_gaps_are_those_of_the_table() -> None:
    """A method's points are its gaps in per cent; its label counts the optimal runs."""
    ax = dlsched.plot_comparison(table(), "gaps")
    points = [sorted(line.get_xdata()) for line in ax.lines if line.get_linestyle() == "None"]
    rows = table()
    for name, own in zip(METHODS, points, strict=True):
        gaps = 100 * rows[rows["method"] == name]["gap_to_best"].astype(float)
        assert own == pytest.approx(sorted(gaps))
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[0] == "arc_flow\noptimal in all levels: 6 of 6"


def test_what_is_optimal_to_nine_digits_is_counted_as_optimal() -> None:
    """Groups' efficiencies are sums of floating-point numbers, beside a solver's bound."""
    instances = [dlsched.generate("interleaving", seed=seed, jobs=16) for seed in range(3)]
    rows = dlsched.compare(instances, ["exact", "muri"])
    exact, muri = (rows[rows["method"] == name] for name in ("exact", "muri"))
    assert exact["gap_to_best"].max() > 0
    assert exact["at_optimum"].tolist() == [True] * 3 and not muri["at_optimum"].any()
    ax = dlsched.plot_comparison(rows, "gaps")
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "exact\noptimal in all levels: 3 of 3",
        "muri\noptimal in all levels: 0 of 3",
    ]
    assert not ax.lines[1].get_xdata().any()  # where exact's runs are drawn


def test_a_run_that_differs_at_the_first_level_does_not_choose_it_for_all() -> None:
    """Gaps of other runs at later levels are drawn, unless a level is named."""
    runs = [
        {"placed_gap_to_best": 0.5, "gap_to_best": 0.5, "at_optimum": False},
        {"placed_gap_to_best": 0.0, "gap_to_best": 0.25, "at_optimum": False},
        {"placed_gap_to_best": 0.0, "gap_to_best": 1e-12, "at_optimum": True},
    ]
    same = {"problem": "workers", "method": "bfd", "status": "feasible", "size": 4, "seconds": 1.0}
    rows = pd.DataFrame([same | run for run in runs])
    for level, drawn in ((None, [0, 25, 50]), ("placed", [0, 0, 50])):
        (points,) = (
            line for line in dlsched.plot_comparison(rows, level=level).lines
            if line.get_linestyle() == "None"
        )  # fmt: skip
        assert list(points.get_xdata()) == drawn


def test_profile_counts_only_proofs() -> None:
    """Both exact methods reach 1; the fastest has factor 1 on some instance; others are not in."""
    ax = dlsched.plot_comparison(table(), "profile")
    lines = {line.get_label(): line for line in ax.lines}
    assert set(lines) == {"arc_flow", "milp"}
    assert all(line.get_ydata()[-1] == 1 for line in lines.values())
    assert sum(line.get_ydata()[0] for line in lines.values()) == pytest.approx(1)


def test_time_by_size_has_a_point_for_each_run() -> None:
    """Six points a method, at its sizes and seconds, on the given axes with a legend inside."""
    _, ax = plt.subplots()
    assert dlsched.plot_comparison(table(), "time", ax) is ax and ax.get_legend() is not None
    points = [line for line in ax.lines if line.get_linestyle() == "None"]
    assert [len(line.get_xdata()) for line in points] == [6, 6, 6, 6]
    own = table()[table()["method"] == "milp"]
    assert sorted(points[1].get_ydata()) == pytest.approx(sorted(own["seconds"]))
    assert ax.get_xlabel() == "number of servers" and ax.get_xscale() == "log"


def test_a_style_for_papers(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures are as wide as a column or a page; PGF needs LaTeX, and says so."""
    result = dlsched.solve("lyra-fig5")
    for style, inches in (("paper", 3.3), ("paper-wide", 7.0)):
        for ax in (
            dlsched.plot(result, style=style),
            dlsched.plot_comparison(table(), style=style),
        ):
            assert ax.figure.get_figwidth() == inches
            assert ax.get_yticklabels()[0].get_fontfamily() == ["STIXGeneral"]
    with pytest.raises(dlsched.OptionError, match="write one of paper, paper-wide"):
        dlsched.plot(result, style="thesis")
    dlsched.save(ax, "wide.pdf")
    assert Path("wide.pdf").read_bytes().startswith(b"%PDF")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(dlsched.OptionError, match=r"xelatex is not installed: write \.pdf"):
        dlsched.save(ax, "wide.pgf")


@pytest.mark.parametrize("kind", KINDS)
def test_text_is_legible_in_one_column(kind: str) -> None:
    """At 3.3 inches no text is below 6 points, and legend and labels are inside."""
    require_legible(at_width("single", dlsched.plot_comparison, table(), kind, title="of four"))


def test_errors_name_the_remedy() -> None:
    """Unknown kinds and levels, mixed problems, and tables without data are refused."""
    good, two = table(), "give runs of two"
    bfd, milp = (good[good["method"] == name] for name in ("bfd", "milp"))
    no_bound = "no bound computed; add exact or lp"
    refused: list[tuple[Any, dict[str, Any], str]] = [
        (good, {"kind": "pie"}, f"write one of {', '.join(KINDS)}"),
        (good, {"level": "cost"}, "workers has placed, flexible"),
        (good.assign(problem=["elastic"] + ["workers"] * 23), {}, "elastic and workers"),
        (good.iloc[:0], {}, "no rows"),
        (good.drop(columns="status"), {}, "the column 'status'"),
        (good.drop(columns="size"), {"kind": "time"}, "no run has both size and seconds"),
        (bfd, {"kind": "profile"}, f"the table has none: {two}"),
        (milp, {"kind": "profile"}, f"has only milp: {two}"),
        (good.assign(status="feasible"), {"kind": "profile"}, "raise the time limit"),
        (
            good.drop(columns="placed_gap_to_best"),
            {"level": "placed"},
            f"gap of placed: {no_bound}",
        ),
        (good.assign(gap_to_best=None), {}, f"no run has a gap: {no_bound}"),
        (good.drop(columns="at_optimum"), {}, "the column 'at_optimum'"),
        ([1, 2], {}, "dlsched.compare"),
    ]
    for given, options, message in refused:
        with pytest.raises(dlsched.OptionError, match=message):
            dlsched.plot_comparison(given, **options)

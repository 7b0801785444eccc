"""`dlsched.plot` and `dlsched.plot_comparison`: pictures that say what they show."""

from __future__ import annotations

import io
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import dlsched
from dlsched import registry
from dlsched.display.drawing.colours import MOST_NAMED, PALETTE, text_on
from dlsched.display.drawing.files import FORMATS, picture_bytes
from dlsched.display.drawing.style import SMALL, WIDTHS
from dlsched.problems import library


class Drawn(NamedTuple):
    """A paper's example, and an instance beyond the sizes that are drawn one by one."""

    example: str
    large: tuple[dict[str, int], str] | str
    """Generator parameters and a quick heuristic, or a name in the library."""
    whole: str
    """What the large picture says about how much it shows."""


DRAWN = {
    "reclaiming": Drawn("lyra-fig5", ({"servers": 120}, "lyra"), "all 120 servers"),
    "elastic": Drawn("lyra-table4", ({"jobs": 150}, "lyra"), "all 150 jobs"),
    "interleaving": Drawn("muri-table2", ({"jobs": 64}, "greedy"), "groups"),
    "utility": Drawn("hadar-section2", "utility-40x60-effective-2", "60 GPUs"),
    "placement": Drawn("mast-two-regions", "placement-open-200x6x600", "all 200 tables"),
    "sensitivity": Drawn("synergy-two-servers", ({"servers": 24}, "greedy"), "all 24 servers"),
    "dispatch": Drawn(
        "mast-two-workloads", ({"machines": 100, "pending": 60}, "mast"), "all 600 machines"
    ),
    "workers": Drawn(
        "workers-two-groups", ({"training": 60, "loan": 60}, "bfd"), "all 120 servers"
    ),
}


@cache
def solved(problem: str) -> dlsched.Solution:
    """Return the optimum of a paper's example."""
    return dlsched.load_solution(library.solution_file(DRAWN[problem].example))


@cache
def large(problem: str) -> dlsched.Result | dlsched.Solution:
    """Return a heuristic's result for a large instance, or the library's solution."""
    if isinstance(DRAWN[problem].large, str):
        return dlsched.load_solution(library.solution_file(DRAWN[problem].large))
    parameters, method = DRAWN[problem].large
    return dlsched.solve(dlsched.generate(problem, seed=1, **parameters), method)


def legend(ax: Any) -> dict[str, Any]:
    """Return the legend's entries with their colours."""
    (box,) = ax.figure.legends
    return {
        text.get_text(): handle.get_facecolor() if hasattr(handle, "get_facecolor") else None
        for text, handle in zip(box.get_texts(), box.legend_handles, strict=True)
    }


def words(ax: Any) -> str:
    """Return the title and the axes' labels."""
    parts = [ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel()]
    return " ".join(" ".join(parts).split())


QUICK = {"reclaiming": "lyra", "elastic": "lyra", "interleaving": "greedy", "utility": "fifo"}
QUICK |= {"sensitivity": "tune", "dispatch": "mast"}


@pytest.mark.parametrize("problem", QUICK)
def test_results_can_be_drawn(problem: str) -> None:
    """A result and its solution give the same picture, without the instance."""
    result = dlsched.solve(dlsched.generate(problem, seed=1), QUICK[problem])
    first, second = dlsched.plot(result), dlsched.plot(result.solution)
    assert words(first) == words(second)
    assert len(first.patches) == len(second.patches)


@pytest.mark.parametrize("problem", [n for n in DRAWN if n not in ("placement", "dispatch")])
def test_every_job_shown_has_its_legend_entry(problem: str) -> None:
    """The legend names the jobs that hold something, each in a colour of its own, and idle time."""
    result = solved(problem)
    ax = dlsched.plot(result)
    entries = legend(ax)
    jobs = [job.id for job in dlsched.load(DRAWN[problem].example).jobs]
    assert [name for name in entries if name in jobs] == jobs
    assert len({entries[name] for name in jobs}) == len(jobs)
    if problem != "elastic":
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


def test_more_jobs_than_colours_say_so() -> None:
    """The legend does not name 40 jobs in 21 looks; by default another property is coloured."""
    instance = dlsched.generate("sensitivity", seed=1, servers=5, multi=False)
    assert len(instance.jobs) > MOST_NAMED
    assert not any("repeat" in name for name in legend(dlsched.plot(instance)))
    entries = legend(dlsched.plot(instance, color_by="job"))
    assert f"{len(instance.jobs)} jobs; looks repeat after {MOST_NAMED}" in entries


@pytest.mark.parametrize("problem", DRAWN)
@pytest.mark.parametrize("size", ["small", pytest.param("large", marks=pytest.mark.slow)])
def test_every_colouring(problem: str, size: str) -> None:
    """Each value of color_by draws; another is refused. A large picture says that all is in."""
    result = solved(problem) if size == "small" else large(problem)
    draw = registry.problem(problem).module("draw")
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


@pytest.mark.parametrize(
    "width",
    [pytest.param(w, marks=() if w == "single" else pytest.mark.slow) for w in WIDTHS],
)
@pytest.mark.parametrize("problem", DRAWN)
def test_text_is_legible_and_inside_the_picture(problem: str, width: str) -> None:
    """No text is smaller than 6 points, and none reaches beyond a figure of a paper's width."""
    for result in (solved(problem), large(problem)):
        with mpl.rc_context({"figure.figsize": (WIDTHS[width], 1)}):
            figure: Any = dlsched.plot(result).figure
        figure.canvas.draw()
        assert figure.get_figwidth() == WIDTHS[width]
        renderer, page = figure.canvas.get_renderer(), figure.bbox
        texts = [t for t in figure.findobj(mpl.text.Text) if t.get_text() and t.get_visible()]
        assert min(text.get_fontsize() for text in texts) >= SMALL == 6
        ticks = figure.axes[0].get_xticklabels() + figure.axes[0].get_yticklabels()
        for text in texts:
            if text.get_in_layout() and text not in ticks:
                box = text.get_window_extent(renderer)
                outside = box.x0 < -1 or box.x1 > page.x1 + 1 or box.y0 < -1 or box.y1 > page.y1 + 1
                assert not outside, text.get_text()


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


BACKGROUNDS = ("white", "plate", "transparent")


def test_files() -> None:
    """Each format is written with text as text, twice the same, with any background."""
    figure: Any = dlsched.plot(solved("reclaiming")).figure
    pdf = picture_bytes(figure, "pdf", "white")
    assert pdf.startswith(b"%PDF") and b"/Type /Font" in pdf and b"Type3" not in pdf
    svg = {b: picture_bytes(figure, "svg", b) for b in BACKGROUNDS}
    assert all(content.startswith(b"<?xml") for content in svg.values())
    assert svg["white"] == picture_bytes(figure, "svg")
    assert b">collateral" in svg["white"] or b"collateral 0 GPUs" in svg["white"]
    png = {b: plt.imread(io.BytesIO(picture_bytes(figure, "png", b))) for b in BACKGROUNDS}
    assert [png[b][0, 0, 3] for b in BACKGROUNDS] == [1, 0, 0]
    assert png["plate"][:, 30, 3].max() == 1
    assert set(FORMATS) == {"pdf", "svg", "png"}


def test_black_or_white_text_has_contrast() -> None:
    """Text on every colour of the palette has a contrast of at least 4.5 (WCAG 2, AA)."""

    def luminance(colour: str) -> float:
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
                 for c in mpl.colors.to_rgb(colour)]  # fmt: skip
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    for colour in PALETTE:
        low, high = sorted((luminance(colour), luminance(text_on(colour))))
        assert (high + 0.05) / (low + 0.05) >= 4.5


def test_a_solution_without_its_instance() -> None:
    """The error says how to pass the instance; a library instance is found; a wrong one refused."""
    instance = dlsched.generate("reclaiming", seed=1, servers=8)
    solution = dlsched.solve(instance, "lyra").solution
    bare = dlsched.load_solution(solution.to_data())
    with pytest.raises(dlsched.InstanceError, match=r"plot\(solution, instance=\.\.\.\)"):
        dlsched.plot(bare)
    assert dlsched.plot(bare, instance=instance).has_data()
    assert dlsched.plot(dlsched.load_solution(solved("elastic").to_data())).has_data()
    with pytest.raises(dlsched.InstanceError, match="is not the instance given, lyra-fig5"):
        dlsched.plot(bare, instance=dlsched.load("lyra-fig5"))
    with pytest.raises(dlsched.OptionError, match="give an instance, a solution or a result"):
        dlsched.plot("lyra-fig5")  # type: ignore[arg-type]


def test_infeasible_solutions() -> None:
    """An overfull region is drawn, and the title says so; without a solution the instance is."""
    instance = dlsched.load("mast-two-regions")
    home = dict.fromkeys((table.id for table in instance.tables), "west")
    fields = {"dlsched": 1, "problem": "placement", "instance": instance.name}
    ax = dlsched.plot(dlsched.load_solution(fields | {"home": home}), instance=instance)
    said = "not feasible: regions[1]: 32 bytes, it stores 30"
    assert " ".join(ax.get_title(loc="left").split()).endswith(said)
    lost = dlsched.load_solution(fields | {"home": home | {"clicks": "moon"}})
    with pytest.raises(dlsched.InstanceError, match="moon"):
        dlsched.plot(lost, instance=instance)
    instance = dlsched.load("lyra-fig5").model_copy(update={"demand": 99})
    assert "demand 99" in dlsched.plot(dlsched.solve(instance)).get_title(loc="left")


def test_own_axes_and_title() -> None:
    """The picture is on the given axes, with the given title; what is no axes is refused."""
    _, (left, right) = plt.subplots(1, 2, figsize=(7, 2.5))
    assert dlsched.plot(solved("reclaiming"), right, title="mine") is right
    assert right.get_title(loc="left") == "mine" and right.get_legend() is not None
    assert not left.has_data()
    instance, solution = dlsched.load("lyra-fig5"), solved("reclaiming")
    _, several = plt.subplots(1, 2)
    for wrong in (several, plt.figure().add_subplot(projection="polar"), 3):
        with pytest.raises(dlsched.OptionError, match="is not axes with x and y"):
            dlsched.plot(instance, ax=wrong)
    wrong_instance: Any = "lyra-fig5"
    with pytest.raises(dlsched.OptionError, match="str is no instance"):
        dlsched.plot(solution, instance=wrong_instance)


def test_a_problem_without_draw_or_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names what a package would need; a foreign draw with three parameters draws."""

    def draw(instance: Any, solution: Any = None, ax: Any = None) -> Any:
        ax = ax if ax is not None else plt.subplots()[1]
        ax.set_title(instance.name)
        return ax

    instance = dlsched.load("lyra-fig5")
    monkeypatch.setattr(registry.Problem, "module", lambda *_: SimpleNamespace(draw=draw))
    assert dlsched.plot(instance).get_title() == "lyra-fig5"
    with pytest.raises(dlsched.OptionError, match="draw has no color_by"):
        dlsched.plot(instance, color_by="job")
    monkeypatch.setattr(registry.Problem, "has_module", lambda _, name: name != "draw")
    with pytest.raises(dlsched.OptionError, match=r"no picture.*no module draw with a function"):
        dlsched.plot(instance)


ODD = ("$\\frac{", "$a_b$", "_first", "two\nlines\tand a tab", "x" * 80)
"""Names that matplotlib would read as formulas, leave out, or break."""


def with_names(names: tuple[str, ...]) -> dlsched.Instance:
    """Return an instance of two servers whose texts are all odd."""
    data = {"dlsched": 1, "problem": "reclaiming", "name": "100$ $\\bad$", "demand": 1}
    servers = [{"id": "$\\q$", "gpus": len(names)}, {"id": "_t", "gpus": 2}]
    jobs = [{"id": name, "workers": [{"server": "$\\q$", "gpus": 1}]} for name in names]
    return dlsched.load(data | {"servers": servers, "jobs": jobs})


def test_names_are_no_formulas() -> None:
    """Dollar signs, leading underscores and control characters are shown as they are."""
    ax = dlsched.plot(dlsched.solve(with_names(ODD)))
    written = picture_bytes(ax.figure, "svg").decode("utf-8")
    for text in ("100$ $\\bad$: 2 servers", *ODD[:3], "two\\nlines\\tand a tab"):
        assert f">{text}" in written
    picture_bytes(ax.figure, "pdf")


@pytest.mark.parametrize("problem", registry.problem_names())
def test_an_instance_s_name_is_no_formula(problem: str) -> None:
    """Every problem's title begins with the name as it is."""
    instance = dlsched.generate(problem, seed=1).model_copy(update={"name": "$\\frac{$"})
    ax = dlsched.plot(instance)
    assert ax.has_data()
    assert ">$\\frac{$" in picture_bytes(ax.figure, "svg").decode("utf-8")


def test_a_title_of_one_s_own_may_have_formulas() -> None:
    """What is between dollar signs is typeset, or refused; an escaped dollar sign is none."""
    instance = with_names(("a",))
    ax = dlsched.plot(instance, title="at $\\alpha = 1$")
    assert "\N{GREEK SMALL LETTER ALPHA}" in picture_bytes(ax.figure, "svg").decode("utf-8")
    with pytest.raises(dlsched.OptionError, match="cannot typeset its formula"):
        dlsched.plot(instance, title="$\\frac{$")
    dlsched.plot(instance, title="100 \\$ and more").figure.canvas.draw()


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


def test_servers_of_a_million_gpus() -> None:
    """A few are drawn without a line per GPU; a map with too many cells is refused."""
    instance = with_names(("a",))
    large = [server.model_copy(update={"gpus": 10**6}) for server in instance.servers]
    ax = dlsched.plot(instance.model_copy(update={"servers": tuple(large)}))
    assert len(ax.lines) + len(ax.collections) + len(ax.patches) < 20
    many = [large[0].model_copy(update={"id": str(n)}) for n in range(30)] + large
    with pytest.raises(dlsched.OptionError, match=r"32 x 1,000,000 cells .* can be drawn"):
        dlsched.plot(instance.model_copy(update={"servers": tuple(many)}))
    workers = dlsched.generate("workers", seed=1)
    server = workers.servers[0].model_copy(update={"gpus": 10**6, "free": 10**6})
    many = [server.model_copy(update={"id": str(n)}) for n in range(30)]
    with pytest.raises(dlsched.OptionError, match=r"cells for the GPUs of its servers"):
        dlsched.plot(workers.model_copy(update={"servers": tuple(many)}))


EMPTY = {"dlsched": 1, "problem": "utility", "name": "x", "slot_seconds": 1}


def test_a_machine_of_a_billion_gpus_has_no_map() -> None:
    """A schedule of it is refused before memory is taken, and shown in a notebook without."""
    job = {"id": "a", "arrival": 1, "workers": 1, "iterations": 5, "rates": {"V100": 1}}
    machines = [{"id": "m", "gpus": {"V100": 10**9}}]
    instance = dlsched.load(EMPTY | {"slots": 9, "machines": machines, "jobs": [job]})
    result = dlsched.solve(instance, "fifo")
    with pytest.raises(dlsched.OptionError, match=r"1,000,000,000 x 9 cells"):
        dlsched.plot(result)
    assert "<img" not in result._repr_html_() and "fifo" in result._repr_html_()


@pytest.mark.filterwarnings("error")
def test_a_schedule_without_machines() -> None:
    """An empty picture, without a warning."""
    instance = dlsched.load(EMPTY | {"slots": 1, "machines": [], "jobs": []})
    assert "0 GPUs" in words(dlsched.plot(dlsched.solve(instance)))


METHODS = ["milp", "per_server", "bfd", "first_fit"]
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
    """A method's points are its gaps in per cent; its label counts those at 0."""
    ax = dlsched.plot_comparison(table(), "gaps")
    points = [sorted(line.get_xdata()) for line in ax.lines if line.get_linestyle() == "None"]
    rows = table()
    for name, own in zip(METHODS, points, strict=True):
        gaps = 100 * rows[rows["method"] == name]["placed_gap_to_best"].astype(float)
        assert own == pytest.approx(sorted(gaps))
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[0] == "milp\n6 of 6 at 0"


def test_profile_counts_only_proofs() -> None:
    """Both exact methods reach 1; the fastest has factor 1 on some instance; others are not in."""
    ax = dlsched.plot_comparison(table(), "profile")
    lines = {line.get_label(): line for line in ax.lines}
    assert set(lines) == {"milp", "per_server"}
    assert all(line.get_ydata()[-1] == 1 for line in lines.values())
    assert sum(line.get_ydata()[0] for line in lines.values()) == pytest.approx(1)


def test_time_by_size_has_a_point_for_each_run() -> None:
    """Six points a method, at its sizes and seconds, on the given axes with a legend inside."""
    _, ax = plt.subplots()
    assert dlsched.plot_comparison(table(), "time", ax) is ax and ax.get_legend() is not None
    points = [line for line in ax.lines if line.get_linestyle() == "None"]
    assert [len(line.get_xdata()) for line in points] == [6, 6, 6, 6]
    own = table()[table()["method"] == "per_server"]
    assert sorted(points[1].get_ydata()) == pytest.approx(sorted(own["seconds"]))
    assert ax.get_xlabel() == "number of servers" and ax.get_xscale() == "log"


def test_a_sweep_s_csv_gives_the_same(tmp_path: Any) -> None:
    """A table that went through a CSV file draws the same gaps."""
    table().to_csv(tmp_path / "runs.csv", index=False)
    read = pd.read_csv(tmp_path / "runs.csv")
    for kind in ("gap_profile", "gap_by_size"):
        first, second = (dlsched.plot_comparison(t, kind) for t in (table(), read))
        for a, b in zip(first.lines, second.lines, strict=True):
            assert np.allclose(a.get_xydata(), b.get_xydata())


@pytest.mark.parametrize("kind", KINDS)
def test_text_is_legible_in_one_column(kind: str) -> None:
    """At 3.3 inches no text is below 6 points, and legend and labels are inside."""
    with mpl.rc_context({"figure.figsize": (WIDTHS["single"], 1)}):
        figure: Any = dlsched.plot_comparison(table(), kind, title="four methods").figure
    figure.canvas.draw()
    texts = [t for t in figure.findobj(mpl.text.Text) if t.get_text() and t.get_visible()]
    assert min(text.get_fontsize() for text in texts if "$" not in text.get_text()) >= SMALL
    parts = [*figure.legends, figure.axes[0].xaxis.label, figure.axes[0].yaxis.label]
    for part in (p for p in parts if p in figure.legends or p.get_text()):
        box = part.get_window_extent(figure.canvas.get_renderer())
        assert box.x0 >= -1 and box.x1 <= figure.bbox.x1 + 1 and box.y0 >= -1


def test_errors_name_the_remedy() -> None:
    """Unknown kinds and levels, mixed problems, and tables without data are refused."""
    good = table()
    refused: list[tuple[Any, dict[str, Any], str]] = [
        (
            good,
            {"kind": "pie"},
            "write one of gaps, quality, gap_profile, profile, time, gap_by_size",
        ),
        (good, {"level": "cost"}, "workers has placed, flexible"),
        (good.assign(problem=["elastic"] + ["workers"] * 23), {}, "elastic and workers"),
        (good.iloc[:0], {}, "no rows"),
        (good.drop(columns="status"), {}, "the column 'status'"),
        (good.drop(columns="size"), {"kind": "time"}, "no run has both size and seconds"),
        (
            good[good["method"] == "bfd"],
            {"kind": "profile"},
            "the table has none: give runs of two",
        ),
        (good[good["method"] == "milp"], {"kind": "profile"}, "has only milp: give runs of two"),
        (good.assign(status="feasible"), {"kind": "profile"}, "raise the time limit"),
        (good.drop(columns="placed_gap_to_best"), {"level": "placed"}, "proves a bound"),
        (
            good.drop(columns=[name for name in good if name.endswith("_gap_to_best")]),
            {},
            "a method that proves a bound",
        ),
        ([1, 2], {}, "dlsched.compare"),
    ]
    for given, options, message in refused:
        with pytest.raises(dlsched.OptionError, match=message):
            dlsched.plot_comparison(given, **options)

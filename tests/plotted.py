"""Solutions that tests of pictures draw, and what is read from a picture."""

import io
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import matplotlib as mpl

import dlsched
from dlsched import library
from dlsched.display import standard
from dlsched.registry import problem


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
    "shares": Drawn("shares-three-jobs", "shares-64", "all 64 jobs"),
    "configurations": Drawn("configurations-two-jobs", "configurations-512", "250 jobs"),
}


def drawing(name: str) -> Any:
    """Return the module that draws a problem: its own, or the one of all that state only cells."""
    owner = problem(name)
    return owner.module("draw") if owner.has_module("draw") else standard


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


WIDTHS = {"single": 3.3, "double": 7.0}
"""Inches of a picture in one column of a paper, and in two."""
SMALLEST = 6
"""Points of the smallest text."""


def at_width(width: str, draw: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return a picture's figure at a width of a paper, drawn."""
    with mpl.rc_context({"figure.figsize": (WIDTHS[width], 1)}):
        drawn = draw(*arguments, **options)
    figure = getattr(drawn, "figure", drawn)
    figure.canvas.draw()
    assert figure.get_figwidth() == WIDTHS[width]
    return figure


def require_legible(figure: Any) -> None:
    """Fail if a text of a drawn figure is too small, or reaches beyond it."""
    ticks = [tick for ax in figure.axes for tick in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    for text in figure.findobj(mpl.text.Text):
        if text.get_text() and text.get_visible():
            assert text.get_fontsize() >= SMALLEST or "$" in text.get_text(), text.get_text()
            box, page = text.get_window_extent(), figure.bbox
            inside = box.x0 >= -1 and box.x1 <= page.x1 + 1
            inside = inside and box.y0 >= -1 and box.y1 <= page.y1 + 1
            assert inside or text in ticks or not text.get_in_layout(), text.get_text()


def svg_text(figure: Any) -> str:
    """Return the SVG file of a figure, with text as text."""
    with mpl.rc_context({"svg.fonttype": "none"}), io.StringIO() as file:
        figure.savefig(file, format="svg")
        return file.getvalue()


def words(ax: Any) -> str:
    """Return the title and the axes' labels."""
    parts = [ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel()]
    return " ".join(" ".join(parts).split())


def with_names(names: tuple[str, ...]) -> dlsched.Instance:
    """Return an instance of two servers whose texts are all odd."""
    data = {"dlsched": 1, "problem": "reclaiming", "name": "100$ $\\bad$", "demand": 1}
    servers = [{"id": "$\\q$", "gpus": len(names)}, {"id": "_t", "gpus": 2}]
    jobs = [{"id": name, "workers": [{"server": "$\\q$", "gpus": 1}]} for name in names]
    return dlsched.load(data | {"servers": servers, "jobs": jobs})

"""`plot_difference`: two solutions of one instance side by side, with what differs in colour."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from dlsched import registry
from dlsched.display.drawing.colours import SAME_LABEL, Differences
from dlsched.display.drawing.legend import add_legend
from dlsched.display.drawing.style import (
    TITLE,
    figure_width,
    literal,
    new_figure,
    set_title,
    styled,
    wrap,
)
from dlsched.display.plotting import draw_function, drawn_by, instance_of, standing
from dlsched.errors import OptionError
from dlsched.extras import require
from dlsched.registry import Problem
from dlsched.results.objective import Objective, relative_gap
from dlsched.results.result import Result
from dlsched.results.summary import solution_text
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution
from dlsched.text.figures import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDE = 5.0
"""Inches from which the two are beside each other; else one is above the other."""
_LINE = 1.35 * TITLE / 72
"""Inches of a line of a title."""


@styled
def plot_difference(
    a: Solution | Result,
    b: Solution | Result,
    *,
    instance: Instance | None = None,
    title: str | None = None,
    color_by: str | None = None,
) -> Figure:
    """Draw two solutions of one instance side by side: a heuristic's and the optimum, for example.

    What they decide differently has its colours, and what they have in common is pale. What counts
    as different depends on the problem: preempted jobs (reclaiming), numbers of workers (elastic,
    workers), partners (interleaving), the slot of completion (utility), homes (placement), CPUs and
    memory (sensitivity), start, cluster and preemption (dispatch).

    Parameters
    ----------
    a, b
        Solutions, or results that have one.
    instance
        Their instance, where it is not known; as for `plot`.
    title
        The title; by default the instance, how many decisions differ, and the gap between the two.
    color_by
        As for `plot`.

    Returns
    -------
    matplotlib.figure.Figure
        As wide as matplotlib's setting ``figure.figsize``; from 5 inches on they are beside each
        other.

    Raises
    ------
    InstanceError
        If the instance is not known, or is another one.
    OptionError
        If one of them is no solution, they are of different instances, or the problem has no
        picture or cannot be coloured by that.
    """
    plt = require("matplotlib.pyplot", "drawing")
    shown = instance_of(a, instance)
    if instance_of(b, instance).sha256 != shown.sha256:
        raise OptionError(
            "plot_difference compares two solutions of one instance, and these are of two: give "
            "solutions of the same instance"
        )
    first, second = _solution(a), _solution(b)
    owner = registry.problem(shown.problem)
    draw = draw_function(owner)
    options: dict[str, Any] = {} if color_by is None else {"color_by": color_by}
    knows_other = "other" in inspect.signature(draw).parameters
    pairs = [(a, first, second), (b, second, first)]
    columns = 2 if figure_width() >= _WIDE else 1
    width = figure_width() / columns
    heights = []
    for _, solution, other in pairs:  # how high each is, drawn alone
        own = options | ({"other": other} if knows_other else {})
        with plt.rc_context({"figure.figsize": (width, width)}):
            alone: Any = drawn_by(owner, draw, shown, solution, own | {"ax": None}).figure
            heights.append(alone.get_figheight())
            plt.close(alone)
    height = max(heights) if columns == 2 else sum(heights)
    differing = getattr(draw, "differing", None)
    differ = differing(shown, first, second) if differing else None
    text = title if title is not None else _title(owner, shown, first, second, differ)
    text = wrap(text, 0.98 * figure_width(), TITLE + 1)
    figure = new_figure(height + _LINE * (2 + text.count("\n")))
    figure.suptitle(literal(text), x=0.01, ha="left", fontsize=TITLE + 1, fontweight="bold")
    grid = figure.add_gridspec(2 // columns, columns)
    drawn = []
    for i, (x, solution, other) in enumerate(pairs):
        ax = figure.add_subplot(grid[divmod(i, columns)])
        own = options | ({"other": other} if knows_other else {}) | {"ax": ax}
        drawn_by(owner, draw, shown, solution, own)
        worth = solution_text(solution.method, owner.check(shown, solution).objective)
        words = standing(x, owner, shown)
        set_title(ax, f"{worth}; {words}" if words else worth)
        drawn.append(ax)
    same = f"the same {differ.by} in both" if differ is not None and differ.by else SAME_LABEL
    _one_legend(drawn, same)
    return figure


def _solution(x: Solution | Result) -> Solution:
    solution = x.solution if isinstance(x, Result) else x
    if solution is None:
        raise OptionError(
            "plot_difference needs two solutions, and a result has none: give a result of a "
            "method that found one"
        )
    return solution


def _title(
    owner: Problem, instance: Instance, a: Solution, b: Solution, differ: Differences | None
) -> str:
    """Return how many decisions differ, and the gap at the first level with different values."""
    text = instance.name
    if differ is not None:
        text += f": {differ.words} differ"
    first, second = (owner.check(instance, solution).objective for solution in (a, b))
    return text if first is None or second is None else f"{text}; {_gap(first, second)}"


def _gap(first: Objective, second: Objective) -> str:
    for (level, mine), theirs in zip(first.pairs(), second, strict=True):
        if mine != theirs:
            return f"gap of {level.name} {percent(relative_gap(mine, theirs))}"
    return "equal in all levels"


def _one_legend(axes: list[Axes], same: str) -> None:
    """Put the entries of all legends, each once, below the figure; say what is the same in both."""
    entries: dict[str, Any] = {}
    for ax in axes:
        legend: Any = ax.get_legend()
        for handle in legend.legend_handles if legend is not None else ():
            if handle.get_label() == SAME_LABEL:
                handle.set_label(same)
            entries[handle.get_label()] = handle
        if legend is not None:
            legend.remove()
    if entries:
        add_legend(axes[0], [*entries.values()], own=True)

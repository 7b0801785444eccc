"""Charts of methods side by side: gaps, profiles, time and gap by size; legible without colour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from dlsched import registry
from dlsched.display.drawing.colours import ACCENT, PLAIN
from dlsched.display.drawing.legend import add_legend
from dlsched.display.drawing.style import (
    TEXT,
    TITLE,
    decimal_ticks,
    figure_width,
    new_figure,
    percent_axis,
    set_labels,
    short_name,
    spread,
    styled,
    wrap,
)
from dlsched.errors import OptionError
from dlsched.extras import require
from dlsched.registry import Problem
from dlsched.results import performance_profiles as profiles
from dlsched.results.performance_profiles import CONFIDENCE, Row, Steps
from dlsched.results.statistics import interval, shares_interval

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

T = TypeVar("T")
Style: TypeAlias = dict[str, Any]
"""Keyword arguments of matplotlib's `plot`."""

# From dark to light, with different dashes and markers: distinguishable without colour.
_COLOURS = ("#1b1b1b", "#8c2d04", "#08519c", "#41ab5d", "#7a5195", "#e08214", "#5c8fb5", "#a0a0a0")
_DASHES = (
    *("-", "--", "-.", ":", (0, (7, 2))),
    *((0, (4, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (9, 1, 2, 1))),
)
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
_STEPS: dict[str, Any] = {"markevery": (0.1, 0.25), "drawstyle": "steps-post"}
_LONGEST_LABEL = 34
_SHORT_LABEL = 18
"""Letters of a method's name in the overview."""
_WIDE = 5.0
"""Inches from which the overview has two panels beside each other."""
_ROW = 0.155
_PANEL = 0.44
"""Inches of a method's row in the overview, and of a panel beside its rows."""
_LEAST_ROWS = 3
"""Fewer methods have the height of as many, so that title and ticks leave room for the dots."""
_NOTE = (
    "A dot is a run, a bar the mean: the gap to the best bound known, at the first level that is "
    "not at it. Optimal: the runs at it in all levels. Orange: the heuristic of the paper."
)
_LEAST_SECONDS = 1e-4
_BAND = f"(band: {100 * CONFIDENCE:g} % interval)"


def rows_of(table: Any, function: str, *needed: str) -> list[Row]:
    """Return a table's rows, with None for what is missing.

    `function`: the name of the public function that needs it, for the error. `needed`: columns that
    it needs beside those of every picture. `OptionError` is raised if it is no table of results.
    """
    columns = ("problem", "method", "status", *needed)
    missing = [c for c in columns if c not in getattr(table, "columns", ())]
    if missing:
        raise OptionError(
            f"{function} needs a table with the column {missing[0]!r}: give what "
            f"dlsched.compare returned, or a sweep's runs.csv"
        )
    cells = table.astype(object).where(table.notna(), None)
    rows: list[Row] = cells.to_dict("records")
    return rows


def styles() -> Iterator[Style]:
    """Yield colour, dashes and marker of one method after the other."""
    for colour, dash, mark in cycle(zip(_COLOURS, _DASHES, _MARKS, strict=True)):
        yield {
            "color": colour,
            "linestyle": dash,
            "marker": mark,
            "markersize": 4,
            "linewidth": 1.2,
        }


def styled_by_name(groups: Mapping[str, T]) -> Iterator[tuple[str, T, Style]]:
    """Yield the name of each method for the legend, what is drawn of it, and its style."""
    for (label, group), style in zip(groups.items(), styles(), strict=False):
        yield short_name(label, _LONGEST_LABEL), group, style


MOST_POINTS = 2000
"""Points of one method from which a picture has pixels of them, not shapes: a file of shapes grows
with them, and a browser draws it slowly."""


def _points(style: Style, count: int = 0) -> Style:
    """Return the style of `count` single points."""
    return {**style, "linestyle": "none", "fillstyle": "none", "rasterized": count > MOST_POINTS}


@styled
def plot_overview(table: pandas.DataFrame) -> Figure:
    """Draw all problems at a glance: how far each method is from the optimum.

    A panel for each problem, a row for each method, the best first. A dot is a run; the bar is the
    mean of the dots; at the right is how many of all runs are at the optimum in all levels. A
    run's gap is that of its first level that is not at the best bound known. The heuristic that
    the problem's paper proposes has the accent colour.

    Parameters
    ----------
    table
        What `dlsched.compare` returned, or a sweep's ``results.csv``; of any problems.

    Returns
    -------
    matplotlib.figure.Figure
        As wide as matplotlib's setting ``figure.figsize``: two panels in a row from 5 inches on.

    Raises
    ------
    OptionError
        If the table has no rows, or lacks a column.
    """
    require("matplotlib.pyplot", "drawing")
    return overview(rows_of(table, "plot_overview", "at_optimum"))


def overview(rows: Sequence[Row]) -> Figure:
    """Return what `plot_overview` draws of a table with these rows."""
    names = [name for name in registry.problem_names() if any(r["problem"] == name for r in rows)]
    if not names:
        raise OptionError("plot_overview: the table has no rows: give a table with some runs")
    groups = [profiles.by_label(r for r in rows if r["problem"] == name) for name in names]
    columns = 2 if figure_width() >= _WIDE and len(names) > 1 else 1
    heights = [
        max(_LEAST_ROWS, *(len(group) for group in groups[first : first + columns]))
        for first in range(0, len(names), columns)
    ]
    note = wrap(_NOTE, 0.97 * figure_width(), TEXT)
    inches = _ROW * sum(heights) + _PANEL * len(heights)
    figure = new_figure(inches + 0.15 * (2 + note.count("\n")))
    figure.set_layout_engine("constrained", w_pad=0.06, h_pad=0.05)
    ratios = [_ROW * height + _PANEL for height in heights]
    grid = figure.add_gridspec(len(heights), columns, height_ratios=ratios)
    for i, (name, group) in enumerate(zip(names, groups, strict=True)):
        ax = figure.add_subplot(grid[divmod(i, columns)])
        _draw_panel(ax, registry.problem(name), group)
    figure.supxlabel(note, x=0.01, ha="left", fontsize=TEXT)
    return figure


def _draw_panel(ax: Axes, problem: Problem, groups: Mapping[str, Sequence[Row]]) -> None:
    """Draw one problem of `plot_overview`."""
    gaps = {label: 100 * np.array(profiles.gaps_of(group)) for label, group in groups.items()}
    means = {
        label: float(values.mean()) if len(values) else np.inf for label, values in gaps.items()
    }
    reached = {
        label: sum(bool(row.get("at_optimum")) for row in group) for label, group in groups.items()
    }
    bounded = any(len(values) for values in gaps.values())
    order = sorted(groups, key=lambda label: (means[label], -reached[label]))
    for y, label in enumerate(order):
        group = groups[label]
        of_paper = str(group[0]["method"]) == problem.paper_method
        colour = ACCENT if of_paper else PLAIN
        values = np.sort(gaps[label])
        if len(values):
            dots: Style = {"color": colour, "alpha": 0.75, "markeredgewidth": 0, "clip_on": False}
            dots["rasterized"] = len(values) > MOST_POINTS
            ax.plot(values, y + 1.6 * spread(len(values)), "o", markersize=3.2, zorder=3, **dots)
            bar: Style = {"color": colour, "linewidth": 2.2, "solid_capstyle": "butt"}
            ax.plot([means[label]] * 2, [y - 0.36, y + 0.36], clip_on=False, zorder=4, **bar)
        look: Style = {"color": colour, "fontweight": "bold" if of_paper else "normal"}
        counted = f"{reached[label]} of {len(group)}" if bounded else f"{len(group)} runs"
        _beside(ax, y, counted, va="center", **look)
    names = [short_name(label, _SHORT_LABEL) for label in order]
    ax.set_yticks(range(len(order)), names, fontsize=TEXT)
    for label, tick in zip(order, ax.get_yticklabels(), strict=True):
        if str(groups[label][0]["method"]) == problem.paper_method:
            tick.set(color=ACCENT, fontweight="bold")
    ax.set_ylim(len(order) - 0.45, -0.55)
    percent_axis(ax.xaxis)
    ax.grid(True, axis="x", color="0.88", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(length=0)
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.set_title(problem.name, loc="left", fontsize=TITLE, fontweight="bold", pad=3)
    if bounded:
        ax.set_title("gap", loc="right", fontsize=TEXT, color=PLAIN, pad=3)
        _beside(ax, None, "optimal in\nall levels", va="bottom", color=PLAIN)
    else:
        ax.set_xticks([])
        words = wrap(no_bound(problem), 0.3 * figure_width(), TEXT)
        ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", va="center", fontsize=TEXT)


def no_bound(problem: Problem) -> str:
    """Return what is said where no run of a problem has a gap."""
    return f"no bound computed; add exact or {problem.bound}"


def gap_words(level: str | None) -> str:
    """Return what a gap is of, for an axis."""
    return f"gap of {level}" if level else "gap, first level not at its bound"


def _beside(ax: Axes, y: float | None, text: str, **look: Any) -> None:
    """Write a text at the right of the axes, at a row or beside the title."""
    ax.annotate(
        text,
        (1, 1 if y is None else y),
        xytext=(8, 3 if y is None else 0),
        xycoords=("axes fraction", "axes fraction" if y is None else "data"),
        textcoords="offset points",
        fontsize=TEXT,
        annotation_clip=False,
        **look,
    )


def draw_gap_distribution(ax: Axes, rows: Sequence[Row], level: str | None) -> None:
    """Draw each method's gaps as points, with a box from the first to the third quartile."""
    groups = profiles.by_label(rows)
    gaps_by_label = {label: profiles.gaps_of(group, level) for label, group in groups.items()}
    drawn = {label: 100 * np.sort(gaps) for label, gaps in gaps_by_label.items() if gaps}
    names = []
    styled_gaps = styled_by_name(drawn)
    for y, (label, (name, gaps, style)) in enumerate(zip(drawn, styled_gaps, strict=True)):
        low, middle, high = np.quantile(gaps, (0.25, 0.5, 0.75))
        box: Style = {"height": 0.5, "color": "#e4e9f0", "edgecolor": "#5f6b7a", "lw": 0.7}
        ax.barh(y, high - low, left=low, **box)
        ax.plot([middle, middle], [y - 0.25, y + 0.25], color="#5f6b7a", linewidth=1.6)
        mean = interval(gaps)
        assert mean is not None
        ax.hlines(y + 0.35, mean.low, mean.high, color=PLAIN, linewidth=1)
        ax.vlines(mean.value, y + 0.28, y + 0.42, color=PLAIN, linewidth=1)
        ax.plot(gaps, y + spread(len(gaps)), **_points(style), clip_on=False, zorder=3)
        names.append(f"{name}\n{_counted(groups[label], len(gaps))}")
    ax.set_yticks(range(len(drawn)), names, fontsize=TEXT)
    ax.set_ylim(len(drawn) - 0.4, -0.6)
    has_width = any(gaps.any() for gaps in drawn.values())
    ax.set_xlim(left=0, right=None if has_width else 1)
    words = f"(box: quartiles, median;\nbelow: mean, {100 * CONFIDENCE:g} % interval)"
    set_labels(ax, f"{gap_words(level)}, %\n{words}")


def _counted(rows: Sequence[Row], drawn: int) -> str:
    """Return how many runs are optimal, and how many have no gap to draw."""
    reached = sum(bool(row.get("at_optimum")) for row in rows)
    optimal = f"optimal in all levels: {reached} of {len(rows)}"
    missing = len(rows) - drawn
    return f"{optimal}, {missing} without a gap" if missing else optimal


def _draw_steps(ax: Axes, name: str, steps: Steps, end: float, style: Style) -> None:
    """Draw a profile with its intervals; the last share goes on to the end of the axis."""
    last = np.append(np.diff(steps.values) > 0, True)  # of equal values
    values = np.append(steps.values[last], end)
    counts = np.append(steps.counts[last], steps.counts[-1])
    low, high = shares_interval(counts, steps.runs)
    band: Style = {"color": style["color"], "alpha": 0.1, "linewidth": 0}
    ax.fill_between(values, low, high, step="post", **band)
    ax.plot(values, counts / max(1, steps.runs), label=name, **(_STEPS | style))


def draw_time_profile(ax: Axes, profile: Mapping[str, Steps]) -> None:
    """Draw the share of runs proven within a factor of the fastest proof."""
    largest = [float(steps.values[-1]) for steps in profile.values()]
    end = max(10.0, *largest) * 1.05
    for name, steps, style in styled_by_name(profile):
        _draw_steps(ax, name, steps, end, style)
    ax.set(xscale="log", xlim=(0.95, end), ylim=(-0.02, 1.02))
    set_labels(ax, "factor of the fastest proof", f"share of runs proven\n{_BAND}")
    decimal_ticks(ax.xaxis)


def draw_gap_profile(ax: Axes, profile: Mapping[str, Steps], level: str | None) -> None:
    """Draw the share of each method's runs within each gap in per cent."""
    for name, steps, style in styled_by_name(profile):
        if len(steps.values):
            values = np.concatenate([[0.0], 100 * steps.values])
            counts = np.concatenate([[(steps.values == 0).sum()], steps.counts])
            _draw_steps(ax, name, Steps(values, counts, steps.runs), 100.0, style)
    percent_axis(ax.xaxis)
    ax.set_ylim(0, 1.02)
    set_labels(ax, gap_words(level), f"share of runs within it\n{_BAND}")


def profile_figure(rows: Sequence[Row]) -> Figure:
    """Return a figure with the gap profile of each problem."""
    problems = dict.fromkeys(str(row["problem"]) for row in rows)
    columns = 2 if figure_width() >= _WIDE and len(problems) > 1 else 1
    height = -(-len(problems) // columns)
    figure = new_figure(2.1 * height + 0.3)
    for i, name in enumerate(problems):
        ax = figure.add_subplot(height, columns, i + 1)
        of_problem = [row for row in rows if row["problem"] == name]
        profile = profiles.gap_profile(of_problem)
        if not any(len(steps.values) for steps in profile.values()):
            raise OptionError(f"no run of {name} has a gap: {no_bound(registry.problem(name))}")
        draw_gap_profile(ax, profile, None)
        ax.set_title(name, loc="left", fontsize=TITLE, pad=4)
        dress(ax, own=False)
    return figure


def draw_time_by_size(ax: Axes, rows: Sequence[Row], unit: str) -> None:
    """Draw seconds against the size, with the fitted growth where enough sizes ran."""
    for name, group, style in styled_by_name(profiles.by_label(rows)):
        sizes, seconds = profiles.sizes_and(group, profiles.seconds_of)
        if not sizes:
            continue
        fitted = profiles.growth(group)
        label = f"{name}: {fitted.power()}" if fitted else name
        ax.plot(
            sizes, np.maximum(seconds, _LEAST_SECONDS), label=label, **_points(style, len(sizes))
        )
        if fitted:
            ends = np.array([min(sizes), max(sizes)])
            line = style | {"marker": None, "linewidth": 1}
            ax.plot(ends, np.exp(fitted.intercept) * ends**fitted.slope, **line)
    ax.set(xscale="log", yscale="log")
    set_labels(ax, f"number of {unit}", "seconds")
    decimal_ticks(ax.xaxis)
    decimal_ticks(ax.yaxis)


def dress(ax: Axes, *, own: bool) -> None:
    """Add a grid, and a legend below the axes.

    `own`: whether the figure is the chart's own, so that the legend can use its whole width.
    """
    ax.grid(True, color="0.88", linewidth=0.6)
    ax.set_axisbelow(True)
    handles, _ = ax.get_legend_handles_labels()
    if handles:
        add_legend(ax, handles, own=own, handlelength=2.2)

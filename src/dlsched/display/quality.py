"""Charts that answer which method: gap against seconds, and gap against the instance's size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched.display.charts import gap_words, styled_by_name
from dlsched.display.drawing.colours import ACCENT
from dlsched.display.drawing.style import decimal_ticks, percent_axis, set_labels
from dlsched.registry import Problem
from dlsched.results import performance_profiles as profiles
from dlsched.results.performance_profiles import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST_SECONDS = 1e-4
_QUARTILES = (0.25, 0.5, 0.75)


def draw_quality(ax: Axes, rows: Sequence[Row], problem: Problem, level: str | None) -> None:
    """Draw each method as a point, median seconds against median gap, with lines to the quartiles.

    Filled where every run of the method has proved its optimum. The best methods are at the lower
    left. The heuristic of the problem's paper has the accent colour.
    """
    for name, group, style in styled_by_name(profiles.by_label(rows)):
        gaps = profiles.gaps_of(group, level)
        seconds = [float(row["seconds"]) for row in group if row.get("seconds") is not None]
        if not gaps or not seconds:
            continue
        x = np.maximum(np.quantile(seconds, _QUARTILES), _LEAST_SECONDS)
        y = 100 * np.quantile(gaps, _QUARTILES)
        proved = all(profiles.ending(row) == "proven" for row in group)
        colour = ACCENT if group[0]["method"] == problem.paper_method else style["color"]
        look: dict[str, Any] = {"fmt": style["marker"], "markersize": 6, "elinewidth": 1.1}
        look |= {"markerfacecolor": colour if proved else "white", "clip_on": False}
        ends = [np.abs(values[[0, 2]] - values[1]).reshape(2, 1) for values in (x, y)]
        ax.errorbar(x[1], y[1], ends[1], ends[0], label=name, color=colour, **look)
    ax.set_xscale("log")
    percent_axis(ax.yaxis)
    set_labels(ax, "seconds (median and quartiles; filled: proved optimal)", gap_words(level))
    decimal_ticks(ax.xaxis)


def draw_gap_by_size(ax: Axes, rows: Sequence[Row], unit: str, level: str | None) -> None:
    """Draw the median gap of each size, and a band from the first to the third quartile."""
    for name, group, style in styled_by_name(profiles.by_label(rows)):
        sizes, gaps = map(
            np.array, profiles.sizes_and(group, lambda row: profiles.gap_of(row, level))
        )
        if not len(sizes):
            continue
        places = np.unique(sizes)
        quartiles = np.array([np.quantile(100 * gaps[sizes == s], _QUARTILES) for s in places])
        low, middle, high = quartiles.T
        ax.fill_between(places, low, high, color=style["color"], alpha=0.15, linewidth=0)
        ax.plot(places, middle, label=name, **style, clip_on=False)
    ax.set(xscale="log")
    ax.set_ylim(bottom=0)
    set_labels(ax, f"number of {unit} (line: median, band: quartiles)", f"{gap_words(level)}, %")
    decimal_ticks(ax.xaxis)

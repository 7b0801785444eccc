"""Charts that answer which method: gap against seconds, and gap against the instance's size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.display.charts import gap_words, styles
from dlsched.display.drawing.axes import decimal_ticks, percent_axis
from dlsched.display.drawing.colours import ACCENT, PLAIN
from dlsched.display.drawing.style import TEXT, set_labels, short_name
from dlsched.registry import Problem
from dlsched.results import performance_profiles as profiles
from dlsched.results.performance_profiles import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST_LABEL = 24
_LEAST_SECONDS = 1e-4
_QUARTILES = (0.25, 0.5, 0.75)


class _MethodPoint(NamedTuple):
    """A method's quartiles of seconds and of gaps in per cent, and whether all runs are proved."""

    seconds: NDArray[np.float64]
    gaps: NDArray[np.float64]
    proved: bool


def draw_quality(ax: Axes, rows: Sequence[Row], problem: Problem, level: str | None) -> None:
    """Draw each method as a point, median seconds against median gap, with lines to the quartiles.

    Filled where every run of the method has proved its optimum. The best methods are at the lower
    left. The heuristic of the problem's paper has the accent colour.
    """
    groups = profiles.by_label(rows)
    points = {label: point for label, group in groups.items() if (point := _point(group, level))}
    for label, point in points.items():
        colour = _colour(groups, label, problem)
        for a, b in ((0, 1), (1, 0)):
            pair = (point.seconds, point.gaps)
            line = [[values[1], values[1]] for values in pair]
            line[a] = [pair[a][0], pair[a][2]]
            ax.plot(*line, color=colour, linewidth=1.1, alpha=0.6, clip_on=False, zorder=2 + b)
        face = colour if point.proved else "white"
        look: dict[str, Any] = {"color": colour, "markerfacecolor": face, "markeredgewidth": 1.3}
        at = (point.seconds[1], point.gaps[1])
        ax.plot(*at, "o", markersize=6, clip_on=False, zorder=4, **look)
    ax.set_xscale("log")
    percent_axis(ax.yaxis)
    lowest = min(point.seconds[0] for point in points.values())
    highest = max(point.seconds[2] for point in points.values())
    ax.set_xlim(lowest / 1.5, highest * 6)  # room for names at the right
    ax.margins(y=0)
    set_labels(ax, "seconds (median and quartiles; filled: proved optimal)", gap_words(level))
    decimal_ticks(ax.xaxis)
    _name(ax, points, {label: _colour(groups, label, problem) for label in points})


def _colour(groups: Mapping[str, Sequence[Row]], label: str, problem: Problem) -> str:
    return ACCENT if groups[label][0]["method"] == problem.paper_method else PLAIN


def _point(group: Sequence[Row], level: str | None) -> _MethodPoint | None:
    gaps = profiles.gaps_of(group, level)
    seconds = [float(row["seconds"]) for row in group if row.get("seconds") is not None]
    if not gaps or not seconds:
        return None
    return _MethodPoint(
        np.maximum(np.quantile(seconds, _QUARTILES), _LEAST_SECONDS),
        100 * np.quantile(gaps, _QUARTILES),
        all(profiles.ending(row) == "proven" for row in group),
    )


def _name(ax: Axes, points: Mapping[str, _MethodPoint], colours: Mapping[str, str]) -> None:
    """Write each method's name beside its point, apart from other names and points."""
    inches = ax.figure.dpi_scale_trans.inverted().transform_bbox(ax.figure.bbox)
    width = inches.width * 72 * 0.85
    height = inches.height * 72 * 0.7
    line = 1.2 * TEXT / height
    to_share = ax.transData + ax.transAxes.inverted()
    places = {
        label: tuple(map(float, to_share.transform((point.seconds[1], point.gaps[1]))))
        for label, point in points.items()
    }
    taken = [(y, x - 4 / width, x + 4 / width) for x, y in places.values()]
    for label in sorted(places, key=lambda label: places[label][::-1]):
        name = short_name(label, _LONGEST_LABEL)
        x, y = places[label]
        left = x + 7 / width
        right = left + 0.58 * TEXT * len(name) / width
        y = max(y, line / 2)
        while any(abs(y - at) < line and left < end and begin < right for at, begin, end in taken):
            y += line / 4
        taken.append((y, left, right))
        ax.annotate(
            name,
            (left, y),
            xycoords="axes fraction",
            va="center",
            fontsize=TEXT,
            color=colours[label],
            annotation_clip=False,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4, "alpha": 0.8},
            zorder=3.5,
        )


def draw_gap_by_size(ax: Axes, rows: Sequence[Row], unit: str, level: str | None) -> None:
    """Draw the median gap of each size, and a band from the first to the third quartile."""
    for (label, group), style in zip(profiles.by_label(rows).items(), styles(), strict=False):
        sizes, gaps = map(
            np.array, profiles.sizes_and(group, lambda row: profiles.gap_of(row, level))
        )
        if not len(sizes):
            continue
        places = np.unique(sizes)
        quartiles = np.array([np.quantile(100 * gaps[sizes == s], _QUARTILES) for s in places])
        low, middle, high = quartiles.T
        name = short_name(label, _LONGEST_LABEL)
        ax.fill_between(places, low, high, color=style["color"], alpha=0.15, linewidth=0)
        ax.plot(places, middle, label=name, **style, clip_on=False)
    ax.set(xscale="log")
    ax.set_ylim(bottom=0)
    set_labels(ax, f"number of {unit} (line: median, band: quartiles)", f"{gap_words(level)}, %")
    decimal_ticks(ax.xaxis)

"""Charts of methods side by side: gaps, profiles, time and gap by size; legible without colour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dlsched.display.drawing.legend import add_legend
from dlsched.display.drawing.style import TEXT, set_labels, short_name
from dlsched.results import performance_profiles as profiles
from dlsched.results.performance_profiles import Row, Steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
LEAST_GAP = 1e-6
"""Smaller gaps are drawn here on a logarithmic axis."""
_LEAST_SECONDS = 1e-4


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


def _styled(groups: Mapping[str, T]) -> Iterator[tuple[str, T, Style]]:
    """Yield the name of each method for the legend, what is drawn of it, and its style."""
    for (label, group), style in zip(groups.items(), styles(), strict=False):
        yield short_name(label, _LONGEST_LABEL), group, style


def _points(style: Style) -> Style:
    return {**style, "linestyle": "none", "fillstyle": "none"}


def draw_gap_distribution(ax: Axes, rows: Sequence[Row], level: str) -> None:
    """Draw each method's gaps as points, with a box from the first to the third quartile."""
    groups = profiles.by_label(rows)
    gaps_by_label = {label: profiles.gaps_of(group, level) for label, group in groups.items()}
    drawn = {label: 100 * np.sort(gaps) for label, gaps in gaps_by_label.items() if gaps}
    names = []
    for y, (label, (name, gaps, style)) in enumerate(zip(drawn, _styled(drawn), strict=True)):
        low, middle, high = np.quantile(gaps, (0.25, 0.5, 0.75))
        box: Style = {"height": 0.5, "color": "#e4e9f0", "edgecolor": "#5f6b7a", "lw": 0.7}
        ax.barh(y, high - low, left=low, **box)
        ax.plot([middle, middle], [y - 0.25, y + 0.25], color="#5f6b7a", linewidth=1.6)
        ax.plot(gaps, y + _spread(len(gaps)), **_points(style), clip_on=False, zorder=3)
        names.append(f"{name}\n{_counted(gaps, len(groups[label]))}")
    ax.set_yticks(range(len(drawn)), names, fontsize=TEXT)
    ax.set_ylim(len(drawn) - 0.4, -0.6)
    has_width = any(gaps.any() for gaps in drawn.values())
    ax.set_xlim(left=0, right=None if has_width else 1)
    set_labels(ax, f"gap to the best bound of {level}, % (box: quartiles, line: median)")


def _counted(gaps: NDArray[np.float64], runs: int) -> str:
    """Return how many runs have no gap left, and how many have no gap to draw."""
    zeros = f"{np.count_nonzero(gaps == 0)} of {runs} at 0"
    missing = runs - len(gaps)
    return f"{zeros}, {missing} without a gap" if missing else zeros


def _spread(count: int) -> NDArray[Any]:
    """Return heights that keep points of equal gaps apart: a fixed pattern, not a random one."""
    if count == 1:
        return np.zeros(1)
    golden = np.arange(count) * 0.618034 % 1
    return 0.4 * (golden - 0.5)


def _draw_steps(ax: Axes, name: str, steps: Steps, end: float, style: Style) -> None:
    """Draw a profile, whose last share goes on to the end of the axis."""
    values = np.append(steps.values, end)
    shares = np.append(steps.shares, steps.shares[-1])
    ax.plot(values, shares, label=name, **(_STEPS | style))


def draw_time_profile(ax: Axes, profile: Mapping[str, Steps]) -> None:
    """Draw the share of runs proven within a factor of the fastest proof."""
    largest = [float(steps.values[-1]) for steps in profile.values()]
    end = max(10.0, *largest) * 1.05
    for name, steps, style in _styled(profile):
        _draw_steps(ax, name, steps, end, style)
    ax.set(xscale="log", xlim=(0.95, end), ylim=(-0.02, 1.02))
    set_labels(ax, "factor of the fastest proof", "share of runs proven")


def draw_gap_profile(ax: Axes, profile: Mapping[str, Steps], level: str) -> None:
    """Draw the share of each method's runs within each gap."""
    for name, steps, style in _styled(profile):
        if len(steps.values):
            drawn = Steps(np.maximum(steps.values, LEAST_GAP), steps.shares)
            _draw_steps(ax, name, drawn, 1.0, style)
    ax.set(xscale="log", xlim=(LEAST_GAP * 0.8, 1.1), ylim=(-0.02, 1.02))
    set_labels(ax, f"gap_to_best of {level}", "share of runs within it")


def draw_time_by_size(ax: Axes, rows: Sequence[Row], unit: str) -> None:
    """Draw seconds against the size, with the fitted growth where enough sizes ran."""
    for name, group, style in _styled(profiles.by_label(rows)):
        sizes, seconds = profiles.sizes_and(group, "seconds")
        if not sizes:
            continue
        fitted = profiles.growth(group)
        label = f"{name}: {fitted.power()}" if fitted else name
        ax.plot(sizes, np.maximum(seconds, _LEAST_SECONDS), label=label, **_points(style))
        if fitted:
            ends = np.array([min(sizes), max(sizes)])
            line = style | {"marker": None, "linewidth": 1}
            ax.plot(ends, np.exp(fitted.intercept) * ends**fitted.slope, **line)
    ax.set(xscale="log", yscale="log")
    set_labels(ax, f"number of {unit}", "seconds")
    _decimal_ticks(ax)


def draw_gap_by_size(ax: Axes, rows: Sequence[Row], unit: str, level: str) -> None:
    """Draw gaps against the size."""
    for name, group, style in _styled(profiles.by_label(rows)):
        sizes, gaps = profiles.sizes_and(group, f"{level}_gap_to_best")
        if sizes:
            ax.plot(sizes, 100 * np.array(gaps), label=name, **_points(style), clip_on=False)
    ax.set(xscale="log")
    ax.set_ylim(bottom=0)
    set_labels(ax, f"number of {unit}", f"gap_to_best of {level}, %")
    _decimal_ticks(ax)


def dress(ax: Axes, *, own: bool) -> None:
    """Add a grid, and a legend below the axes.

    Parameters
    ----------
    own
        Whether the figure is the chart's own, so that the legend can use its whole width.
    """
    ax.grid(True, color="0.88", linewidth=0.6)
    ax.set_axisbelow(True)
    handles, _ = ax.get_legend_handles_labels()
    if handles:
        add_legend(ax, handles, own=own, handlelength=2.2)


def _decimal_ticks(axes: Axes) -> None:
    """Write sizes as decimal numbers, not as powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    low, high = axes.get_xlim()
    close = high < 30 * low  # powers of ten would be too few ticks
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 4, 6, 8) if close else (1,)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())

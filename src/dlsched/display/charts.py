"""Charts of methods side by side: gaps, profiles, time and gap by size; legible without colour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched.display.drawing.legend import add_legend
from dlsched.display.drawing.style import TEXT, set_labels, short_name
from dlsched.results import performance_profiles as profiles
from dlsched.results.performance_profiles import Row, Steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


def styles() -> Iterator[dict[str, Any]]:
    """Yield colour, dashes and marker of one method after the other."""
    for colour, dash, mark in cycle(zip(_COLOURS, _DASHES, _MARKS, strict=True)):
        yield {
            "color": colour,
            "linestyle": dash,
            "marker": mark,
            "markersize": 4,
            "linewidth": 1.2,
        }


def _points(style: Mapping[str, Any]) -> dict[str, Any]:
    return {**style, "linestyle": "none", "fillstyle": "none"}


def draw_gap_distribution(ax: Axes, rows: Sequence[Row], level: str) -> None:
    """Draw each method's gaps as points, with a box from the first to the third quartile."""
    groups = {
        label: 100 * np.sort(profiles.gaps_of(group, level))
        for label, group in profiles.by_label(rows).items()
    }
    shown = {label: gaps for label, gaps in groups.items() if len(gaps)}
    for y, (gaps, style) in enumerate(zip(shown.values(), styles(), strict=False)):
        low, middle, high = np.quantile(gaps, (0.25, 0.5, 0.75))
        ax.barh(y, high - low, left=low, height=0.5, color="#e4e9f0", edgecolor="#5f6b7a", lw=0.7)
        ax.plot([middle, middle], [y - 0.25, y + 0.25], color="#5f6b7a", linewidth=1.6)
        ax.plot(gaps, y + _spread(len(gaps)), **_points(style), clip_on=False, zorder=3)
    counts = {label: len(group) for label, group in profiles.by_label(rows).items()}
    names = [f"{short_name(n, _LONGEST_LABEL)}\n{_counted(g, counts[n])}" for n, g in shown.items()]
    ax.set_yticks(range(len(shown)), names, fontsize=TEXT)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(left=0, right=None if any(g.any() for g in shown.values()) else 1)
    set_labels(ax, f"gap to the best bound of {level}, % (box: quartiles, line: median)")


def _counted(gaps: Any, runs: int) -> str:
    """Return how many runs have no gap left, and how many have no gap to draw."""
    zeros = f"{np.count_nonzero(gaps == 0)} of {runs} at 0"
    return zeros + (f", {runs - len(gaps)} without a gap" if len(gaps) < runs else "")


def _spread(count: int) -> Any:
    """Return heights that keep points of equal gaps apart: a fixed pattern, not a random one."""
    return 0.4 * (np.arange(count) * 0.618034 % 1 - 0.5) * (count > 1)


def draw_time_profile(ax: Axes, profile: Mapping[str, Steps]) -> None:
    """Draw the share of runs proven within a factor of the fastest proof."""
    furthest = max(10.0, *(float(factors[-1]) for factors, _ in profile.values()))
    for (label, (factors, shares)), style in zip(profile.items(), styles(), strict=False):
        right = np.append(factors, furthest * 1.05)
        marks = _STEPS | style
        name = short_name(label, _LONGEST_LABEL)
        ax.plot(right, np.append(shares, shares[-1]), label=name, **marks)
    ax.set(xscale="log", xlim=(0.95, furthest * 1.05), ylim=(-0.02, 1.02))
    set_labels(ax, "factor of the fastest proof", "share of runs proven")


def draw_gap_profile(ax: Axes, profile: Mapping[str, Steps], level: str) -> None:
    """Draw the share of each method's runs within each gap."""
    for (label, (gaps, shares)), style in zip(profile.items(), styles(), strict=False):
        if len(gaps):
            right = np.append(np.maximum(gaps, LEAST_GAP), 1.0)
            marks = _STEPS | style
            name = short_name(label, _LONGEST_LABEL)
            ax.plot(right, np.append(shares, shares[-1]), label=name, **marks)
    ax.set(xscale="log", xlim=(LEAST_GAP * 0.8, 1.1), ylim=(-0.02, 1.02))
    set_labels(ax, f"gap_to_best of {level}", "share of runs within it")


def draw_time_by_size(ax: Axes, rows: Sequence[Row], unit: str) -> None:
    """Draw seconds against the size, with the fitted growth where three sizes ran."""
    for (label, group), style in zip(profiles.by_label(rows).items(), styles(), strict=False):
        sizes, seconds = profiles.sizes_and(group, "seconds")
        if not sizes:
            continue
        fitted = profiles.growth(group)
        name = short_name(label, _LONGEST_LABEL)
        name += f": n^{fitted.slope:.2f}" if fitted else ""
        ax.plot(sizes, np.maximum(seconds, _LEAST_SECONDS), label=name, **_points(style))
        if fitted:
            ends = np.array([min(sizes), max(sizes)])
            line = style | {"marker": None, "linewidth": 1}
            ax.plot(ends, np.exp(fitted.intercept) * ends**fitted.slope, **line)
    ax.set(xscale="log", yscale="log")
    set_labels(ax, f"number of {unit}", "seconds")
    _decimal_ticks(ax)


def draw_gap_by_size(ax: Axes, rows: Sequence[Row], unit: str, level: str) -> None:
    """Draw gaps against the size."""
    for (label, group), style in zip(profiles.by_label(rows).items(), styles(), strict=False):
        sizes, gaps = profiles.sizes_and(group, f"{level}_gap_to_best")
        if sizes:
            name = short_name(label, _LONGEST_LABEL)
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

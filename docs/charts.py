"""Draws the charts of the problems' pages as SVG, once for a light page and once for a dark one."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

from measured import Chart

SCHEMES = {
    "light": {
        "text": "#333333",
        "grid": "#d9dce0",
        "lines": ["#0072B2", "#D55E00", "#008561", "#B5489A", "#8C6D00", "#5F6B7A"],
    },
    "dark": {
        "text": "#d5d9e2",
        "grid": "#3d4250",
        "lines": ["#6CB8F0", "#FF9B54", "#3FD9A8", "#EC9FCB", "#E8C547", "#AAB4C5"],
    },
}
MARKERS = "osD^vP"
_APART = 0.075
"""Least distance of labels at the ends of lines, as a share of the axis."""


def svg(chart: Chart, scheme: str) -> bytes:
    """Return a chart as SVG with a transparent background.

    Parameters
    ----------
    scheme
        "light" or "dark".
    """
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    colours: dict[str, Any] = SCHEMES[scheme]
    with mpl.rc_context(style(colours)):
        figure, axes = plt.subplots(figsize=(6.2, 3.5), layout="constrained")
        figure.patch.set_alpha(0)
        axes.patch.set_alpha(0)
        _lines(axes, chart, colours["lines"])
        axes.set_title(chart.title, loc="left", fontsize=11, fontweight="bold")
        axes.set_xlabel(chart.x)
        axes.set_ylabel(chart.y)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color=colours["grid"], linewidth=0.7)
        axes.set_axisbelow(True)
        _ticks(axes, sorted({p.size for line in chart.series.values() for p in line}))
        figure.canvas.draw()
        _label(axes, chart, colours["lines"])
        stream = io.BytesIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
        plt.close(figure)
    return stream.getvalue()


def style(colours: dict[str, Any]) -> dict[str, Any]:
    """Return matplotlib's settings for a scheme."""
    return {
        "svg.hashsalt": "dlsched",
        "svg.fonttype": "path",
        "font.size": 10,
        "text.color": colours["text"],
        "axes.labelcolor": colours["text"],
        "axes.edgecolor": colours["grid"],
        "xtick.color": colours["text"],
        "ytick.color": colours["text"],
    }


def _lines(axes: Any, chart: Chart, colours: list[str]) -> None:
    for i, (_, points) in enumerate(chart.series.items()):
        colour, marker = colours[i % len(colours)], MARKERS[i % len(MARKERS)]
        axes.plot([p.size for p in points], [p.value for p in points], color=colour, linewidth=1.6)
        for face, some in ((colour, [p for p in points if not p.open]),
                           ("none", [p for p in points if p.open])):  # fmt: skip
            axes.plot(
                [p.size for p in some], [p.value for p in some],
                linestyle="", marker=marker, color=colour, markerfacecolor=face, clip_on=False,
            )  # fmt: skip
    if chart.log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xscale("log")
    if chart.limit is not None:
        axes.axhline(chart.limit, color=axes.xaxis.label.get_color(), linewidth=0.8, linestyle=":")


def _ticks(axes: Any, sizes: list[float]) -> None:
    """Name the sizes that were measured."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    axes.set_xticks(sizes, [f"{size:,.0f}" for size in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
    if axes.get_yscale() == "log":
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_locator(NullLocator())


def _label(axes: Any, chart: Chart, colours: list[str]) -> None:
    """Write each line's name at its last point, apart from each other."""
    ends = [(i, name, points[-1]) for i, (name, points) in enumerate(chart.series.items())]
    to_axes = axes.transData + axes.transAxes.inverted()
    at = [float(to_axes.transform((1.0, point.value))[1]) for _, _, point in ends]
    heights = _apart(at)
    for (i, name, _), height in zip(ends, heights, strict=True):
        axes.annotate(
            name, (1.02, height), xycoords="axes fraction", va="center", fontsize=9.5,
            color=colours[i % len(colours)], annotation_clip=False,
        )  # fmt: skip


def _apart(heights: Iterable[float]) -> list[float]:
    """Return heights in the same order, no two closer than `_APART`, near the given ones."""
    given = list(heights)
    order = sorted(range(len(given)), key=given.__getitem__)
    placed = [0.0] * len(given)
    for _ in range(50):
        last = float("-inf")
        for i in order:
            placed[i] = last = max(given[i], last + _APART)
        over = last - max(1.0, *given)
        if over <= 0:
            break
        given = [height - over / 2 for height in given]
    return placed


def caption(chart: Chart) -> str:
    """Return what stands below a chart: what it shows, and the command that measured it."""
    return f"{chart.note} Measured by `{chart.command}`."

"""The pictures of a report: profiles, and growth with size; legible in black and white."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched import registry
from dlsched.bench import statistics
from dlsched.bench.statistics import EvaluatedRun
from dlsched.figures import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# From dark to light, with different dashes and markers: distinguishable without colour.
_COLOURS = ("#1b1b1b", "#8c2d04", "#08519c", "#41ab5d", "#7a5195", "#e08214", "#5c8fb5", "#a0a0a0")
_DASHES = (
    *("-", "--", "-.", ":", (0, (7, 2))),
    *((0, (4, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (9, 1, 2, 1))),
)
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
_STEPS: dict[str, Any] = {"markevery": (0.1, 0.25), "drawstyle": "steps-post"}
_LEAST_GAP = 1e-6
_LEAST_SECONDS = 1e-4


@dataclass(frozen=True)
class Picture:
    """A figure with its name and caption."""

    name: str
    caption: str
    figure: Figure


def pictures(problem: str, runs: Sequence[EvaluatedRun]) -> Iterator[Picture]:
    """Yield the pictures of one problem's runs; those without data are left out."""
    owner = registry.problem(problem)
    level = owner.levels[0].name
    groups = {label: group for (_, label), group in statistics.grouped(runs).items()}
    proofs = statistics.time_profile(runs)
    if sum(len(factors) > 1 for factors, _ in proofs.values()) > 1:
        caption = (
            "Performance profile of the exact methods: the share of the runs proven within a "
            "factor of the fastest proof. Unproven runs are in no share."
        )
        yield Picture("proofs", caption, _figure(_draw_proofs, proofs))
    gaps = statistics.gap_profile(runs)
    if any(len(found) for found, _ in gaps.values()):
        caption = (
            f"Share of the runs within each gap_to_best of {level}. Runs without a solution or a "
            f"bound are in no share. Gaps below {_LEAST_GAP:g} are drawn there."
        )
        yield Picture("gaps", caption, _figure(_draw_gaps, gaps, level))
    if len({run.row["size"] for run in runs if run.row["size"]}) > 1:
        caption = (
            f"Seconds against the number of {owner.size}, with fitted growth where three sizes ran."
        )
        yield Picture("time-by-size", caption, _figure(_draw_times, groups, owner.size))
        caption = f"gap_to_best of {level} against the number of {owner.size}."
        yield Picture("gap-by-size", caption, _figure(_draw_sizes, groups, owner.size, level))


def _figure(draw: Callable[..., None], *what: Any) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.subplots()
    draw(axes, *what)
    axes.grid(True, color="0.88", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend_handles_labels()[1]:
        figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    return figure


def _styles() -> Iterator[dict[str, Any]]:
    for colour, dash, mark in cycle(zip(_COLOURS, _DASHES, _MARKS, strict=True)):
        yield {"color": colour, "linestyle": dash, "marker": mark, "markersize": 4.5}


def _draw_proofs(axes: Axes, profile: dict[str, tuple[Any, Any]]) -> None:
    furthest = max(10.0, *(float(factors[-1]) for factors, _ in profile.values()))
    for (label, (factors, shares)), style in zip(profile.items(), _styles(), strict=False):
        right = np.append(factors, furthest * 1.05)
        marks = _STEPS | style
        axes.plot(right, np.append(shares, shares[-1]), label=shorten(label, 34), **marks)
    axes.set(xscale="log", xlim=(0.95, furthest * 1.05), ylim=(-0.02, 1.02))
    axes.set(xlabel="factor of the fastest proof", ylabel="share of runs proven")


def _draw_gaps(axes: Axes, profile: dict[str, tuple[Any, Any]], level: str) -> None:
    for (label, (gaps, shares)), style in zip(profile.items(), _styles(), strict=False):
        if len(gaps):
            right = np.append(np.maximum(gaps, _LEAST_GAP), 1.0)
            marks = _STEPS | style
            axes.plot(right, np.append(shares, shares[-1]), label=shorten(label, 34), **marks)
    axes.set(xscale="log", xlim=(_LEAST_GAP * 0.8, 1.1), ylim=(-0.02, 1.02))
    axes.set(xlabel=f"gap_to_best of {level}", ylabel="share of runs within it")


def _draw_times(axes: Axes, groups: dict[str, list[EvaluatedRun]], unit: str) -> None:
    for (label, runs), style in zip(groups.items(), _styles(), strict=False):
        ended = [r for r in runs if r.row["seconds"] and r.row["size"]]
        sizes = np.array([r.row["size"] for r in ended])
        seconds = np.maximum([r.row["seconds"] for r in ended], _LEAST_SECONDS)
        fitted = statistics.growth(runs)
        name = shorten(label, 34)
        name += f": n^{fitted.slope:.2f}" if fitted else ""
        points = style | {"linestyle": "none", "fillstyle": "none", "markersize": 5}
        axes.plot(sizes, seconds, label=name, **points)
        if fitted:
            ends = np.array([sizes.min(), sizes.max()], dtype=float)
            line = style | {"marker": None, "linewidth": 1}
            axes.plot(ends, np.exp(fitted.intercept) * ends**fitted.slope, **line)
    axes.set(xscale="log", yscale="log", xlabel=unit, ylabel="seconds")
    _decimal_ticks(axes)


def _draw_sizes(axes: Axes, groups: dict[str, list[EvaluatedRun]], unit: str, level: str) -> None:
    for (label, runs), style in zip(groups.items(), _styles(), strict=False):
        stated = [
            (r.row["size"], 100 * r.gaps[0])
            for r in runs
            if r.objective is not None and r.gaps[0] is not None and r.row["size"]
        ]
        if stated:
            points = style | {"linestyle": "none", "fillstyle": "none", "markersize": 5}
            axes.plot(*zip(*stated, strict=True), label=shorten(label, 34), **points)
    axes.set(xscale="log", xlabel=unit, ylabel=f"gap_to_best of {level}, %")
    _decimal_ticks(axes)


def _decimal_ticks(axes: Axes) -> None:
    """Write sizes as decimal numbers, not as powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    low, high = axes.get_xlim()
    close = high < 30 * low  # powers of ten would be too few ticks
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 4, 6, 8) if close else (1,)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())

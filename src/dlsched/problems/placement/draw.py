"""Pictures of placement: demand and supply by region and GPU type, and the bytes moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dlsched.problems.placement.check import demand, moved
from dlsched.problems.placement.schema import Instance, Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BARS = 40
"""Largest number of pairs of region and type in a picture; the first ones are drawn."""


def draw(instance: Instance, solution: Solution | None = None, ax: Axes | None = None) -> Axes:
    """Draw three bars for each region and GPU type: supply, demand today, and demand after.

    Demand today is that of the homes of today. Jobs without a region count in no bar, so the bars
    may add up to less than the total demand.

    Parameters
    ----------
    solution
        A feasible solution; by default the homes of today.
    ax
        Axes to draw into; new ones by default.
    """
    import matplotlib.pyplot as plt

    index = instance.region_index
    today = {t.id: index[t.home] for t in instance.tables if t.home is not None}
    after = {t: index[r] for t, r in solution.home.items()} if solution else today
    pairs = [
        (r, kind) for r in range(len(instance.regions)) for kind in instance.kinds
    ][:MOST_BARS]  # fmt: skip
    if ax is None:
        _, ax = plt.subplots(figsize=(min(16.0, 2 + 0.7 * len(pairs)), 4))
    supply = [float(instance.regions[r].gpu_supply.get(kind, 0)) for r, kind in pairs]
    series = {
        "supply": (supply, "#ffffff", ""),
        "demand today": (_loads(instance, today, pairs), "#d9d9d9", "//"),
        "demand": (_loads(instance, after, pairs), "#a6bddb", ".."),
    }
    where = np.arange(len(pairs))
    for i, (label, (height, colour, hatch)) in enumerate(series.items()):
        ax.bar(where + 0.28 * (i - 1), height, 0.26, label=label, color=colour, hatch=hatch,
               edgecolor="black", linewidth=0.6)  # fmt: skip
    names = [f"{kind}\n{instance.regions[r].id}" for r, kind in pairs]
    ax.set_xticks(where, names, fontsize=7)
    ax.set_ylabel("GPU hours")
    if pairs:
        ax.legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    method = (solution.method or "a solution") if solution else "today"
    bytes_ = float(moved(instance, after))
    ax.set_title(f"{instance.name}: {method}, {bytes_:.3g} bytes moved")
    return ax


def draw_moves(instance: Instance, solution: Solution, ax: Axes | None = None) -> Axes:
    """Draw a matrix of the bytes that move from row to column, in per cent of all bytes.

    Parameters
    ----------
    solution
        A feasible solution.
    ax
        Axes to draw into; new ones by default.
    """
    import matplotlib.pyplot as plt

    names = [region.id for region in instance.regions]
    flow = np.zeros((len(names), len(names)))
    for table in instance.tables:
        if table.home is not None and solution.home[table.id] != table.home:
            row, column = (
                instance.region_index[table.home],
                instance.region_index[solution.home[table.id]],
            )
            flow[row, column] += float(table.size)
    flow = 100 * flow / float(instance.total_size or 1)
    if ax is None:
        side = 2 + 0.5 * len(names)
        _, ax = plt.subplots(figsize=(side, side))
    ax.imshow(flow, cmap="Greys", vmin=0, vmax=2 * flow.max(initial=0.5))
    for r, c in zip(*np.nonzero(flow), strict=True):
        ax.text(c, r, f"{flow[r, c]:.1f}", ha="center", va="center", fontsize=7)
    ax.set_xticks(range(len(names)), names, fontsize=7)
    ax.set_yticks(range(len(names)), names, fontsize=7)
    ax.set_xlabel("to")
    ax.set_ylabel("from")
    ax.set_title(f"{instance.name}: % of all bytes that move")
    return ax


def _loads(instance: Instance, home: dict[str, int], pairs: list[tuple[int, str]]) -> list[float]:
    """Return the GPU hours demanded for each pair of region and type."""
    here = demand(instance, home)
    return [float(sum(here[r, kind, p] for p in instance.priorities)) for r, kind in pairs]

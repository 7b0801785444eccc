"""More pictures of placement: demand and supply by region and type, and the bytes moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched.display.drawing.colours import EDGE, IDLE, OTHER
from dlsched.display.drawing.labels import box_label, bytes_text
from dlsched.display.drawing.legend import entry, finish
from dlsched.display.drawing.style import SMALL, TEXT, new_axes, set_labels, set_title, short_name
from dlsched.problems.placement.definition.check import demand, moved
from dlsched.problems.placement.definition.schema import Instance, Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SERIES = {"supply": IDLE, "demand today": OTHER, "demand": "#0072b2"}


def draw_supply(
    instance: Instance, solution: Solution | None = None, ax: Axes | None = None
) -> Axes:
    """Draw three bars for each region and GPU type: supply, demand today, and demand after.

    Demand today is that of the homes of today. Jobs without a region count in no bar, so the bars
    may add up to less than the total demand.

    Parameters
    ----------
    solution
        A feasible solution; by default the homes of today.
    ax
        Axes to draw on; those of a new figure by default.
    """
    index = instance.region_index
    today = {t.id: index[t.home] for t in instance.tables if t.home is not None}
    after = {t: index[r] for t, r in solution.home.items()} if solution else today
    pairs = [(r, kind) for r in range(len(instance.regions)) for kind in instance.kinds]
    standalone = ax is None
    if ax is None:
        ax = new_axes(2.6)
    supply = [float(instance.regions[r].gpu_supply.get(kind, 0)) for r, kind in pairs]
    where = np.arange(len(pairs))
    series = (supply, _loads(instance, today, pairs), _loads(instance, after, pairs))
    for i, (colour, heights) in enumerate(zip(_SERIES.values(), series, strict=True)):
        middles = where + 0.28 * (i - 1)
        ax.bar(middles, heights, 0.26, color=colour, edgecolor=EDGE, linewidth=0.5)
    set_labels(ax, "region and type of GPU", "GPU hours")
    names = [f"{instance.regions[r].id} {kind}" for r, kind in pairs]
    turned: dict[str, Any] = {"rotation": 90} if len(pairs) > 3 else {}
    ax.set_xticks(where, [short_name(name, 20) for name in names], fontsize=SMALL, **turned)
    ax.yaxis.set_major_formatter("{x:,.0f}")
    method = (solution.method or "a solution") if solution else "today"
    title = (
        f"{instance.name}: {method}, {bytes_text(float(moved(instance, after)))} of tables moved"
    )
    finish(ax, title, [entry(label, colour) for label, colour in _SERIES.items()], own=standalone)
    return ax


def draw_moves(instance: Instance, solution: Solution, ax: Axes | None = None) -> Axes:
    """Draw a matrix of the bytes that move from row to column, in per cent of all bytes.

    Parameters
    ----------
    solution
        A feasible solution.
    ax
        Axes to draw on; those of a new figure by default.
    """
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    names = [region.id for region in instance.regions]
    flow = np.zeros((len(names), len(names)))
    index = instance.region_index
    for table in instance.tables:
        new_home = solution.home[table.id]
        if table.home is not None and table.home != new_home:
            flow[index[table.home], index[new_home]] += float(table.size)
    flow = 100 * flow / float(instance.total_size or 1)
    if ax is None:
        ax = new_axes(0.3 * len(names) + 1.2)
    colours = LinearSegmentedColormap.from_list("moves", ["#ffffff", "#d55e00"])
    most = max(1.0, flow.max(initial=0))
    ax.imshow(flow, cmap=colours, vmin=0, vmax=most, aspect="auto")
    for r, c in zip(*np.nonzero(flow), strict=True):
        fill = to_hex(colours(flow[r, c] / most))
        text = f"{flow[r, c]:.1f}"
        box_label(ax, (c - 0.5, r - 0.5, 1, 1), "<0.1" if text == "0.0" else text, fill)
    set_labels(ax, "to region", "from region")
    ax.set_xticks(range(len(names)), [short_name(n, 8) for n in names], fontsize=TEXT)
    ax.set_yticks(range(len(names)), [short_name(n, 12) for n in names], fontsize=TEXT)
    set_title(ax, f"{instance.name}: % of all bytes that move")
    return ax


def _loads(instance: Instance, home: dict[str, int], pairs: list[tuple[int, str]]) -> list[float]:
    """Return the GPU hours demanded for each pair of region and type."""
    here = demand(instance, home)
    return [float(sum(here[r, kind, p] for p in instance.priorities)) for r, kind in pairs]

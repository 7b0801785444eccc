"""Many machines of dispatch: a column for each, a band for each cluster."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched.display.drawing.bands import colours_array, require_drawable
from dlsched.display.drawing.colours import BAD, EDGE, IDLE
from dlsched.display.drawing.labels import box_label
from dlsched.display.drawing.style import (
    SMALL,
    TEXT,
    figure_width,
    new_axes,
    set_labels,
    short_name,
    width_of,
)
from dlsched.problems.dispatch.definition.schema import Instance
from dlsched.problems.dispatch.pictures.machine_use import (
    Looks,
    MachineUse,
    clusters_of,
    draw_waiting,
    rows_of_chips,
)
from dlsched.text.figures import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CELLS = 12
"""Cells of a column."""
_POINTS = 280
"""Points of all bands together, unless one would have less than a point."""
_BAND = 36
"""Points of a band, at most."""
_BETWEEN = 5
"""Points between bands of few clusters; of more than `_FEW` 2, of more than `_POINTS` / 4 none."""
_FEW = 20
_NAME = 8
"""Points of a cluster's name beside its band, at least; else only some have their names."""
_CHIP = 13
"""Points of a row of waiting workloads."""


def draw_map(
    instance: Instance,
    use: dict[int, MachineUse],
    waiting: list[int],
    looks: Looks,
    ax: Axes | None,
) -> Axes:
    """Draw every machine as a column of cells; hatched where a workload is preempted."""
    clusters = clusters_of(instance)
    wide = max(len(cluster.machines) for cluster in clusters)
    require_drawable(wide * len(clusters), _CELLS, "its machines")
    inches = figure_width() - 0.75 if ax is None else width_of(ax)
    between = _BETWEEN if len(clusters) <= _FEW else 2 if len(clusters) <= _POINTS / 4 else 0
    band = max(1, min(_BAND, _POINTS // len(clusters) - (between if between == 2 else 0)))
    named = math.ceil(_NAME / (band + between))
    strip = _CHIP * rows_of_chips(inches, len(waiting)) + _CHIP if waiting else 0
    points = len(clusters) * (band + between) + strip
    ax = new_axes((points + 75) / 72) if ax is None else ax
    places = []
    names = []
    y = 0.0
    rgb: dict[str, np.ndarray[Any, Any]] = {}
    for cluster in clusters:
        size = len(cluster.machines)
        _name_started(ax, [use.get(number) for number in cluster.machines], looks, y, band)
        cells = np.ones((_CELLS, size, 3)) * colours_array([IDLE])[0]
        for column, number in enumerate(cluster.machines):
            if number in use:
                _fill(cells[:, column], use[number], rgb)
        look: dict[str, Any] = {"aspect": "auto", "interpolation": "none"}
        ax.imshow(cells, extent=(0, size, y + band, y), **look)
        _frame(ax, (0, y, size, band), edgecolor=EDGE, linewidth=0.6)
        victims = [number in use and bool(use[number].victims) for number in cluster.machines]
        for preempted, columns in groupby(range(size), key=victims.__getitem__):
            run = list(columns)
            if preempted:
                style: dict[str, Any] = {"edgecolor": BAD, "linewidth": 1.0, "hatch": "xxxxx"}
                _frame(ax, (run[0], y, len(run), band), **style)
        places.append(y + band / 2)
        names.append(short_name(f"{cluster.region} / {cluster.name}", 18))
        y += band + between
    if waiting:
        words = f"waiting: {len(waiting):,} of {len(instance.pending):,} pending workloads"
        ax.annotate(words, (0, y + 0.6 * _CHIP), va="center", fontsize=SMALL, fontweight="bold")
        draw_waiting(ax, instance, waiting, looks, top=y + _CHIP, row=_CHIP, width=wide)
    ax.set_yticks(places[::named], names[::named], fontsize=TEXT)
    ax.set_xlim(0, wide)
    ax.set_ylim(points, -1)
    ax.set_xticks([])
    what = "a column each, filled by the share of its GPUs or CPUs in use"
    set_labels(ax, f"all {len(instance.kinds):,} machines by region and cluster; {what}")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def _name_started(
    ax: Axes, machines: list[MachineUse | None], looks: Looks, top: float, band: float
) -> None:
    """Write the name of a workload that starts on neighbouring machines that it fills alike."""
    spans: dict[tuple[str, float, float], list[int]] = {}
    for column, here in enumerate(machines):
        filled = 0.0
        for part in here.kept if here else ():
            if part.name in looks.index:
                runs = spans.setdefault((part.name, filled, part.share), [])
                runs.append(column)
            filled += part.share
    for (name, filled, share), columns in spans.items():
        for _, run in groupby(enumerate(columns), key=lambda pair: pair[1] - pair[0]):
            own = [column for _, column in run]
            low = top + band * (1 - filled - share)
            box = (own[0], low, len(own), band * share)
            box_label(ax, box, shorten(name, 12), looks.pending(name)[0], turn=False)


def _fill(
    column: np.ndarray[Any, Any], here: MachineUse, rgb: dict[str, np.ndarray[Any, Any]]
) -> None:
    """Fill a column of cells from the bottom.

    Parameters
    ----------
    rgb
        The colours met so far as parts from 0 to 1.
    """
    filled = 0.0
    for part in here.kept:
        low = min(_CELLS, round(_CELLS * filled))
        high = min(_CELLS, round(_CELLS * (filled + part.share)))
        if part.colour not in rgb:
            rgb[part.colour] = colours_array([part.colour])[0]
        column[_CELLS - high : _CELLS - low] = rgb[part.colour]
        filled += part.share


def _frame(ax: Axes, box: tuple[float, float, float, float], **style: Any) -> None:
    from matplotlib.patches import Rectangle

    x, y, width, height = box
    look: dict[str, Any] = {"facecolor": "none", "clip_on": False} | style
    ax.add_patch(Rectangle((x, y), width, height, **look))

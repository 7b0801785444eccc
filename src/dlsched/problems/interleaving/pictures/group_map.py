"""The map of many groups of interleaving: a column for each, of its resources or its jobs."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched.display.drawing.bands import Bands, colours_array
from dlsched.display.drawing.colours import Colouring
from dlsched.display.drawing.legend import colour_entries, idle_entry
from dlsched.display.drawing.style import TEXT, set_labels, short_name
from dlsched.problems.interleaving.definition.check import iteration_time
from dlsched.problems.interleaving.definition.schema import Group, Instance
from dlsched.schema import Number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_map(
    instance: Instance,
    groups: Sequence[Group],
    gammas: Sequence[float],
    ax: Axes | None,
    colouring: Colouring | None,
) -> tuple[Axes, list[Any]]:
    """Draw every group as a column, the most efficient first; return axes and legend entries.

    Parameters
    ----------
    gammas
        The groups' efficiencies.
    colouring
        The colours of the jobs; without one the use of the resources is drawn.
    """
    order = sorted(range(len(groups)), key=lambda g: -gammas[g])
    ranked = [groups[g] for g in order]
    if colouring is None:
        return _use(instance, ranked, ax), []
    cells = max(len(group.jobs) for group in ranked)
    colours = np.ones((cells, len(ranked), 3))
    for g, group in enumerate(ranked):
        places = [instance.job_index[name] for name in group.jobs]
        colours[: len(places), g] = colours_array(colouring.colours[j] for j in places)
    bands = Bands(len(ranked), cells, ax, cell_points=6, below=52)
    bands.paint(colours)
    bands.finish()
    rows = f", {bands.per_band} in a row" * (bands.bands > 1)
    words = f"all {len(ranked):,} groups by falling γ{rows}; a group is a column of its jobs"
    _label(bands.ax, words)
    shown = [instance.job_index[name] for group in ranked for name in group.jobs]
    entries = colour_entries(colouring, shown, "jobs", patterned=False)
    free = [idle_entry("no job")] if any(len(g.jobs) < cells for g in ranked) else []
    return bands.ax, entries + free


def _use(instance: Instance, groups: Sequence[Group], ax: Axes | None) -> Axes:
    """Draw the share of each group's iteration in which each resource is in use."""
    from matplotlib.colors import LinearSegmentedColormap

    k = len(instance.resources)
    use = np.zeros((k, len(groups)))
    for g, group in enumerate(groups):
        stages = instance.stages_of(group.jobs)
        time = Fraction(iteration_time(stages, group.offsets))
        for r in range(k):
            busy: Number = sum(row[r] for row in stages)
            use[r, g] = float(busy / time) if time else 0.0
    bands = Bands(len(groups), k, ax, cell_points=9, below=42)
    colours = LinearSegmentedColormap.from_list("use", ["#ffffff", "#8fb4d9", "#08306b"])
    image = bands.paint(use, lines=True, cmap=colours, vmin=0, vmax=1)
    bands.finish()
    if bands.bands == 1:
        names = [short_name(name, 12) for name in instance.resources]
        bands.ax.set_yticks([r + 0.5 for r in range(k)], names, fontsize=TEXT)
        words = f"all {len(groups):,} groups, a column each, by falling γ"
    else:
        words = f"all {len(groups):,} groups by falling γ, {bands.per_band} in a row; "
        words += f"from top to bottom: {', '.join(instance.resources)}"
    _label(bands.ax, words)
    bar = bands.ax.figure.colorbar(image, ax=bands.ax, fraction=0.04, pad=0.02)
    bar.set_label("share of time in use", fontsize=TEXT)
    bar.ax.tick_params(labelsize=TEXT, length=2)
    bar.outline.set_linewidth(0.5)
    return bands.ax


def _label(ax: Axes, words: str) -> None:
    set_labels(ax, words)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)

"""Few machines of dispatch: a row for each, under headings of region and cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dlsched.display.drawing.colours import BAD, EDGE, IDLE, mix
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
from dlsched.problems.dispatch.definition.machines import Machines
from dlsched.problems.dispatch.definition.schema import Instance
from dlsched.problems.dispatch.pictures.machine_use import (
    Looks,
    MachineUse,
    Part,
    clusters_of,
    draw_waiting,
    rows_of_chips,
)
from dlsched.text.figures import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW = 0.84
"""Height of a machine's bar, of 1 for its row."""
_VICTIMS = 0.62
"""Height of the row of what is preempted, below its machine."""
_INCHES = 0.2
"""Inches of a row."""


def draw_rows(
    instance: Instance,
    use: dict[int, MachineUse],
    waiting: list[int],
    looks: Looks,
    ax: Axes | None,
) -> Axes:
    """Draw a row for each machine: who uses it; below it, hatched, who is preempted."""
    clusters = clusters_of(instance)
    height = float(len(clusters) + len(instance.kinds))
    height += _VICTIMS * sum(bool(here.victims) for here in use.values())
    inches = figure_width() - 0.75 if ax is None else width_of(ax)
    strip = 1 + rows_of_chips(inches, len(waiting)) if waiting else 0
    ax = new_axes(_INCHES * (height + strip) + 1.0) if ax is None else ax
    y = 0.0
    places = []
    names = []
    for cluster in clusters:
        _heading(ax, y, f"region {cluster.region}, cluster {cluster.name}")
        y += 1
        for number in cluster.machines:
            here = use.get(number, MachineUse())
            machines = instance.kinds[number].machines
            _bar(ax, y, here.kept, _ROW)
            places.append(y + 0.5)
            names.append(short_name(instance.machine_name(number), 12))
            _beside(ax, y, machines)
            y += 1
            if here.victims:
                _bar(ax, y - 0.08, here.victims, _VICTIMS - 0.1, frame=False)
                y += _VICTIMS
    if waiting:
        _heading(ax, y, f"waiting: {len(waiting):,} of {len(instance.pending):,} pending workloads")
        draw_waiting(ax, instance, waiting, looks, top=y + 1, row=1, width=1)
    ax.set_yticks(places, names, fontsize=TEXT)
    ax.set_xlim(0, 1.13)
    ax.set_ylim(max(1.0, height + strip), 0)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    set_labels(ax, "share of the machine in use: of its GPUs or its CPUs, whichever is larger")
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.spines["bottom"].set_bounds(0, 1)
    return ax


def _heading(ax: Axes, y: float, words: str) -> None:
    ax.annotate(
        short_name(words, 60),
        (0, y + 0.62),
        va="center",
        fontsize=SMALL,
        fontweight="bold",
        annotation_clip=False,
    )


def _beside(ax: Axes, y: float, machines: Machines) -> None:
    """Write at the right how large a machine is."""
    words = f"{float(machines.cpus):,.4g} CPUs"
    if machines.gpus:
        words = f"{machines.gpus:,} {short_name(machines.gpu_type or '', 8)}"
    ax.annotate(
        words,
        (1, y + 0.5),
        xytext=(3, 0),
        textcoords="offset points",
        va="center",
        fontsize=SMALL,
        annotation_clip=False,
    )


def _bar(ax: Axes, y: float, parts: list[Part], height: float, *, frame: bool = True) -> None:
    from matplotlib.patches import Rectangle

    low = y + (0.08 if frame else 0.0)
    if frame:
        look: dict[str, Any] = {"facecolor": IDLE, "edgecolor": EDGE, "linewidth": 0.6}
        ax.add_patch(Rectangle((0, low), 1, height, **look))
    at = 0.0
    for part in parts:
        edge = mix(part.colour, "#000000", 0.55) if frame else BAD
        look = {"edgecolor": edge, "linewidth": 0.6, "hatch": part.hatch}
        box = (at, low, part.share, height)
        ax.add_patch(Rectangle(box[:2], *box[2:], facecolor=part.colour, **look))
        box_label(ax, box, shorten(part.name, 14), part.colour, opaque=bool(part.hatch), turn=False)
        at += part.share

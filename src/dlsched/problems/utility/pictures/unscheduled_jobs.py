"""Picture of utility's jobs without a schedule: each as if it ran alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dlsched.display.drawing.colours import EDGE, IDLE, Colouring, mix
from dlsched.display.drawing.labels import box_label
from dlsched.display.drawing.legend import colour_entries, idle_entry
from dlsched.display.drawing.style import TEXT, new_axes, set_labels, short_name
from dlsched.problems.utility.definition.schema import Instance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 40
"""Up to this number of jobs, each has its name beside its row."""


def draw_alone(instance: Instance, colouring: Colouring, ax: Axes | None) -> tuple[Axes, list[Any]]:
    """Draw a row for each job: the slots from its arrival that it needs if it runs at its fastest.

    Parameters
    ----------
    colouring
        The colours of the jobs.

    Returns
    -------
    tuple
        The axes, and the legend's entries.
    """
    from matplotlib.ticker import MaxNLocator

    jobs, named = instance.jobs, len(instance.jobs) <= _NAMED
    if ax is None:
        ax = new_axes(1.3 + (0.16 * len(jobs) if named else 2.2))
    for y, (job, slots) in enumerate(zip(jobs, instance.fewest, strict=True)):
        fill = colouring.colours[y] if slots else IDLE
        width = slots or instance.slots - job.arrival + 1
        edge = mix(fill, "#000000", 0.55) if slots else EDGE
        hatch = colouring.hatch(y) if slots and named else ""
        look: dict[str, Any] = {"color": fill, "edgecolor": edge, "linewidth": 0.5 * named}
        look["hatch"] = hatch
        box = (job.arrival - 0.5, y - 0.4, width, 0.8)
        ax.barh(y, width, left=box[0], height=0.8 if named else 1.0, clip_on=False, **look)
        if named:
            words = f"{job.workers} GPU{'s' * (job.workers > 1)}"
            box_label(ax, box, words, fill, opaque=bool(hatch))
    many = "" if named else f" (all {len(jobs):,}, in the file's order)"
    set_labels(ax, "slot, if each job ran alone at its fastest", f"job{'s' * (not named)}{many}")
    if named:
        ax.set_yticks(range(len(jobs)), [short_name(job.id, 12) for job in jobs], fontsize=TEXT)
    ax.set_xlim(0.5, instance.slots + 0.5)
    ax.set_ylim(max(len(jobs), 1) - 0.4, -0.6)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=10))
    can = [j for j, slots in enumerate(instance.fewest) if slots]
    entries = colour_entries(colouring, can, "jobs", patterned=named)
    if len(can) < len(jobs):
        entries.append(idle_entry("cannot finish within the horizon"))
    return ax, entries

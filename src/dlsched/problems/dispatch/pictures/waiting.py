"""The strip of the workloads of dispatch that wait."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from dlsched.display.drawing.colours import mix
from dlsched.display.drawing.labels import box_label
from dlsched.display.drawing.style import width_of
from dlsched.problems.dispatch.definition.schema import Instance
from dlsched.problems.dispatch.pictures.machine_use import Looks, size_text
from dlsched.text.figures import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 40
"""Up to this number of waiting workloads each has a box with its name and size."""
_CHIP_INCHES = 1.05
"""Inches of such a box, at least."""
_SMALL_CHIPS = 100
"""Boxes without names in a row."""
_MOST_CHIPS = 400
"""More workloads are counted by colour, in one bar."""


def chips_in_row(ax_inches: float, count: int) -> int:
    """Return how many boxes a row of the strip has."""
    if count > _MOST_CHIPS:
        return count
    if count > _NAMED:
        return _SMALL_CHIPS
    return max(1, int(ax_inches / _CHIP_INCHES))


def rows_of_chips(ax_inches: float, count: int) -> int:
    """Return how many rows the strip has."""
    return math.ceil(count / chips_in_row(ax_inches, count))


def draw_waiting(
    ax: Axes,
    instance: Instance,
    waiting: list[int],
    looks: Looks,
    *,
    top: float,
    row: float,
    width: float,
) -> None:
    """Draw a box for each waiting workload; of very many a part of a bar for each colour.

    Parameters
    ----------
    waiting
        Positions of the workloads.
    top, row, width
        Where the strip begins, the height of one of its rows, and its width, in the axes' units.
    """
    from matplotlib.patches import Rectangle

    if len(waiting) > _MOST_CHIPS:
        _draw_counts(
            ax, [looks.pending(instance.pending[w].id)[0] for w in waiting], top, row, width
        )
        return
    per_row = chips_in_row(width_of(ax), len(waiting))
    step = width / per_row
    for i, w in enumerate(waiting):
        line, place = divmod(i, per_row)
        name = instance.pending[w].id
        fill, hatch = looks.pending(name)
        box = (place * step, top + (line + 0.08) * row, 0.96 * step, 0.84 * row)
        look: dict[str, Any] = {"edgecolor": mix(fill, "#000000", 0.55), "linewidth": 0.6}
        look |= {"hatch": hatch, "linestyle": "--"}
        ax.add_patch(Rectangle(box[:2], *box[2:], facecolor=fill, **look))
        if len(waiting) <= _NAMED:
            words = f"{shorten(name, 12)}: {size_text(instance, w)}"
            box_label(ax, box, words, fill, opaque=bool(hatch), turn=False)


def _draw_counts(ax: Axes, colours: list[str], top: float, row: float, width: float) -> None:
    """Draw a bar with a part for each colour, as long as its share, with the number."""
    from matplotlib.patches import Rectangle

    left = 0.0
    for colour, count in Counter(colours).most_common():
        box = (left, top + 0.08 * row, width * count / len(colours), 0.84 * row)
        edge = mix(colour, "#000000", 0.55)
        ax.add_patch(Rectangle(box[:2], *box[2:], facecolor=colour, edgecolor=edge, linewidth=0.6))
        box_label(ax, box, f"{count:,}", colour, turn=False)
        left += box[2]

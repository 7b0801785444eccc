"""The legend below a picture, in as many columns as its width has room for."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

from dlsched.display.drawing.colours import (
    EDGE,
    MOST_NAMED,
    PALETTE,
    SAME_LABEL,
    Colour,
    Colouring,
)
from dlsched.display.drawing.style import TEXT, TITLE, set_title, short_name, width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST_LABEL = 44
LEGEND: dict[str, Any] = {
    "fontsize": TEXT,
    "frameon": False,
    "handlelength": 1.1,
    "handleheight": 1.0,
    "columnspacing": 0.9,
    "handletextpad": 0.45,
    "labelspacing": 0.3,
    "borderpad": 0.0,
    "borderaxespad": 0.3,
}
"""The look of every legend."""
_LINE = 1.3
"""Height of a line by the size of its text."""
_BELOW = 30
"""Points between axes and legend, for tick labels and the axis label."""
_ROOM = 0.95
"""Share of a figure's width that a legend may have where it is measured: text is up to 3 % wider
at some resolutions, since hinting moves letters to whole pixels."""


def entry(label: str, colour: Colour, **style: Any) -> Any:
    """Return a legend's entry: a box of a colour."""
    from matplotlib.patches import Patch

    look: dict[str, Any] = {"edgecolor": EDGE, "linewidth": 0.6} | style
    return Patch(facecolor=colour, label=short_name(label, _LONGEST_LABEL), **look)


def colour_entries(
    colouring: Colouring, drawn: Container[str], what: str, *, patterned: bool = True
) -> list[Any]:
    """Return the entries of the looks that are drawn.

    Parameters
    ----------
    drawn
        The labels of what is drawn.
    what
        What is coloured, as ``"jobs"``, for a legend that cannot name all of them.
    patterned
        Whether patterns are drawn, as on boxes; cells of a map have colours only.
    """
    patterns = colouring.patterns if patterned else {}
    present = [label for label in colouring.key if label in drawn and label != SAME_LABEL]
    looks = {(colouring.key[label], patterns.get(label, "")) for label in colouring.key}
    if len(looks) == len(colouring.key):
        return [entry(name, colouring.key[name], hatch=patterns.get(name)) for name in present]
    repeat = f"looks repeat after {MOST_NAMED}"
    if not patterned:
        repeat = f"colours repeat after {len(PALETTE)}"
    note = entry(f"{len(present):,} {what}; {repeat}", "none", edgecolor="none")
    return [note] if present else []


def finish(ax: Axes, title: str, handles: Sequence[Any], *, own: bool) -> None:
    """Set the title, and put a legend below the axes.

    `own`: whether the figure is the picture's own: then the legend can use its whole width, and the
    figure grows by the lines that title and legend have beyond the first, or beyond those of the
    title before.
    """
    before = ax.get_title(loc="left").count("\n")
    set_title(ax, title)
    rows = add_legend(ax, handles, own=own) if handles else 1
    if own:
        lines = ax.get_title(loc="left").count("\n") - before
        points = lines * _LINE * TITLE + (rows - 1) * _LINE * TEXT
        figure: Any = ax.figure
        figure.set_size_inches(figure.get_figwidth(), figure.get_figheight() + points / 72)


def add_legend(ax: Axes, handles: Sequence[Any], *, own: bool, **look: Any) -> int:
    """Put a legend below the axes; return the number of its rows.

    `own`: as for `finish`; the figure keeps its size. `**look`: settings of matplotlib's legend,
    instead of ours.
    """
    from matplotlib.transforms import ScaledTranslation

    place = LEGEND | look
    inches = ax.figure.bbox.width / ax.figure.dpi
    width = _ROOM * inches if own else width_of(ax)
    down = ScaledTranslation(0, -_BELOW / 72, ax.figure.dpi_scale_trans)
    get_renderer = getattr(ax.figure.canvas, "get_renderer", lambda: None)
    renderer = get_renderer()
    for columns in range(min(len(handles), 8), 0, -1):
        place["handles"] = [h for c in range(columns) for h in handles[c::columns]]  # by rows
        if own:
            legend = ax.figure.legend(loc="outside lower left", ncols=columns, **place)
        else:
            legend = ax.legend(
                loc="upper left",
                bbox_to_anchor=(0, 0),
                ncols=columns,
                bbox_transform=ax.transAxes + down,
                **place,
            )
        if legend.get_window_extent(renderer).width <= width * ax.figure.dpi or columns == 1:
            break
        legend.remove()
    return math.ceil(len(handles) / columns)

"""Owners of cells: servers and the jobs on their GPUs, few as rows of boxes, many as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dlsched.display.drawing.bands import Bands, colours_array, require_drawable
from dlsched.display.drawing.colours import EDGE, IDLE, mix
from dlsched.display.drawing.labels import box_label
from dlsched.display.drawing.style import SMALL, TEXT, new_axes, set_labels, short_name
from dlsched.text.figures import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMED = 24
"""Up to this number of owners, each has a row with its name."""
_LINES = 64
"""Up to this number of cells of an owner, lines separate them."""
_MISSING = "#eeeeee"
"""Cells that a smaller owner than the largest does not have."""


class Piece(NamedTuple):
    """Neighbouring cells with one look; without a name they have the edge of what is idle."""

    size: int
    colour: str
    name: str = ""
    hatch: str = ""
    crossed: bool = False


class Owner(NamedTuple):
    """What has cells: a server.

    Attributes
    ----------
    pieces
        From the first cell on; the rest is idle.
    note
        Words beside its row.
    frame
        Colour of a frame around it, if any.
    """

    name: str
    size: int
    pieces: Sequence[Piece]
    note: str = ""
    frame: str = ""


def draw_rows(owners: Sequence[Owner], ax: Axes | None, *, room: float) -> Axes:
    """Draw a row of boxes for each server, with the names of what is in them.

    Parameters
    ----------
    room
        Width of the axes by that of the largest server; notes are at the right of each row.
    """
    n = len(owners)
    if ax is None:
        ax = new_axes(0.2 * max(n, 1) + 0.95)
    for row, owner in enumerate(owners):
        _draw_row(ax, row, owner)
    width = max((owner.size for owner in owners), default=1)
    set_labels(ax, "GPUs of the server", "server")
    ax.set_yticks(range(n), [short_name(owner.name, 10) for owner in owners], fontsize=TEXT)
    ax.set_xticks(range(0, width + 1, max(1, width // 8)))
    ax.set_xlim(0, width * room)
    ax.set_ylim(max(n, 1) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.spines["bottom"].set_bounds(0, width)
    return ax


def _draw_row(ax: Axes, row: int, owner: Owner) -> None:
    from matplotlib.patches import Rectangle

    low, high = row - 0.42, 0.84
    look: dict[str, Any] = {"edgecolor": EDGE, "linewidth": 0.6}
    ax.add_patch(Rectangle((0, low), owner.size, high, facecolor=IDLE, **look))
    at = 0
    for piece in owner.pieces:
        box = (at, low, piece.size, high)
        edge = mix(piece.colour, "#000000", 0.55) if piece.name else EDGE
        look = {"edgecolor": edge, "linewidth": 0.6, "hatch": piece.hatch, "zorder": 2}
        ax.add_patch(Rectangle(box[:2], *box[2:], facecolor=piece.colour, **look))
        for y in ((low, low + high), (low + high, low)) if piece.crossed else ():
            ax.plot([at, at + piece.size], y, color="black", linewidth=0.8, zorder=3)
        covered = bool(piece.hatch) or piece.crossed
        box_label(ax, box, shorten(piece.name, 12), piece.colour, opaque=covered)
        at += piece.size
    if owner.size <= _LINES:
        inner = range(1, owner.size)
        ax.vlines(inner, low, low + high, color="#00000040", linewidth=0.4, zorder=2.5)
    if owner.frame:
        look = {"facecolor": "none", "edgecolor": owner.frame, "linewidth": 1.8, "zorder": 5}
        ax.add_patch(Rectangle((0, low), owner.size, high, clip_on=False, **look))
    beside: dict[str, Any] = {"xytext": (3, 0), "textcoords": "offset points", "va": "center"}
    ax.annotate(owner.note, (owner.size, row), fontsize=SMALL, **beside)


def draw_columns(owners: Sequence[Owner], ax: Axes | None, order: str) -> Axes:
    """Draw a column of cells for each server; columns fill as many rows as they need.

    Parameters
    ----------
    order
        The servers' order, for the axis label.
    """
    n, cells = len(owners), max(owner.size for owner in owners)
    require_drawable(n, cells, "the GPUs of its servers")
    colours = np.ones((cells, n, 3))
    for column, owner in enumerate(owners):
        at = 0
        for piece in owner.pieces:
            colours[at : at + piece.size, column] = colours_array([piece.colour])
            at += piece.size
        colours[owner.size :, column] = colours_array([_MISSING])
    bands = Bands(n, cells, ax, cell_points=2.2, below=44)
    bands.paint(colours)
    for frame in dict.fromkeys(owner.frame for owner in owners if owner.frame):
        framed = [column for column, owner in enumerate(owners) if owner.frame == frame]
        bands.frames(framed, edgecolor=frame, linewidth=1.1)
    bands.finish()
    words = f"all {n:,} servers{order}, {bands.per_band} in a row; "
    set_labels(bands.ax, words + "a server is a column of its GPUs", "servers")
    bands.ax.spines[:].set_visible(False)
    bands.ax.tick_params(length=0)
    return bands.ax

"""Few owners: a row of boxes for each, with names where they fit, under headings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched.display.drawing.cells import NAMED, Owner, Picture, Piece
from dlsched.display.drawing.colours import EDGE, IDLE, Colour, mix, text_on
from dlsched.display.drawing.style import (
    SMALL,
    TEXT,
    ink,
    new_axes,
    set_labels,
    short_name,
    width_of,
)
from dlsched.text.figures import printable, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PADDING = 1.0
"""Points that a label keeps from the sides of its box."""


def box_label(
    ax: Axes,
    box: Sequence[float],
    text: str,
    fill: Colour | None,
    *,
    opaque: bool = False,
    turn: bool = True,
) -> Any:
    """Write a text in the middle of a box, if it fits at the size at which it is drawn.

    A text that is too wide but fits upright is turned by 90 degrees. What fits is decided when the
    figure is drawn, so that the axes may change their size.

    Parameters
    ----------
    box
        x, y, width and height in the axes' units.
    fill
        The box's colour; the text is black or white, whichever is legible on it. ``None`` for no
        box: the text has the colour of other text.
    opaque
        Whether to cover what is behind the text, as a hatch, with the box's colour.
    turn
        Whether a text that is too wide may be turned.

    Returns
    -------
    matplotlib.text.Text
        With a method ``fits(renderer)``.
    """
    text = "\n".join(map(printable, text.split("\n")))
    colour = text_on(fill) if fill else ink()
    label = _fitted_text()(box, text, colour, fill if opaque else None, (0, 90) if turn else (0,))
    label.set_clip_on(True)
    ax.add_artist(label)
    return label


@cache
def _fitted_text() -> Any:
    """Return the class of these texts; matplotlib is imported when it is first needed."""
    from matplotlib.text import Text

    class FittedText(Text):
        """A text that is left out where its box is too small."""

        def __init__(
            self,
            box: Sequence[float],
            text: str,
            colour: Colour,
            plate: Colour | None,
            angles: Sequence[int],
        ) -> None:
            x, y, width, height = box
            look: dict[str, Any] = {"ha": "center", "va": "center", "zorder": 4}
            middle = x + width / 2, y + height / 2
            super().__init__(*middle, text, fontsize=SMALL, color=colour, **look)
            self.box, self.angles = tuple(box), angles
            if plate:
                self.set_bbox({"facecolor": plate, "edgecolor": "none", "pad": 0.6})
            self.set_in_layout(False)
            self.set_parse_math(False)

        def fits(self, renderer: Any) -> bool:
            """Whether it fits its box; turns it where it only fits upright."""
            x, y, width, height = self.box
            assert self.axes is not None
            (left, low), (right, high) = self.axes.transData.transform(
                [(x, y), (x + width, y + height)]
            )
            room = abs(right - left), abs(high - low)
            pad = 2 * renderer.points_to_pixels(_PADDING)
            for angle in self.angles:
                self.set_rotation(angle)
                area = Text.get_window_extent(self, renderer)
                if area.width + pad <= room[0] and area.height <= room[1]:
                    return True
            self.set_rotation(0)
            return False

        def draw(self, renderer: Any) -> None:
            """Draw the text if it fits."""
            if self.fits(renderer):
                super().draw(renderer)

    return FittedText


_ROW, _LOW_ROW = 0.2, 0.16
"""Inches of a row, and of one of more than `NAMED`."""
_BOX = 0.84
"""Height of a box, of 1 for its row."""
_LINES = 64
"""Up to this number of cells of an owner, lines separate them."""
_LETTER = 0.56 * SMALL
"""Points of a letter of a note, about."""
_LONGEST = 20
"""Letters of an owner's or a piece's name."""


def draw_rows(picture: Picture, ax: Axes | None) -> Axes:
    """Draw a row of boxes for each owner, with the names of what is in them, and headings."""
    from matplotlib.ticker import MaxNLocator

    owners = [*picture.owners, *picture.strip]
    groups = ["", *(owner.group for owner in owners)]
    height = len(owners) + sum(a != b for a, b in pairwise(groups))
    if ax is None:
        ax = new_axes((_ROW if height <= NAMED else _LOW_ROW) * max(height, 1) + 1.0)
    y, middles = 0, []
    for before, owner in zip(groups, owners, strict=False):
        if owner.group != before:
            heading(ax, owner.group, picture.begin, y + 0.62)
            y += 1
        _row(ax, owner, picture.begin, y + 0.5)
        middles.append(y + 0.5)
        y += 1
    width, points = picture.width, 72 * width_of(ax)
    notes = [(owner, min(_LETTER * len(owner.note) + 4, points / 2)) for owner in owners]
    end = max([width, *(o.length * points / (points - note) for o, note in notes)])
    set_labels(ax, picture.x, picture.y)
    ax.set_yticks(middles, [short_name(o.name, _LONGEST) for o in owners], fontsize=TEXT)
    ticks = picture.ticks
    if ticks is None:
        first, last = picture.begin, picture.begin + width
        places = MaxNLocator(integer=True, nbins=8).tick_values(first, last)
        ticks = {x: f"{x:,.0f}" for x in places if first <= x <= last}
    ax.set_xticks([*ticks], [*ticks.values()], fontsize=TEXT)
    ax.set_xlim(picture.begin, picture.begin + end)
    ax.set_ylim(max(height, 1), 0)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.spines["bottom"].set_bounds(picture.begin, picture.begin + width)
    return ax


def heading(ax: Axes, words: str, x: float, y: float) -> None:
    """Write the heading of a group."""
    look: dict[str, Any] = {"fontsize": SMALL, "fontweight": "bold", "annotation_clip": False}
    ax.annotate(short_name(words, 60), (x, y), va="center", **look)


def _row(ax: Axes, owner: Owner, begin: float, middle: float) -> None:
    """Draw the boxes of an owner around a height."""
    from matplotlib.patches import Rectangle

    low, high = middle - _BOX / 2, middle + _BOX / 2
    look: dict[str, Any] = {"edgecolor": EDGE, "linewidth": 0.6}
    if owner.size:
        ax.add_patch(Rectangle((begin, low), owner.size, _BOX, facecolor=IDLE, **look))
    boxes(ax, owner, begin, low, _BOX)
    if owner.size <= _LINES:
        inner = begin + np.arange(1, math.ceil(owner.size))
        ax.vlines(inner, low, high, color="#00000040", linewidth=0.4, zorder=2.5)
    for mark in owner.marks:
        frame: dict[str, Any] = {"facecolor": "none", "zorder": 5, "clip_on": False} | mark.style
        ax.add_patch(Rectangle((begin, low), owner.size, _BOX, **frame))
    if owner.note:
        beside: dict[str, Any] = {"xytext": (3, 0), "textcoords": "offset points", "va": "center"}
        ax.annotate(owner.note, (begin + owner.length, middle), fontsize=SMALL, **beside)


def boxes(ax: Axes, owner: Owner, x: float, y: float, height: float, width: float = 1) -> None:
    """Draw the pieces of an owner with their names.

    The first one begins at `x`, `y`; a cell is so wide.
    """
    for piece in owner.pieces:
        _box(ax, piece, (x, y, piece.size * width, height))
        x += piece.size * width


def _box(ax: Axes, piece: Piece, place: tuple[float, float, float, float]) -> None:
    from matplotlib.patches import Rectangle

    look = piece.look
    x, y, width, height = place
    hatch = "".join([look.hatch, *(mark.hatch for mark in piece.marks)])
    if look.colour:
        edge = EDGE if look.colour == IDLE else mix(look.colour, "#000000", 0.55)
        style: dict[str, Any] = {"edgecolor": edge, "linewidth": 0.6, "zorder": 2}
        for mark in piece.marks:
            style |= mark.style
        style |= {"facecolor": look.colour, "hatch": hatch, "clip_on": False}
        ax.add_patch(Rectangle((x, y), width, height, **style))
    crossed = any(mark.crossed for mark in piece.marks)
    for ends in ((y, y + height), (y + height, y)) if crossed else ():
        ax.plot([x, x + width], ends, color="black", linewidth=0.8, zorder=3)
    if piece.name:
        opaque = bool(hatch) or crossed
        box_label(ax, place, shorten(piece.name, _LONGEST), look.colour or None, opaque=opaque)

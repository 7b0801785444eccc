"""Many owners: a map of cells, whose columns or lanes are the owners, without their names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.display.drawing.cells import Owner, Picture, Piece
from dlsched.display.drawing.colours import EDGE, IDLE, parts_of
from dlsched.display.drawing.rows import box_label, boxes, heading
from dlsched.display.drawing.style import (
    TEXT,
    new_axes,
    set_labels,
    short_name,
    width_of,
)
from dlsched.errors import OptionError
from dlsched.text.figures import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CELLS = 10**7
"""Larger maps are refused: their pixels take more than half a GB."""
_MISSING = "#eeeeee"
"""Cells that a smaller owner than the largest does not have."""
_COLUMN = 2.0
"""Points of a column, at least, as long as that makes no more bands than `_MOST_BANDS`."""
_MOST_BANDS = 9
_BAND, _ALL_BANDS = 36.0, 240.0
"""Points of a band and of all bands together, at most."""
_CELL, _LARGEST_CELL = 2.2, 9.0
"""Points of a cell as far as `_BAND` and `_ALL_BANDS` have room."""
_GAP = 7.0
"""Points between bands, at most."""
_NAME = 8.0
"""Points that the name of a band needs."""
_STRIP = 13.0
"""Points of a row below a map."""
_SEPARATED = 5.0
"""Points of a cell from which lines separate the cells of a column."""
_WRITTEN = 8.0
"""Points that a piece of neighbouring columns is wide, at least, if its name is written."""


def require_drawable(owners: int, cells: int) -> None:
    """Refuse a map of more than `MOST_CELLS` cells, before it takes memory, by `OptionError`."""
    if owners * cells > MOST_CELLS:
        raise OptionError(
            f"the map would have {owners:,} x {cells:,} cells, and at most {MOST_CELLS:,} can be "
            f"drawn: draw an instance of a part of the cluster"
        )


def colours_array(colours: Iterable[str]) -> NDArray[Any]:
    """Return colours as rows of red, green and blue from 0 to 1."""
    rows = [parts_of(colour) for colour in colours]
    return np.array(rows, dtype=float).reshape(-1, 3) / 255


def _spans(picture: Picture, owner: Owner) -> Iterator[tuple[int, int, Piece]]:
    """Yield the first cell of each piece, the one after its last, and the piece."""
    at = 0.0
    for piece in owner.pieces:
        first, at = at, at + piece.size
        yield round(first * picture.cells), round(at * picture.cells), piece


def _pixels(picture: Picture) -> NDArray[Any]:
    """Return colours from 0 to 1: a row for each owner, a column for each cell."""
    cells = round(picture.width * picture.cells)
    require_drawable(len(picture.owners), cells)
    pixels = np.ones((len(picture.owners), cells, 3))
    missing = colours_array([_MISSING])[0]
    rgb: dict[str, NDArray[Any]] = {}
    for row, owner in zip(pixels, picture.owners, strict=True):
        if owner.size:
            row[round(owner.size * picture.cells) :] = missing
        for first, end, piece in _spans(picture, owner):
            colour = piece.look.colour or IDLE
            if colour not in rgb:
                rgb[colour] = colours_array([colour])[0]
            row[first:end] = rgb[colour]
    return pixels


class _Band(NamedTuple):
    """A row of columns."""

    name: str
    first: int
    owners: Sequence[Owner]


def _bands(picture: Picture, inches: float) -> list[_Band]:
    """Return a band for each group, or as many as fit the width."""
    owners = picture.owners
    if owners and owners[0].group:
        bands, first = [], 0
        for group, members in groupby(owners, key=lambda owner: owner.group):
            bands.append(_Band(group, first, [*members]))
            first += len(bands[-1].owners)
        return bands
    count = min(_MOST_BANDS, math.ceil(len(owners) / max(1, int(inches * 72 / _COLUMN))))
    size = max(1, math.ceil(len(owners) / max(1, count)))
    parts = [(first, owners[first : first + size]) for first in range(0, len(owners), size)]
    begin = round(picture.begin)
    return [
        _Band(f"{first + begin:,}–{first + begin + len(part) - 1:,}", first, part)
        for first, part in parts
    ]


def draw_columns(picture: Picture, ax: Axes | None) -> Axes:
    """Draw a column of cells for each owner, and frames around those that are marked.

    The columns of a group are a band; without groups they fill as many bands as they need.
    """
    inches = width_of(ax)
    bands = _bands(picture, inches)
    wide = max((len(band.owners) for band in bands), default=1)
    pixels = _pixels(picture).transpose(1, 0, 2)
    if picture.cells > 1:
        pixels = pixels[::-1]
    high = len(pixels)
    points = min(
        max(_CELL, min(_LARGEST_CELL, _BAND / high)), _ALL_BANDS / (len(bands) * high or 1)
    )
    step = high + min(0.8 * high, _GAP / points)
    row = _STRIP / points
    below = len(bands) * step
    end = below + row * (len(picture.strip) + 1) if picture.strip else below - step + high
    ax = new_axes((end * points + 80) / 72) if ax is None else ax
    for number, band in enumerate(bands):
        part = pixels[:, band.first : band.first + len(band.owners)]
        _paint(ax, band, part, number * step, separated=points >= _SEPARATED)
        _names(ax, picture, band, number * step, 72 * inches / wide)
    for line, owner in enumerate(picture.strip, 1):
        if line == 1:
            heading(ax, owner.group, 0, below + 0.6 * row)
        boxes(ax, owner, 0, below + (line + 0.08) * row, 0.84 * row, wide / picture.width)
    _label_columns(ax, picture, bands, step, max(1, math.ceil(_NAME / (step * points))))
    ax.set_xlim(0, wide)
    ax.set_ylim(max(end, 1), -0.2)
    return ax


def _paint(ax: Axes, band: _Band, pixels: NDArray[Any], top: float, *, separated: bool) -> None:
    """Draw the cells of a band, and the frames of its columns."""
    high, count = pixels.shape[:2]
    extent = (0, count, top + high, top)
    ax.imshow(pixels, aspect="auto", interpolation="none", extent=extent)
    if separated:
        ax.hlines(top + np.arange(1, high), 0, count, color="white", linewidth=0.7)
    _frame(ax, 0, top, count, high, edgecolor=EDGE, linewidth=0.6)
    for marks, columns in groupby(range(count), key=lambda c: band.owners[c].marks):
        run = [*columns]
        for mark in marks:
            _frame(ax, run[0], top, len(run), high, **mark.style)


def _frame(ax: Axes, x: float, y: float, width: float, height: float, **style: Any) -> None:
    from matplotlib.patches import Rectangle

    look: dict[str, Any] = {"facecolor": "none", "clip_on": False} | style
    ax.add_patch(Rectangle((x, y), width, height, **look))


def _names(ax: Axes, picture: Picture, band: _Band, top: float, points: float) -> None:
    """Write the name of what neighbouring columns have in the same cells, where it fits.

    `points` is the width of a column.
    """
    columns: dict[tuple[str, int, int, str], list[int]] = {}
    for column, owner in enumerate(band.owners):
        for first, end, piece in _spans(picture, owner):
            if piece.name and piece.look.colour:
                key = (piece.name, first, end, piece.look.colour)
                columns.setdefault(key, []).append(column)
    high = round(picture.width * picture.cells)
    for (name, first, end, colour), places in columns.items():
        low = high - end if picture.cells > 1 else first
        for _, numbered in groupby(enumerate(places), key=lambda pair: pair[1] - pair[0]):
            run = [column for _, column in numbered]
            if len(run) * points >= _WRITTEN:
                place = (run[0], top + low, len(run), end - first)
                box_label(ax, place, shorten(name, 12), colour, turn=False)


def _label_columns(
    ax: Axes, picture: Picture, bands: Sequence[_Band], step: float, every: int
) -> None:
    """Name the bands, or the cells if there is only one band and they have names."""
    high = round(picture.width * picture.cells)
    words = f"all {len(picture.owners):,} {picture.x}"
    if len(bands) > 1 and not bands[0].owners[0].group:
        words += f"; {len(bands[0].owners)} in a row"
    places = [(number * step + high / 2, band.name) for number, band in enumerate(bands)][::every]
    if picture.ticks is not None and len(bands) == 1:
        places = [(cell + 0.5, name) for cell, name in picture.ticks.items()]
    elif picture.ticks is not None:
        words += f"; from top to bottom: {', '.join(picture.ticks.values())}"
    set_labels(ax, words, picture.y)
    names = [short_name(name, 18) for _, name in places]
    ax.set_yticks([middle for middle, _ in places], names, fontsize=TEXT)
    ax.set_xticks([])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def draw_lanes(picture: Picture, ax: Axes | None) -> Axes:
    """Draw a lane of cells for each owner, with a line between groups and the size of each."""
    from matplotlib.ticker import MaxNLocator

    pixels = _pixels(picture)
    high, begin = max(1, len(picture.owners)), picture.begin
    ax = new_axes(1.3 + min(3.2, 0.035 * high)) if ax is None else ax
    extent = (begin, begin + pixels.shape[1] / picture.cells, high, 0)
    way = "none" if high <= 400 else "antialiased"
    ax.imshow(pixels, extent=extent, aspect="auto", interpolation=way)
    end, ticks = 0, []
    for group, members in groupby(picture.owners, key=lambda owner: owner.group):
        first, end = end, end + len([*members])
        ticks.append(((first + end) / 2, f"{end - first:,} {short_name(group, 10)}"))
        if first:
            ax.axhline(first, color="black", linewidth=0.8)
    set_labels(ax, picture.x, picture.y)
    ax.set_yticks([y for y, _ in ticks], [name for _, name in ticks], fontsize=TEXT)
    ax.spines[:].set_visible(True)
    ax.spines[:].set_edgecolor(EDGE)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=10))
    ax.tick_params(axis="y", length=0)
    return ax

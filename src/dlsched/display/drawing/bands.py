"""A whole cluster as cells: a column for each server, in rows of as many as fit the width."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dlsched.display.drawing.colours import EDGE, parts_of
from dlsched.display.drawing.style import TEXT, figure_width, new_axes, width_of
from dlsched.errors import OptionError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLUMN = 2.0
"""Points of a column, at least, as long as that makes no more rows than `_MOST_BANDS`."""
_MOST_BANDS = 9
_POINTS = 190
"""Points of all rows together, at most, but for what is between them."""
_GAP = 0.8
"""Space between rows, as a share of a row, but at most `_LARGEST_GAP` points."""
_LARGEST_GAP = 7.0


MOST_CELLS = 10**7
"""Larger maps are refused: their pixels take more than half a GB."""


def require_drawable(columns: int, cells: int, what: str) -> None:
    """Refuse a map of more than `MOST_CELLS` cells before it takes memory.

    Parameters
    ----------
    what
        What the cells are, as ``"GPUs of 5 servers"``.

    Raises
    ------
    OptionError
        If there are more.
    """
    if columns * cells > MOST_CELLS:
        raise OptionError(
            f"the map would have {columns:,} x {cells:,} cells for {what}, and at most "
            f"{MOST_CELLS:,} can be drawn: draw an instance of a part of the cluster"
        )


class Bands:
    """The layout of a map of columns of cells, wrapped into rows.

    Parameters
    ----------
    columns, cells
        Columns in all, and cells in each.
    cell_points
        Height of a cell, at most.
    ax
        Axes to draw on; those of a new figure by default.
    below
        Points for axis label and legend in a new figure.
    first
        The number of the first column.
    """

    def __init__(
        self,
        columns: int,
        cells: int,
        ax: Axes | None,
        *,
        cell_points: float,
        below: float,
        first: int = 1,
    ) -> None:
        inches = figure_width() - 0.75 if ax is None else width_of(ax)
        fitting = max(1, int(inches * 72 / _COLUMN))
        bands = min(_MOST_BANDS, math.ceil(columns / fitting))
        self.per_band = max(1, math.ceil(columns / max(1, bands)))
        self.bands = max(1, math.ceil(columns / self.per_band))
        self.columns = columns
        self.cells = cells
        self.first = first
        cell_points = min(cell_points, _POINTS / (self.bands * cells))
        gap = min(_GAP * cells * cell_points, _LARGEST_GAP)
        self.step = cells + gap / cell_points
        points = self.bands * (cells * cell_points + gap) + 30 + below
        self.ax = new_axes(points / 72) if ax is None else ax

    def paint(self, values: NDArray[Any], *, lines: bool = False, **image: Any) -> Any:
        """Draw the cells and return the last image.

        Parameters
        ----------
        values
            ``cells`` x ``columns`` numbers, or with a last axis of 3 the colours from 0 to 1.
        lines
            Whether to draw white lines between the cells of a column.
        """
        look = {"aspect": "auto", "interpolation": "none"} | image
        drawn = None
        for b in range(self.bands):
            first = b * self.per_band
            part = values[:, first : first + self.per_band]
            top = b * self.step
            wide = part.shape[1]
            drawn = self.ax.imshow(part, extent=(0, wide, top + self.cells, top), **look)
            if lines:
                heights = top + np.arange(1, self.cells)
                self.ax.hlines(heights, 0, wide, color="white", linewidth=0.7)
            self.frame(first, wide, edgecolor=EDGE, linewidth=0.6)
        return drawn

    def frame(self, first: int, count: int = 1, **style: Any) -> None:
        """Draw a frame around some neighbouring columns of one row."""
        from matplotlib.patches import Rectangle

        b, x = divmod(first, self.per_band)
        look: dict[str, Any] = {"facecolor": "none", "clip_on": False} | style
        self.ax.add_patch(Rectangle((x, b * self.step), count, self.cells, **look))

    def frames(self, columns: Iterable[int], **style: Any) -> None:
        """Draw one frame around each run of neighbouring columns."""
        run: list[int] = []
        for c in [*sorted(columns), -1]:
            if run and (c != run[-1] + 1 or c % self.per_band == 0):
                self.frame(run[0], len(run), **style)
                run = []
            run.append(c)

    def finish(self) -> None:
        """Set the limits, and write the range of columns beside each row."""
        ax = self.ax
        ax.set_xlim(0, self.per_band)
        ax.set_ylim(self.bands * self.step - (self.step - self.cells), 0)
        middles = []
        names = []
        for b in range(self.bands):
            first = b * self.per_band
            end = min(self.columns, first + self.per_band)
            middles.append(b * self.step + self.cells / 2)
            names.append(f"{first + self.first:,}–{end - 1 + self.first:,}")
        ax.set_yticks(middles, names, fontsize=TEXT)
        ax.set_xticks([])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)


def colours_array(colours: Iterable[str]) -> NDArray[Any]:
    """Return colours as rows of red, green and blue from 0 to 1."""
    rows = [parts_of(colour) for colour in colours]
    return np.array(rows, dtype=float).reshape(-1, 3) / 255

"""Axes of charts: per cent with a true 0, logarithmic ones with numbers in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dlsched.display.drawing.style import SMALL

if TYPE_CHECKING:
    from matplotlib.axis import Axis


def percent_axis(axis: Axis) -> None:
    """Let an axis be per cent from 0 to 100, linear up to 1 and logarithmic from there."""
    from matplotlib.ticker import NullLocator

    ax = axis.axes
    is_x = axis is ax.xaxis
    (ax.set_xscale if is_x else ax.set_yscale)("symlog", linthresh=1, linscale=0.4)
    axis.set_ticks([0, 1, 10, 100], ["0", "1 %", "10 %", "100 %"], fontsize=SMALL)
    axis.set_minor_locator(NullLocator())
    (ax.set_xlim if is_x else ax.set_ylim)(0, 100)


def decimal_ticks(axis: Axis) -> None:
    """Write the numbers of a logarithmic axis in full, not as powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    close = high < 30 * low  # powers of ten would be too few ticks
    axis.set_major_locator(LogLocator(subs=(1, 2, 3, 4, 6, 8) if close else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def spread(count: int) -> NDArray[np.float64]:
    """Return heights that keep points of equal gaps apart: a fixed pattern, not a random one."""
    if count == 1:
        return np.zeros(1)
    golden = np.arange(count) * 0.618034 % 1
    return 0.4 * (golden - 0.5)

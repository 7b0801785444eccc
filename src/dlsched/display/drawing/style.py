"""Sizes of pictures and of their text; new axes, per cent with a true 0, numbers in full."""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError, spelled
from dlsched.extras import require
from dlsched.text.figures import printable, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

T = TypeVar("T")
WIDTHS = {"single": 3.3, "double": 7.0}
"""Width of a picture in inches, for one column of a paper of ACM or USENIX, and for two."""
STYLES: dict[str, dict[str, Any]] = {
    name: {
        "figure.figsize": (WIDTHS[width], WIDTHS[width]),
        "font.family": "STIXGeneral",  # like the Times of these papers; matplotlib comes with it
        "mathtext.fontset": "stix",
        "text.color": "black",
        "axes.labelcolor": "black",
    }
    for name, width in (("paper", "single"), ("paper-wide", "double"))
}
"""Settings of matplotlib by the ``style`` of pictures."""
SMALL, TEXT, TITLE = 6.0, 7.0, 8.0
"""Text sizes in points: labels inside a picture; axes and legend; title."""
_MARGIN = 0.75
"""Inches beside the axes for their labels, about."""
_TIE = "\N{NO-BREAK SPACE}"
_LETTER = 0.56
"""Width of a letter by the size of the text, on average, generously."""


def styled(draw: Callable[..., T]) -> Callable[..., T]:
    """Give a function that draws the keyword ``style``: ``"paper"`` or ``"paper-wide"``.

    The picture is then as wide as a column or a page of ACM and USENIX, in a font like theirs.
    """

    @functools.wraps(draw)
    def drawn(*given: Any, style: str | None = None, **options: Any) -> T:
        if style is not None and style not in STYLES:
            raise OptionError(f"style={spelled(style)}: write one of {', '.join(STYLES)}")
        if style is None:
            return draw(*given, **options)
        with require("matplotlib", "drawing").rc_context(STYLES[style]):
            return draw(*given, **options)

    usual = inspect.signature(draw)
    keyword = inspect.Parameter("style", inspect.Parameter.KEYWORD_ONLY, default=None)
    parameters = [*usual.parameters.values(), keyword.replace(annotation="str | None")]
    drawn.__signature__ = usual.replace(parameters=parameters)  # type: ignore[attr-defined]
    return drawn


def new_axes(height: float) -> Axes:
    """Return the axes of `new_figure`."""
    ax: Axes = new_figure(height).add_subplot()
    return ax


def new_figure(height: float) -> Figure:
    """Return an empty figure, inches high and as wide as ``rcParams["figure.figsize"]`` says."""
    plt = require("matplotlib.pyplot", "drawing")
    figure: Figure = plt.figure(figsize=(figure_width(), height))
    figure.set_layout_engine("constrained", w_pad=0.03, h_pad=0.03)
    figure.patch.set_facecolor("white")
    return figure


def require_axes(ax: Any) -> None:
    """Refuse what is neither ``None`` nor flat axes with x and y.

    `OptionError` is raised for an array of axes, too; the message says what to give.
    """
    if ax is not None and getattr(ax, "name", None) != "rectilinear":
        raise OptionError(
            f"ax: {type(ax).__name__} is not axes with x and y: give one Axes, as "
            f"matplotlib.pyplot.subplots() returns it, or an entry of the array of several"
        )


def figure_width() -> float:
    """Return the width in inches that a new figure gets."""
    return float(require("matplotlib", "drawing").rcParams["figure.figsize"][0])


def ink() -> str:
    """Return the colour of text, ``rcParams["text.color"]``, for lines that lie on the page."""
    return str(require("matplotlib", "drawing").rcParams["text.color"])


def width_of(ax: Axes | None) -> float:
    """Return the inches that axes can use: those of the figure, less what stands beside them."""
    if ax is None:
        return figure_width() - _MARGIN
    place = ax.get_subplotspec()
    columns = place.get_gridspec().ncols if place is not None else 1
    return max(1.0, float(ax.figure.bbox.width / ax.figure.dpi) / columns - _MARGIN)


def wrap(text: str, inches: float, size: float) -> str:
    """Break a text into lines that fit a width, not between a number and its word or unit."""
    letters = max(12, int(inches * 72 / (_LETTER * size)))
    tied = re.sub(r"(?<=\d) (?=[A-Za-z%])|(?<=[A-Za-zγ]) (?=\d)", _TIE, text)
    lines = [line for part in tied.split("\n") for line in textwrap.wrap(part, letters)]
    return "\n".join(lines).replace(_TIE, " ")


def literal(text: str) -> str:
    """Return a text that matplotlib shows as it is: a dollar sign begins no formula."""
    return text.replace("$", r"\$")


def short_name(name: str, length: int) -> str:
    """Return a name for a tick or a legend: shortened, in one line, and never a formula."""
    return literal(shorten(printable(name), length))


def set_title(ax: Axes, text: str) -> None:
    """Set the title, at the left, in as many lines as it needs; a dollar sign begins no formula."""
    ax.set_title(literal(wrap(text, width_of(ax), TITLE)), fontsize=TITLE, loc="left", pad=4)


def set_labels(ax: Axes, x: str = "", y: str = "") -> None:
    """Set the axes' labels and text sizes, and leave out the frame's upper and right sides."""
    ax.set_xlabel(literal(wrap(x, width_of(ax), TEXT)), fontsize=TEXT)
    ax.set_ylabel(literal(y), fontsize=TEXT)
    ax.tick_params(labelsize=TEXT, length=2.5)
    ax.spines[["top", "right"]].set_visible(False)
    for spine in ax.spines.values():
        spine.set_linewidth(0.6)


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


def spread(count: int) -> NDArray[np.floating[Any]]:
    """Return heights that keep points of equal gaps apart: a fixed pattern, not a random one."""
    if count == 1:
        return np.zeros(1)
    golden = np.arange(count) * 0.618034 % 1
    return 0.4 * (golden - 0.5)

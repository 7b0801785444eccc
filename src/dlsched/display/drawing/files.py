"""Pictures as PDF, SVG and PNG, with text as text."""

from __future__ import annotations

import io
import shutil
from typing import TYPE_CHECKING, Any, Literal

from dlsched.errors import OptionError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("pdf", "svg", "png", "pgf")
Background = Literal["white", "plate", "transparent"]
_DPI = 300
_ROUNDING = 0.06
"""Radius of the plate's corners, in inches."""
_SETTINGS = {
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "svg.hashsalt": "dlsched",
}
"""Text stays text, in fonts that journals accept; equal pictures give equal files."""


def picture_bytes(figure: Figure, form: str, background: Background = "white") -> bytes:
    """Return a figure's file, exactly as wide as the figure.

    `form`: ``"pdf"``, ``"svg"``, ``"png"`` or ``"pgf"``, which needs LaTeX. `background`:
    ``"white"``; ``"plate"``, white with rounded corners and nothing beyond them, for pages that may
    be dark; ``"transparent"``, for pages that are light.
    """
    import matplotlib as mpl

    tex = mpl.rcParams["pgf.texsystem"]
    if form == "pgf" and shutil.which(tex) is None:
        raise OptionError(f".pgf needs LaTeX, and {tex} is not installed: write .pdf")
    dates: dict[str, Any] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    look: dict[str, Any] = {"facecolor": "white"}
    plate = None
    if background != "white":
        look = {"transparent": True}
    if background == "plate":
        plate = _plate(figure)
    stream = io.BytesIO()
    try:
        with mpl.rc_context(_SETTINGS):
            figure.savefig(stream, format=form, dpi=_DPI, metadata=dates.get(form), **look)
    finally:
        if plate is not None:
            plate.remove()
    return stream.getvalue()


def _plate(figure: Figure) -> Any:
    """Put a white rectangle with rounded corners behind a figure."""
    from matplotlib.patches import FancyBboxPatch

    width, height = figure.get_size_inches()
    plate = FancyBboxPatch(
        (0, 0),
        width,
        height,
        boxstyle=f"round,pad=0,rounding_size={_ROUNDING}",
        transform=figure.dpi_scale_trans,
        facecolor="white",
        edgecolor="none",
        zorder=-10,
    )
    plate.set_in_layout(False)
    figure.add_artist(plate)
    return plate

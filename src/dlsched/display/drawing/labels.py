"""Text inside boxes: drawn only where it fits, upright if need be."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from dlsched.display.drawing.colours import Colour, text_on
from dlsched.display.drawing.style import SMALL, ink
from dlsched.text.figures import printable

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

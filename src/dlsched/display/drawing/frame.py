"""The frame of every problem's picture: its colours, title, legend, and comparison."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from typing import TYPE_CHECKING, Any

from dlsched.display.drawing.cells import Mark, Picture
from dlsched.display.drawing.colours import (
    IDLE,
    SAME,
    SAME_LABEL,
    Differences,
    Look,
)
from dlsched.display.drawing.legend import colour_entries, entry, finish
from dlsched.display.drawing.maps import draw_columns, draw_lanes
from dlsched.display.drawing.rows import draw_rows
from dlsched.display.drawing.style import ink, width_of
from dlsched.errors import OptionError, spelled
from dlsched.results.summary import solution_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FORMS = {"rows": draw_rows, "columns": draw_columns, "lanes": draw_lanes}


@dataclass(frozen=True)
class View:
    """How a picture is asked for.

    Attributes
    ----------
    problem
        The problem's name.
    color_by
        What to colour by; ``None`` for the default.
    other
        A solution to compare with.
    kept
        The names of what differs from it, and keeps its look; ``None`` if nothing is compared.
    inches
        The width that the picture has.
    """

    problem: str
    color_by: str | None
    other: Any
    kept: Collection[str] | None
    inches: float

    def choose(self, possible: Sequence[str], default: str) -> str:
        """Return what to colour by, or say what is possible."""
        chosen = default if self.color_by is None else self.color_by
        if chosen not in possible:
            raise OptionError(
                f"color_by={spelled(chosen)}: this picture of {self.problem} can be coloured by "
                f"{', '.join(possible)}"
            )
        return chosen

    def differs(self, name: str) -> bool:
        """Whether something keeps its look."""
        return self.kept is None or name in self.kept

    def look(self, name: str, look: Look) -> Look:
        """Return the look of something, which is pale if the other solution has the same."""
        return look if self.differs(name) else Look(SAME, SAME_LABEL)


State = Callable[[Any, Any, View], Picture]


def framed(
    check: Callable[[Any, Any], Any], differing: Callable[[Any, Any, Any], Differences]
) -> Callable[[State], Callable[..., Axes]]:
    """Make a problem's ``draw`` from a function that states its picture.

    `check`: the problem's checker, whose objective is in the title. `differing`: what two solutions
    decide differently.
    """

    def decorate(state: State) -> Callable[..., Axes]:
        def draw(
            instance: Any,
            solution: Any = None,
            ax: Axes | None = None,
            *,
            color_by: str | None = None,
            other: Any = None,
        ) -> Axes:
            compared = solution is not None and other is not None
            kept = differing(instance, solution, other).names if compared else None
            view = View(instance.problem, color_by, other, kept, width_of(ax))
            picture = state(instance, solution, view)
            worth = picture.worth
            if worth is None and solution is not None:
                worth = solution_text(solution.method, check(instance, solution).objective)
            title = f"{instance.name}: {picture.size}"
            title += f"; {worth}{picture.more}" if worth else picture.more
            return show(picture, title, ax)

        signature = inspect.signature(draw)
        update_wrapper(draw, state)
        draw.__signature__ = signature  # type: ignore[attr-defined]
        draw.differing = differing  # type: ignore[attr-defined]
        return draw

    return decorate


def show(picture: Picture, title: str, ax: Axes | None = None) -> Axes:
    """Draw a picture with title and legend, on axes or a new figure."""
    axes = _FORMS[picture.form](picture, ax)
    finish(axes, title, _entries(picture), own=ax is None)
    return axes


def _entries(picture: Picture) -> list[Any]:
    """Return the legend's entries of what is drawn; maps have no hatches and marks of pieces."""
    owners = [*picture.owners, *picture.strip]
    pieces = [piece for owner in owners for piece in owner.pieces]
    in_rows = picture.form == "rows"
    drawn = {piece.look.label for piece in pieces}
    entries = colour_entries(picture.colouring, drawn, picture.what, patterned=in_rows)
    key = {SAME_LABEL: SAME} | {look.label: look.colour for look in picture.key}
    entries += [entry(label, colour) for label, colour in key.items() if label in drawn]
    entries += [entry(name, colour) for name, colour in picture.scale.items()]
    if any(owner.idle for owner in owners):
        entries.append(entry(picture.idle, IDLE))
    marks = [mark for owner in owners for mark in owner.marks]
    if in_rows:
        marks = [mark for piece in pieces for mark in piece.marks] + marks
    return entries + [_marked(mark) for mark in dict.fromkeys(marks) if mark.label]


def _marked(mark: Mark) -> Any:
    """Return the entry of a mark."""
    if mark.crossed:
        from matplotlib.lines import Line2D

        look: dict[str, Any] = {"marker": "x", "linestyle": "none", "markersize": 5}
        return Line2D([], [], label=mark.label, color=ink(), **look)
    return entry(mark.label, mark.colour, **mark.style)

"""The picture of a problem that states only what owns cells, `Problem.cells`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dlsched.display.drawing.cells import NAMED, Owner, Piece, draw_columns, draw_rows
from dlsched.display.drawing.colours import by_name
from dlsched.display.drawing.legend import colour_entries, finish, idle_entry
from dlsched.display.drawing.style import set_labels
from dlsched.registry.problems import Cells, Problem
from dlsched.results.summary import solution_text
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def standard_draw(problem: Problem, cells: Cells) -> Callable[..., Axes]:
    """Return the function that draws what owns cells, as the module ``draw`` of a problem has it.

    A thing has the colour of its place in the field that says how large an instance is.
    """

    def draw(instance: Instance, solution: Solution | None = None, ax: Axes | None = None) -> Axes:
        """Draw up to 24 owners as rows with names, more as columns of cells."""
        rows = [(name, size, list(parts)) for name, size, parts in cells(instance, solution)]
        known = [getattr(thing, "id", "") for thing in getattr(instance, problem.size)]
        names = dict.fromkeys([*known, *(name for *_, parts in rows for name, _ in parts)])
        colouring = by_name([*names])
        place = {name: i for i, name in enumerate(names)}

        def piece(name: str, size: int) -> Piece:
            i = place[name]
            return Piece(size, colouring.colours[i], name, colouring.hatch(i))

        owners = [Owner(name, size, [piece(*part) for part in parts]) for name, size, parts in rows]
        named = len(owners) <= NAMED
        axes = draw_rows(owners, ax, room=1.0) if named else draw_columns(owners, ax, "")
        set_labels(axes)
        shown = (place[part.name] for owner in owners for part in owner.pieces)
        entries = colour_entries(colouring, shown, problem.size, patterned=named)
        title = instance.name
        if solution is not None:
            objective = problem.check(instance, solution).objective
            title += f": {solution_text(solution.method, objective)}"
        finish(axes, title, [*entries, idle_entry()], own=ax is None)
        return axes

    return draw

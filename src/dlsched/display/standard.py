"""The picture of a problem that states only what owns cells, `Problem.cells`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dlsched.display.drawing.cells import NAMED, Owner, Picture, Piece
from dlsched.display.drawing.colours import Differences, by_name, differences
from dlsched.display.drawing.frame import View, framed
from dlsched.registry.problems import Cells, Problem
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOR_BY = ("name",)
"""What things can be coloured by."""


def standard_draw(problem: Problem, cells: Cells) -> Callable[..., Axes]:
    """Return the function that draws what owns cells, as the module ``draw`` of a problem has it.

    Things are named by the ids in the field that says how large an instance is.
    """

    def names_of(instance: Instance) -> list[str]:
        return [thing.id for thing in getattr(instance, problem.size)]

    def differing(instance: Instance, a: Solution, b: Solution) -> Differences:
        first, second = (
            {name: owner for owner, _, parts in cells(instance, s) for name, _ in parts}
            for s in (a, b)
        )
        return differences(names_of(instance), first, second, "places", problem.size)

    @framed(problem.check, differing)
    def draw(instance: Instance, solution: Solution | None, view: View) -> Picture:
        """Draw up to 24 owners as rows with names, more as columns of cells."""
        names = names_of(instance)
        view.choose(COLOR_BY, COLOR_BY[0])
        colouring = by_name(names)
        looks = {name: view.look(name, colouring.look(i)) for i, name in enumerate(names)}
        owners = [
            Owner(name, size, [Piece(n, looks[part], part) for part, n in parts])
            for name, size, parts in cells(instance, solution)
        ]
        said, named = f"{len(names):,} {problem.size}", len(owners) <= NAMED
        return Picture(
            said,
            owners,
            x="" if named else "as columns",
            form="rows" if named else "columns",
            colouring=colouring,
            what=problem.size,
        )

    return draw

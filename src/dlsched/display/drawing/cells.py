"""Owners of cells: what a problem states of its picture; `rows` and `maps` draw it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

from dlsched.display.drawing.colours import Colour, Colouring, Look

NAMED = 24
"""Up to this number of owners, each has a row with its name."""
SHARES = {0.0: "0", 0.25: "25 %", 0.5: "50 %", 0.75: "75 %", 1.0: "100 %"}
"""Ticks of rows of length 1."""
NO_COLOURS = Colouring((), {})


class Mark(NamedTuple):
    """A sign on pieces or around owners, which the legend explains.

    Attributes
    ----------
    colour
        Of its box in the legend.
    edge
        Of the outline; that of pieces stays as it is if this is empty.
    crossed
        Whether pieces are crossed out.
    """

    label: str
    colour: Colour = "none"
    hatch: str = ""
    edge: Colour = ""
    line: float = 0.6
    dashed: bool = False
    crossed: bool = False

    @property
    def style(self) -> dict[str, Any]:
        """The outline and the hatch, as matplotlib's settings."""
        outline: dict[str, Any] = {"edgecolor": self.edge, "linewidth": self.line}
        dashes = {"linestyle": "--"} if self.dashed else {}
        hatch = {"hatch": self.hatch} if self.hatch else {}
        return (outline if self.edge else {}) | dashes | hatch


class Piece(NamedTuple):
    """Neighbouring cells with one look, and the name that is written where it fits."""

    size: float
    look: Look
    name: str = ""
    marks: Sequence[Mark] = ()


class Owner(NamedTuple):
    """What has cells: a server.

    Attributes
    ----------
    size
        Its cells; those that no piece has are idle. 0 of one that has only its pieces.
    pieces
        From the first cell on.
    note
        Words beside its row.
    marks
        Frames around it.
    group
        The heading of the owners with this one; of a map, those that have a band.
    """

    name: str
    size: float
    pieces: Sequence[Piece]
    note: str = ""
    marks: Sequence[Mark] = ()
    group: str = ""

    @property
    def length(self) -> float:
        """The cells from the first one to the end of the last piece, or all."""
        return max(self.size, sum(piece.size for piece in self.pieces))

    @property
    def idle(self) -> bool:
        """Whether cells are in no piece that is drawn."""
        return sum(p.size for p in self.pieces if p.look.colour) < 0.99 * self.size


@dataclass
class Picture:
    """What a problem states of its picture.

    Attributes
    ----------
    size
        What is drawn, in words for the title, without the instance's name.
    x, y
        Labels of the axes; of columns, `x` says what they are, after "all 120".
    form
        How the owners are drawn: see `rows` and `maps`.
    colouring
        The looks of the jobs, or of `what` else.
    key
        More looks; the legend has those that are drawn.
    scale
        What is always in the legend.
    worth
        What the solution is worth, in words; by default its objective.
    more
        Words after that.
    idle
        What the legend says of cells without a piece.
    ticks
        Ticks of the x axis; of columns the names of their cells, from the top; else whole numbers.
    begin
        Where rows begin on the x axis; the number of the first column.
    cells
        Cells of a unit of size, for columns; if more than 1 they are filled from the bottom.
    strip
        Rows below a map.
    """

    size: str
    owners: Sequence[Owner]
    x: str
    y: str = ""
    form: Literal["rows", "columns", "lanes"] = "rows"
    colouring: Colouring = NO_COLOURS
    what: str = "jobs"
    key: Sequence[Look] = ()
    scale: Mapping[str, Colour] = field(default_factory=dict)
    worth: str | None = None
    more: str = ""
    idle: str = "idle"
    ticks: Mapping[float, str] | None = None
    begin: float = 0
    cells: int = 1
    strip: Sequence[Owner] = ()

    @cached_property
    def width(self) -> float:
        """The length of the longest owner."""
        return max((owner.length for owner in self.owners), default=1) or 1

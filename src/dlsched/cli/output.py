"""Tables and JSON on stdout, progress on stderr."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dlsched.cli.exits import printable, put
from dlsched.figures import display
from dlsched.result import Point

if TYPE_CHECKING:
    from rich.progress import Progress

WIDTH = 200
"""Width of a table, in characters, that goes to a file or a pipe."""
_NARROWEST = 40
_READABLE = 24
"""Width that a wrapping column gets before secondary columns are left out."""
_BETWEEN = 3
"""Characters that `rich` puts between two columns of this kind of table."""
STYLES = {
    "optimal": "green",
    "feasible": "yellow",
    "infeasible": "red",
    "unbounded": "red",
    "no solution": "red",
} | dict.fromkeys(
    ("error", "rejected", "wall_timeout", "memory", "crashed", "killed", "changed", "failed"),
    "bold red",
)


def put_json(data: Any) -> None:
    """Write one JSON document."""
    put(json.dumps(data, indent=2, allow_nan=False) + "\n")


def put_line(text: str) -> None:
    """Write a line of plain text."""
    put(printable(text) + "\n")


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    right
        Whether it is aligned to the right, as numbers are.
    drop
        On a narrow terminal the columns with the highest value are left out first; those with 0
        are always shown.
    wraps
        Whether its text may be wrapped at blanks.
    """

    name: str
    right: bool = False
    drop: int = 0
    wraps: bool = False


def put_table(
    columns: Sequence[str | Column], rows: Iterable[Sequence[object]], title: str | None = None
) -> None:
    """Write a table that fits the terminal; a line names the secondary columns left out for that.

    Secondary columns without any value are left out, too. Names and numbers are never cut; a table
    of them may be wider than the terminal. A column given as a text that ends in ``>`` is aligned
    to the right.
    """
    heads = [c if isinstance(c, Column) else _column(c) for c in columns]
    cells = [[printable(display(cell)) for _, cell in zip(heads, row, strict=True)] for row in rows]
    shown = [i for i, h in enumerate(heads) if not h.drop or any(row[i] for row in cells)]
    heads, cells = [heads[i] for i in shown], [[row[i] for i in shown] for row in cells]
    kept, dropped = _fitting(heads, cells, _width())
    chosen = [heads[i] for i in kept]
    body = [[row[i] for i in kept] for row in cells]
    widths = _widths(chosen, body, _width())
    lines = _drawn(chosen, body, widths, title)
    if dropped:
        names = ", ".join(heads[i].name for i in dropped)
        lines.append(f"  left out in {_width()} columns: {names}; --json has all")
    put("\n".join(lines) + "\n\n")


def _cell_len(text: str) -> int:
    """Return the width of a text on a terminal."""
    from rich.cells import cell_len

    return cell_len(text)


def _column(name: str) -> Column:
    return Column(name.removesuffix(">"), right=name.endswith(">"))


def _width() -> int:
    """Width of the terminal; ``COLUMNS`` takes precedence."""
    if not ((sys.stdout and sys.stdout.isatty()) or "COLUMNS" in os.environ):
        return WIDTH
    return max(_NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns)


def _whole(head: Column, cells: Iterable[str]) -> int:
    """Return a column's width without wrapping."""
    return max(map(_cell_len, (head.name, *cells)))


def _least(head: Column, cells: Sequence[str], width: int, readable: int) -> int:
    """Return a column's least width; with wrapping that of its longest word, up to a limit."""
    whole = _whole(head, cells)
    if not head.wraps:
        return whole
    words = [word for text in (head.name, *cells) for word in text.split()]
    longest = max(map(_cell_len, words), default=0)
    return min(whole, max(readable, min(longest, width // 3)))


def _fitting(
    heads: Sequence[Column], cells: Sequence[Sequence[str]], width: int
) -> tuple[list[int], list[int]]:
    """Return the indices of the columns that are shown, and of those that are left out."""
    needs = [_least(h, [row[i] for row in cells], width, _READABLE) for i, h in enumerate(heads)]
    kept = list(range(len(heads)))
    order = sorted((i for i in kept if heads[i].drop), key=lambda i: -heads[i].drop)
    while order and _total(needs[i] for i in kept) > width:
        kept.remove(order.pop(0))
    return kept, [i for i in range(len(heads)) if i not in kept]


def _total(widths: Iterable[int]) -> int:
    return sum(w + _BETWEEN for w in widths)


def _widths(heads: Sequence[Column], cells: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return the columns' widths: the least, and the remaining width for columns that wrap."""
    found = [_least(h, [row[i] for row in cells], width, 0) for i, h in enumerate(heads)]
    wants = {i: _whole(h, [row[i] for row in cells]) for i, h in enumerate(heads) if h.wraps}
    while (left := width - _total(found)) > 0:
        growing = [i for i, whole in wants.items() if found[i] < whole]
        if not growing:
            break
        for i in growing[:left]:
            found[i] += min(max(1, left // len(growing)), wants[i] - found[i])
    return found


def _drawn(
    heads: Sequence[Column], cells: Sequence[Sequence[str]], widths: Sequence[int],
    title: str | None,
) -> list[str]:  # fmt: skip
    """Return the lines of a table, in colour on a terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    for head, width in zip(heads, widths, strict=True):
        table.add_column(
            Text(head.name), justify="right" if head.right else "left", width=width,
            no_wrap=not head.wraps, overflow="fold",
        )  # fmt: skip
    for row in cells:
        table.add_row(*(Text(cell, style=STYLES.get(cell, "")) for cell in row))
    # As wide as the table, since rich would cut numbers to fit the terminal.
    console = Console(file=sys.stdout, width=_total(widths) + _BETWEEN, highlight=False)
    with console.capture() as capture:
        console.print(table)
    lines = (line.rstrip() for line in capture.get().splitlines())
    return [line for line in lines if line]


@contextmanager
def progress(shown: bool = True) -> Iterator[Progress | None]:
    """Yield a progress bar on stderr, or ``None`` if stderr is no terminal."""
    if not (shown and sys.stderr and sys.stderr.isatty()):
        yield None
        return
    from rich import progress as rich_progress
    from rich.console import Console

    bar = rich_progress.Progress(
        rich_progress.SpinnerColumn(),
        rich_progress.TextColumn("{task.description}", markup=False),
        rich_progress.BarColumn(),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TimeElapsedColumn(),
        rich_progress.TextColumn("left"),
        rich_progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        yield bar


@contextmanager
def search_line(shown: bool) -> Iterator[Callable[[Point], None] | None]:
    """Yield a listener that shows incumbent and bound, or ``None`` if stderr is no terminal."""
    if not (shown and sys.stderr and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("searching") as status:

        def record(point: Point) -> None:
            words = {"incumbent": point.objective, "bound": point.bound}
            known = (f"{name} {display(v)}" for name, v in words.items() if v is not None)
            status.update(f"{point.seconds:.1f} s  " + "  ".join(known))

        yield record


@contextmanager
def stdout_for_answers() -> Iterator[None]:
    """Redirect the output of solvers and methods, from C too, from stdout to stderr."""
    try:
        sys.stdout.flush()
        kept = os.dup(1)
        os.dup2(2, 1)
    except (AttributeError, OSError):  # one of the two is closed
        yield
        return
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def fields(data: Mapping[str, object]) -> None:
    """Write names and values line by line, without empty values."""
    rows = [(name, value) for name, value in data.items() if value not in (None, "")]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        put_line(f"{name:<{width}}  {display(value)}")

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
from dlsched.figures import spell

if TYPE_CHECKING:
    from rich.progress import Progress

    from dlsched.result import Point

WIDTH = 160
"""Columns of a table that goes into a file or a pipe."""
_NARROWEST = 40
_READABLE = 24
"""A text that wraps gets so many columns before secondary columns are left out."""
_BETWEEN = 3
"""What `rich` draws between two columns of this kind of table."""
STYLES = {
    "optimal": "green",
    "feasible": "yellow",
    "infeasible": "red",
    "unbounded": "red",
    "no solution": "red",
} | dict.fromkeys(
    ("error", "rejected", "overrun", "memory", "crashed", "killed", "changed", "failed"), "bold red"
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
        Whether it is of numbers, aligned to the right.
    drop
        Which columns go first where the terminal is narrow: the highest; one of 0 never goes.
    wraps
        Whether its text may be broken into lines, at blanks; names and digits never are.
    """

    name: str
    right: bool = False
    drop: int = 0
    wraps: bool = False


def put_table(
    columns: Sequence[str | Column], rows: Iterable[Sequence[object]], title: str | None = None
) -> None:
    """Write a table that fits the terminal: secondary columns are left out, and a line says which.

    Secondary columns without any value are left out as well.

    No name is broken and no digit lost: what cannot be narrower than the terminal is wider. A
    column given as a text is one of numbers if it ends in ``>``.
    """
    heads = [c if isinstance(c, Column) else _column(c) for c in columns]
    cells = [[printable(spell(cell)) for _, cell in zip(heads, row, strict=True)] for row in rows]
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
    """Return how many columns of a terminal a text takes."""
    from rich.cells import cell_len

    return cell_len(text)


def _column(name: str) -> Column:
    return Column(name.removesuffix(">"), right=name.endswith(">"))


def _width() -> int:
    """Columns of the terminal, or of what ``COLUMNS`` says."""
    if not ((sys.stdout and sys.stdout.isatty()) or "COLUMNS" in os.environ):
        return WIDTH
    return max(_NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns)


def _whole(head: Column, cells: Iterable[str]) -> int:
    """Return how wide a column is if nothing wraps."""
    return max(map(_cell_len, (head.name, *cells)))


def _least(head: Column, cells: Sequence[str], width: int, readable: int) -> int:
    """Return how wide a column must be: if it wraps, for its longest word, within reason."""
    whole = _whole(head, cells)
    if not head.wraps:
        return whole
    words = [word for text in (head.name, *cells) for word in text.split()]
    longest = max(map(_cell_len, words), default=0)
    return min(whole, max(readable, min(longest, width // 3)))


def _fitting(
    heads: Sequence[Column], cells: Sequence[Sequence[str]], width: int
) -> tuple[list[int], list[int]]:
    """Return which columns are shown and which are left out, both in their order."""
    needs = [_least(h, [row[i] for row in cells], width, _READABLE) for i, h in enumerate(heads)]
    kept = list(range(len(heads)))
    order = sorted((i for i in kept if heads[i].drop), key=lambda i: -heads[i].drop)
    while order and _total(needs[i] for i in kept) > width:
        kept.remove(order.pop(0))
    return kept, [i for i in range(len(heads)) if i not in kept]


def _total(widths: Iterable[int]) -> int:
    return sum(w + _BETWEEN for w in widths)


def _widths(heads: Sequence[Column], cells: Sequence[Sequence[str]], width: int) -> list[int]:
    """Give every column what it needs, and what is left to those whose text wraps."""
    found = [_least(h, [row[i] for row in cells], width, 0) for i, h in enumerate(heads)]
    wants = {i: _whole(h, [row[i] for row in cells]) for i, h in enumerate(heads) if h.wraps}
    while (left := width - _total(found)) > 0:
        hungry = [i for i, whole in wants.items() if found[i] < whole]
        if not hungry:
            break
        for i in hungry[:left]:
            found[i] += min(max(1, left // len(hungry)), wants[i] - found[i])
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
    # Always as wide as the table: rich would rather cut digits than be wider than the terminal.
    console = Console(file=sys.stdout, width=_total(widths) + _BETWEEN, highlight=False)
    with console.capture() as capture:
        console.print(table)
    lines = (line.rstrip() for line in capture.get().splitlines())
    return [line for line in lines if line]


@contextmanager
def progress(shown: bool = True) -> Iterator[Progress | None]:
    """Give a progress bar on stderr, or ``None`` if stderr is no terminal."""
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
    """Give a listener that shows incumbent and bound on stderr, or ``None`` off a terminal."""
    if not (shown and sys.stderr and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("searching") as status:

        def record(point: Point) -> None:
            words = {"incumbent": point.objective, "bound": point.bound}
            known = (f"{name} {spell(v)}" for name, v in words.items() if v is not None)
            status.update(f"{point.seconds:.1f} s  " + "  ".join(known))

        yield record


@contextmanager
def stdout_for_answers() -> Iterator[None]:
    """Send what solvers and methods print, from C too, to stderr: stdout is for the answer."""
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
    """Write a table of names and values, leaving out what is not known."""
    rows = [(name, value) for name, value in data.items() if value not in (None, "")]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        put_line(f"{name:<{width}}  {spell(value)}")

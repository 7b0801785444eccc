"""Tables and JSON on stdout, progress on stderr."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dlsched.cli.exits import printable, put
from dlsched.figures import spell

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from dlsched.result import Point

WIDTH = 160
"""Columns of a table that goes into a file or a pipe."""
STYLES = {
    "optimal": "green",
    "feasible": "yellow",
    "infeasible": "red",
    "unbounded": "red",
    "no solution": "red",
} | dict.fromkeys(
    ("error", "rejected", "overrun", "memory", "crashed", "killed", "failed"), "bold red"
)


def put_json(data: Any) -> None:
    """Write one JSON document."""
    put(json.dumps(data, indent=2, allow_nan=False) + "\n")


def put_line(text: str) -> None:
    """Write a line of plain text."""
    put(printable(text) + "\n")


def put_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None
) -> None:
    """Write a table; columns whose name ends in ``>`` are numbers and align to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    for name in columns:
        numeric = name.endswith(">")
        table.add_column(
            name.removesuffix(">"),
            justify="right" if numeric else "left",
            no_wrap=numeric,
            overflow="fold",
        )
    for row in rows:
        cells = [printable(spell(cell)) for cell in row]
        table.add_row(*(Text(cell, style=STYLES.get(cell, "")) for cell in cells))
    console = _console()
    with console.capture() as capture:
        console.print(table)
    lines = (line.rstrip() for line in capture.get().splitlines())
    put("\n".join(filter(None, lines)) + "\n\n")


def _console() -> Console:
    from rich.console import Console

    wide = None if (sys.stdout and sys.stdout.isatty()) or "COLUMNS" in os.environ else WIDTH
    return Console(file=sys.stdout, width=wide, highlight=False)


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

        def tell(point: Point) -> None:
            words = {"incumbent": point.objective, "bound": point.bound}
            known = (f"{name} {spell(v)}" for name, v in words.items() if v is not None)
            status.update(f"{point.seconds:.1f} s  " + "  ".join(known))

        yield tell


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

"""Tables and JSON on stdout, progress on stderr."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dlsched.cli.exits import put
from dlsched.cli.tables import Column, LeftOut, put_table
from dlsched.cli.text import fields, put_line
from dlsched.figures import display
from dlsched.result import Point

if TYPE_CHECKING:
    from rich.progress import Progress


def put_json(data: Any) -> None:
    """Write one JSON document."""
    put(json.dumps(data, indent=2, allow_nan=False) + "\n")


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


__all__ = [
    "Column",
    "LeftOut",
    "fields",
    "progress",
    "put_json",
    "put_line",
    "put_table",
    "search_line",
    "stdout_for_answers",
]

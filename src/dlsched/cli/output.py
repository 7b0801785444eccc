"""Lines, fields and JSON on stdout, where nothing else is written."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from dlsched.cli.exits import put
from dlsched.cli.layout import Column
from dlsched.cli.tables import LeftOut, fits, put_table
from dlsched.cli.text import broken, named_lines
from dlsched.text.figures import display


def put_json(data: Any) -> None:
    """Write one JSON document."""
    put(json.dumps(data, indent=2, allow_nan=False) + "\n")


def put_line(text: str, indent: int = 0) -> None:
    """Write a line of plain text; on a narrow terminal it goes on in further lines, indented."""
    put("\n".join(broken(text, indent)) + "\n")


def put_rows(
    rows: Sequence[Mapping[str, Any]],
    columns: Mapping[str, Column],
    title: str | None = None,
    text: Callable[[object], str] = display,
) -> None:
    """Write rows as a table; lists and mappings in a cell are written with commas."""
    names = [*rows[0]] if rows else ["name"]
    cells = ([_cell(value, text) for value in row.values()] for row in rows)
    put_table([columns.get(name, name) for name in names], cells, title=title)


def _cell(value: Any, text: Callable[[object], str]) -> Any:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name}={text(entry)}" for name, entry in value.items())
    return value


def fields(data: Mapping[str, object]) -> None:
    """Write names and values line by line, without empty values."""
    rows = [(name, display(value)) for name, value in data.items() if value not in (None, "")]
    put("".join(f"{line}\n" for line in named_lines(rows)))


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
        with _beside_stderr() as stream, contextlib.redirect_stdout(stream):
            yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


@contextmanager
def _beside_stderr() -> Iterator[TextIO]:
    """Open a stream to where stderr leads, with a file descriptor of its own.

    Pyomo captures the output of some solvers in process, and then waits for ever if stdout and
    stderr have the same descriptor.
    """
    try:
        descriptor = os.dup(sys.stderr.fileno())
    except (AttributeError, OSError, ValueError):  # a stream without one, as in tests
        yield sys.stderr
        return
    encoding, errors = sys.stderr.encoding, sys.stderr.errors
    with open(descriptor, "w", buffering=1, encoding=encoding, errors=errors) as stream:
        yield stream


__all__ = [
    "Column",
    "LeftOut",
    "fields",
    "fits",
    "put_json",
    "put_line",
    "put_rows",
    "put_table",
    "stdout_for_answers",
]

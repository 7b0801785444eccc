"""Answers on stdout, where nothing else is written: lines, fields and JSON."""

import contextlib
import csv
import io
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO

from dlsched.cli.exits import Exit, put
from dlsched.text.figures import display, printable

NARROWEST = 40


@dataclass(frozen=True)
class Answer:
    """What a command answers.

    Attributes
    ----------
    data
        What ``--json`` writes.
    put
        Writes it for people.
    """

    data: Any
    put: Callable[[], None]
    status: Exit = Exit.OK


def on_terminal() -> bool:
    """Return whether lines have to fit a terminal, or a width that ``COLUMNS`` states."""
    return bool(sys.stdout and sys.stdout.isatty()) or "COLUMNS" in os.environ


def line_width() -> int:
    """Return the characters of a line of the terminal; ``COLUMNS`` takes precedence."""
    return max(NARROWEST, shutil.get_terminal_size().columns)


def put_json(data: Any) -> None:
    """Write one JSON document."""
    put(json.dumps(data, indent=2, allow_nan=False) + "\n")


def put_csv(data: Any) -> None:
    """Write the table of an answer as CSV: its list of rows, else its names and values."""
    rows = data
    if isinstance(data, Mapping):
        tables = [value for value in data.values() if value and _is_table(value)]
        rows = [{"name": name, "value": value} for name, value in data.items()]
        if len(tables) == 1:
            rows = tables[0]
    elif not _is_table(data):
        rows = [{"value": value} for value in data]
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        cells = [row.get(name) for name in names]
        nested = [isinstance(cell, (list, Mapping)) for cell in cells]
        writer.writerow([json.dumps(c) if n else c for c, n in zip(cells, nested, strict=True)])
    put(text.getvalue())


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(row, Mapping) for row in value)


def put_line(text: str, indent: int = 0) -> None:
    """Write a line of plain text; on a narrow terminal it goes on in further lines, indented.

    It is broken at blanks only, so that a path can be copied.
    """
    text = printable(text)
    if on_terminal():
        text = textwrap.fill(
            text,
            line_width(),
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    put(text + "\n")


def fields(data: Mapping[str, object], indent: int = 0) -> None:
    """Write names and values line by line, aligned, without empty values."""
    shown = {name: display(value) for name, value in data.items() if value not in (None, "")}
    label = indent + max(map(len, map(printable, shown)), default=0) + 2
    for name, value in shown.items():
        longest = max(map(len, value.split()), default=0)
        fits = not on_terminal() or label + longest <= line_width()
        put_line(f"{' ' * indent + printable(name):<{label}}{value}", label if fits else indent + 2)


def written(files: Iterable[object]) -> Answer:
    """Return the answer of a command that says which files it wrote."""
    names = [str(file) for file in files]
    return Answer({"files": names}, lambda: put_lines(f"written: {name}" for name in names))


def put_lines(lines: Iterable[str]) -> None:
    """Write lines of plain text, each as `put_line` does."""
    for line in lines:
        put_line(line)


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

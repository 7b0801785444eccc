"""Errors as one line on stderr, and exit statuses."""

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from dlsched.errors import (
    DlschedError,
    ExtraMissing,
    InstanceError,
    OptionError,
    SolverMissing,
    UnknownName,
)
from dlsched.text.figures import printable

_LONGEST = 1000
clearing: list[Callable[[], None]] = []
"""Functions that remove what is shown of a command's progress, before anything is written."""


class Exit(IntEnum):
    """Exit statuses."""

    OK = 0
    NEGATIVE = 1
    """A negative result: infeasible, no solution, violations, a failed run."""
    UNUSABLE = 2
    """Unusable input."""
    BROKEN = 3
    """A solver, a method or dlsched itself returned a wrong answer or crashed."""
    INTERRUPTED = 130
    PIPE = 141
    """The reader of stdout closed it; the status that a shell reports for SIGPIPE."""
    TERMINATED = 143
    """Ended by SIGTERM, as a shell reports it; finished runs are kept."""


_STATUSES = {"Terminated": Exit.TERMINATED, "Disagreement": Exit.NEGATIVE}
"""Statuses of errors of `bench`, which few commands import, by their names."""


class Commands(TyperGroup):
    """The group of all commands; it handles the errors of every command."""

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run a command and exit."""
        extra["standalone_mode"] = False
        with errors_handled():
            if sys.stdout is None:  # closed from the start
                raise OptionError("stdout is closed; send it to a file or to /dev/null")
            code = super().main(*args, **extra)
            if code == Exit.INTERRUPTED:  # typer turns Ctrl-C into a status
                raise KeyboardInterrupt
        sys.exit(code if isinstance(code, int) else Exit.OK)


@contextmanager
def errors_handled() -> Iterator[None]:
    """Write errors of the block as one line to stderr, and exit with their status."""
    try:
        yield
    except (InstanceError, UnknownName, OptionError, SolverMissing, ExtraMissing) as error:
        _stop(str(error), Exit.UNUSABLE)
    except DlschedError as error:
        _stop(str(error), _STATUSES.get(type(error).__name__, Exit.BROKEN))
    except (KeyboardInterrupt, typer.Abort):
        _stop("interrupted", Exit.INTERRUPTED)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _stop(f"{where}{(error.strerror or str(error)).lower()}", Exit.UNUSABLE)
    except Exception as error:
        # Errors in flags are click's exceptions in old versions of typer, its own in new ones.
        format_message: Callable[[], str] | None = getattr(error, "format_message", None)
        if format_message is not None:
            text = format_message().strip().rstrip(".").replace(": Value error, ", ": ")
            _stop(f"{text[:1].lower()}{text[1:]}; see --help", Exit.UNUSABLE)
        traceback.print_exc()
        _stop("this is a bug in dlsched or in a method; please report it", Exit.BROKEN)


def clear() -> None:
    """Remove what is shown of progress; called before anything is written."""
    for remove in tuple(clearing):
        remove()


def _stop(message: str, code: Exit) -> NoReturn:
    line = " ".join(message.split())
    line = line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
    clear()
    if sys.stderr is not None:
        print("error:", printable(line), file=sys.stderr)
    sys.exit(code)


def put_note(message: str) -> None:
    """Write a line to stderr that a result needs but that is no part of it."""
    clear()
    if sys.stderr is not None:
        print("note:", printable(message), file=sys.stderr)


def put(text: str) -> None:
    """Write to stdout; if its reader has closed it, exit silently.

    Characters that stdout's encoding does not have are spelled out.
    """
    clear()
    encoding = sys.stdout.encoding or "utf-8"  # a terminal of Windows may not have all letters
    text = text.encode(encoding, "backslashreplace").decode(encoding)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes the buffer at exit, which would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Exit.PIPE)

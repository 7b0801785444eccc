"""From what went wrong to one line on stderr and an exit status."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from dlsched.errors import DlschedError, InstanceError, OptionError, SolverMissing, UnknownName

_LONGEST = 1000


class Exit(IntEnum):
    """What the exit status means."""

    FINE = 0
    NO = 1
    """The answer is no: infeasible, violations, a row that failed."""
    UNUSABLE = 2
    """The input cannot be used."""
    BROKEN = 3
    """A solver, a method or dlsched itself returned a wrong answer or broke down."""
    INTERRUPTED = 130
    PIPE = 141
    """Whoever read our output went away; as the shell reports it for other programs."""


class Commands(TyperGroup):
    """The group of all commands; every error ends here, whichever command raised it."""

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run a command and exit."""
        extra["standalone_mode"] = False
        with _contained():
            code = super().main(*args, **extra)
            if code == Exit.INTERRUPTED:  # typer has turned Ctrl-C into a status already
                raise KeyboardInterrupt
        sys.exit(code if isinstance(code, int) else Exit.FINE)


@contextmanager
def _contained() -> Iterator[None]:
    try:
        yield
    except (InstanceError, UnknownName, OptionError, SolverMissing) as error:
        _stop(str(error), Exit.UNUSABLE)
    except DlschedError as error:
        _stop(str(error), Exit.BROKEN)
    except (KeyboardInterrupt, typer.Abort):
        _stop("interrupted", Exit.INTERRUPTED)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _stop(f"{where}{(error.strerror or str(error)).lower()}", Exit.UNUSABLE)
    except Exception as error:
        # Bad flags are click's exceptions in old versions of typer, and its own in new ones.
        spell: Callable[[], str] | None = getattr(error, "format_message", None)
        if spell is not None:
            said = spell().strip().rstrip(".")
            _stop(f"{said[:1].lower()}{said[1:]}; see --help", Exit.UNUSABLE)
        traceback.print_exc()
        _stop("this is a bug in dlsched or in a method; please report it", Exit.BROKEN)


def _stop(message: str, code: Exit) -> NoReturn:
    line = " ".join(message.split())
    line = line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
    if sys.stderr is not None:
        print("error:", printable(line), file=sys.stderr)
    sys.exit(code)


def printable(text: str) -> str:
    """Return a text with whatever could move the cursor or the colours spelled out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def put(text: str) -> None:
    """Write to stdout; if its reader has gone away, exit silently."""
    if sys.stdout is None:  # closed before we began
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still in the buffer would be flushed, and fail, once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Exit.PIPE)

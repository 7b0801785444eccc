"""Loops compiled by numba, and their compilation before any clock starts.

A function marked with `entry` is called from Python; its signatures are explicit, so `prepare` can
compile it ahead of a run, once per machine (numba keeps the machine code in its cache). A function
marked with `loop` is called by such functions only and is compiled along with them.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_NOTICE_AFTER = 1.0
"""Seconds of compilation after which a terminal is told why it waits."""

_entries: dict[str, list[tuple[Any, tuple[Any, ...]]]] = {}
"""Per module: its entries, each with the signatures that `prepare` compiles."""


def loop(function: F) -> F:
    """Compile a function that only other compiled functions call; use it as a decorator."""
    import numba

    compiled: F = numba.njit(cache=True)(function)
    return compiled


def entry(*signatures: Any) -> Callable[[F], F]:
    """Compile a function that Python calls, for these signatures; use it as a decorator.

    Parameters
    ----------
    *signatures
        As numba writes them: ``"float64(float64[::1], int64)"``; signature objects for named
        tuples. Arguments of any other types would be compiled for inside a run, which `entries`
        lets a test detect.
    """

    def decorate(function: F) -> F:
        compiled = loop(function)
        _entries.setdefault(function.__module__, []).append((compiled, signatures))
        return compiled

    return decorate


def entries(module: str) -> list[tuple[Any, tuple[Any, ...]]]:
    """Return the entries of a module that was imported, each with its signatures."""
    return list(_entries.get(module, ()))


def prepare(*modules: str) -> None:
    """Import modules; compile their entries and those of what they import from their packages.

    What is in numba's cache is loaded instead, in milliseconds. On a terminal, a compilation that
    takes more than a second is announced on standard error.
    """
    with _notice():
        for module in modules:
            importlib.import_module(module)
        packages = {module.rpartition(".")[0] for module in modules}
        for module in [m for m in _entries if m.rpartition(".")[0] in packages]:
            for compiled, signatures in _entries[module]:
                if len(compiled.signatures) < len(signatures):
                    for signature in signatures:
                        compiled.compile(signature)


@contextmanager
def _notice() -> Iterator[None]:
    """Say on a terminal that loops are compiled, if that takes more than a second."""
    text = "dlsched: compiling loops, once per machine ..."
    timer = threading.Timer(_NOTICE_AFTER, print, [text], {"file": sys.stderr, "flush": True})
    timer.daemon = True
    if sys.stderr is not None and sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()

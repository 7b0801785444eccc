"""Loops compiled by numba, and their compilation before any clock starts.

A function marked with `entry` is called from Python; its signatures are explicit, so `prepare` can
compile it ahead of a run, once per machine (numba keeps the machine code in its cache). A function
marked with `loop` is called by such functions only and is compiled along with them.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, TypeAlias, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

Real: TypeAlias = Annotated[float, "float64"]
Whole: TypeAlias = Annotated[int, "int64"]
Flag: TypeAlias = Annotated[bool, "boolean"]
Floats: TypeAlias = Annotated[NDArray[np.float64], "float64[::1]"]
FloatRows: TypeAlias = Annotated[NDArray[np.float64], "float64[:,::1]"]
FloatCube: TypeAlias = Annotated[NDArray[np.float64], "float64[:,:,::1]"]
Ints: TypeAlias = Annotated[NDArray[np.int64], "int64[::1]"]
IntRows: TypeAlias = Annotated[NDArray[np.int64], "int64[:,::1]"]
IntCube: TypeAlias = Annotated[NDArray[np.int64], "int64[:,:,::1]"]
"""Types for the fields of named tuples that compiled functions take; see `entry`."""

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


def entry(*signatures: Any, records: Sequence[type] = ()) -> Callable[[F], F]:
    """Compile a function that Python calls, for these signatures; use it as a decorator.

    Parameters
    ----------
    *signatures
        As numba writes them, ``"float64(float64[::1], int64)"``, or as its objects. Arguments of
        any other types would be compiled for inside a run, which `entries` lets a test detect.
    records
        Named tuples whose names the signatures use as types; their fields are annotated with the
        types above, as `Floats`.
    """

    def decorate(function: F) -> F:
        compiled = loop(function)
        known = [_signature(text, records) for text in signatures] if records else signatures
        _entries.setdefault(function.__module__, []).append((compiled, tuple(known)))
        return compiled

    return decorate


def _signature(text: str, records: Sequence[type]) -> Any:
    """Return a signature as numba's types, in which the records are types of their own."""
    from numba import types

    known = dict(vars(types))
    for record in records:
        hints = get_type_hints(record, include_extras=True).values()
        fields = [eval(hint.__metadata__[0], {}, known) for hint in hints]
        known[record.__name__] = types.NamedTuple(fields, record)
    return eval(text, {}, known)


def entries(module: str) -> list[tuple[Any, tuple[Any, ...]]]:
    """Return the entries of a module that was imported, each with its signatures."""
    return list(_entries.get(module, ()))


def prepare(*modules: str, on_compile: Callable[[str], None] | None = None) -> None:
    """Import modules; compile their entries and those of what they import from their packages.

    What is in numba's cache is loaded instead, in milliseconds. On a terminal, a compilation that
    takes more than a second is announced on standard error.

    Parameters
    ----------
    *modules
        Full names.
    on_compile
        Called with a module's name before the first of its loops is compiled that is in no cache.
    """
    with _notice():
        for module in modules:
            importlib.import_module(module)
        packages = {module.rpartition(".")[0] for module in modules}
        for module in [m for m in _entries if m.rpartition(".")[0] in packages]:
            missing = [
                (f, known) for f, known in _entries[module] if len(f.signatures) < len(known)
            ]
            with _listening(on_compile, module):
                for compiled, signatures in missing:
                    for signature in signatures:
                        compiled.compile(signature)


@contextmanager
def _listening(on_compile: Callable[[str], None] | None, module: str) -> Iterator[None]:
    """Call a listener with the module's name when numba compiles a loop instead of loading it."""
    from numba.core import event

    told: list[str] = []

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, _event: Any) -> None:
            if on_compile and not told:
                told.append(module)
                on_compile(module)

        def on_end(self, _event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Listener()):
        yield


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

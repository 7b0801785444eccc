"""Loops compiled by numba, and their compilation before any clock starts.

A function marked with `entry` is called from Python; its signatures are explicit, so `prepare` can
compile it ahead of a run, once per machine (numba keeps the machine code in its cache). A function
marked with `loop` is called by such functions only and is compiled along with them. Where
instances are so small that compiling would take longer than the run, both run as Python.
"""

from __future__ import annotations

import hashlib
import importlib
import logging
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, update_wrapper
from pathlib import Path
from types import FunctionType
from typing import Annotated, Any, TypeAlias, TypeVar, cast, get_type_hints

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

_interpreting = ContextVar("dlsched_interpreting", default=False)
_entries: dict[str, list[Loop]] = {}
"""Per module: its entries, which `prepare` compiles."""


class Loop:
    """A function that runs compiled by numba, or as Python where `interpreted` is in force.

    Both give the same result: numba is told to change no order of floating-point operations.

    Parameters
    ----------
    function
        It may call other loops by their names in its module.
    signatures, records
        See `entry`.
    """

    def __init__(
        self, function: Callable[..., Any], signatures: Sequence[str], records: Sequence[type]
    ) -> None:
        update_wrapper(self, function)
        self.function, self._texts, self._records = function, signatures, records
        self.entry = bool(signatures)

    def __call__(self, *arguments: Any) -> Any:
        """Run the function; an entry is compiled first if that has not been done.

        What is no entry has no compiled form that Python could call.
        """
        if self.entry and not _interpreting.get():
            return self.compiled(*arguments)
        with np.errstate(all="ignore"):  # compiled code gives no warnings
            return _plain(self.interpreted(*arguments))

    @cached_property
    def compiled(self) -> Any:
        """The function for numba, which compiles it for the types that it is called with."""
        import numba

        # The machine code of an entry has that of all loops that it calls.
        compile_ = numba.njit(
            cache=self.entry, no_cfunc_wrapper=True, no_cpython_wrapper=not self.entry
        )
        function = self._calling(lambda loop: loop.compiled)
        # numba renews what it has cached if the function's own file changes, not if others do.
        function.__qualname__ += f"_{self.digest_of_others()}"
        return compile_(function)

    def digest_of_others(self) -> str:
        """Return a short digest of what the machine code has of other files.

        These are the files of the loops that it calls, however indirectly, and the values of the
        constants that these read.
        """
        files, constants = set[str](), set[str]()
        waiting, known = [self], {self}
        while waiting:
            loop = waiting.pop()
            code, space = loop.function.__code__, loop.function.__globals__
            files.add(code.co_filename)
            for name in code.co_names:
                value = space.get(name)
                if isinstance(value, Loop) and value not in known:
                    known.add(value)
                    waiting.append(value)
                elif isinstance(value, int | float | str | tuple):
                    constants.add(f"{loop.function.__module__}.{name} = {value!r}")
        files.discard(self.function.__code__.co_filename)
        total = hashlib.sha256("\n".join(sorted(constants)).encode())
        for file in sorted(files):
            total.update(Path(file).read_bytes())
        return total.hexdigest()[:8]

    @cached_property
    def interpreted(self) -> Callable[..., Any]:
        """The function in Python."""
        return self._calling(lambda loop: loop.interpreted)

    @cached_property
    def signatures(self) -> tuple[Any, ...]:
        """The signatures that `prepare` compiles, as numba's objects."""
        return tuple(_signature(text, self._records) for text in self._texts)

    @property
    def ready(self) -> bool:
        """Whether all signatures are compiled in this process."""
        known = vars(self).get("compiled")
        return known is not None and len(known.signatures) >= len(self._texts)

    def _calling(self, form: Callable[[Loop], Any]) -> Callable[..., Any]:
        """Return the function with the loops that it calls in one of their forms."""
        code, space = self.function.__code__, self.function.__globals__
        called = {n: form(space[n]) for n in code.co_names if isinstance(space.get(n), Loop)}
        made = FunctionType(code, space | called, code.co_name, self.function.__defaults__)
        return update_wrapper(made, self.function, updated=())


def loop(function: F) -> F:
    """Compile a function that only other compiled functions call; use it as a decorator."""
    return cast(F, Loop(function, (), ()))


def entry(*signatures: str, records: Sequence[type] = ()) -> Callable[[F], F]:
    """Compile a function that Python calls, for these signatures; use it as a decorator.

    Parameters
    ----------
    *signatures
        As numba writes them, ``"float64(float64[::1], int64)"``. Arguments of any other types
        would be compiled for inside a run, which `entries` lets a test detect.
    records
        Named tuples whose names the signatures use as types; their fields are annotated with the
        types above, as `Floats`.
    """

    def decorate(function: F) -> F:
        made = Loop(function, signatures, records)
        _entries.setdefault(function.__module__, []).append(made)
        return cast(F, made)

    return decorate


@contextmanager
def interpreted(wanted: bool = True) -> Iterator[None]:
    """Run loops as Python within the block, if `wanted`; nothing is compiled there."""
    token = _interpreting.set(wanted or _interpreting.get())
    try:
        yield
    finally:
        _interpreting.reset(token)


def _plain(value: Any) -> Any:
    """Return numpy's scalars as Python's, which is what compiled functions return."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return value.item() if isinstance(value, np.generic) else value


def _signature(text: str, records: Sequence[type]) -> Any:
    """Return a signature as numba's types, in which the records are types of their own."""
    from numba import types

    known = dict(vars(types))
    for record in records:
        hints = get_type_hints(record, include_extras=True).values()
        fields = [eval(hint.__metadata__[0], {}, known) for hint in hints]
        known[record.__name__] = types.NamedTuple(fields, record)
    return eval(text, {}, known)


def entries(module: str) -> list[Loop]:
    """Return the entries of a module that was imported."""
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
        for module, missing in _missing(modules).items():
            with _listening(on_compile, module):
                for entry in missing:
                    for signature in entry.signatures:
                        entry.compiled.compile(signature)


def is_ready(*modules: str) -> bool:
    """Return whether `prepare` has nothing to compile or load from numba's cache."""
    return not _missing(modules)


def _missing(modules: Sequence[str]) -> dict[str, list[Loop]]:
    """Return the entries that are not compiled, by module."""
    for module in modules:
        importlib.import_module(module)
    packages = {module.rpartition(".")[0] for module in modules}
    found = {
        module: [entry for entry in known if not entry.ready]
        for module, known in _entries.items()
        if module.rpartition(".")[0] in packages
    }
    return {module: missing for module, missing in found.items() if missing}


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
    """Say on a terminal that loops are compiled, if that takes more than a second.

    Not if the log is read at level INFO, as by the command line, since it says so already.
    """
    text = "dlsched: compiling loops, once per machine ..."
    timer = threading.Timer(_NOTICE_AFTER, print, [text], {"file": sys.stderr, "flush": True})
    timer.daemon = True
    told = logging.getLogger("dlsched").isEnabledFor(logging.INFO)
    if not told and sys.stderr is not None and sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()

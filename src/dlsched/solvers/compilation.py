"""Loops compiled by numba, and their compilation before any clock starts.

A function marked with `entry` is called from Python; its signatures are explicit, so `prepare` can
compile it ahead of a run, once per machine (numba keeps the machine code in its cache). A function
marked with `loop` is called by such functions only and is compiled along with them. Where
instances are so small that compiling would take longer than the run, both run as Python.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache, cached_property, update_wrapper
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import Annotated, Any, TypeAlias, TypeVar, cast, get_type_hints

import numpy as np
from numpy.typing import NDArray

from dlsched.extras import EXTRAS

Real: TypeAlias = Annotated[float, "float64"]
Whole: TypeAlias = Annotated[int, "int64"]
Flag: TypeAlias = Annotated[bool, "boolean"]
Floats: TypeAlias = Annotated[NDArray[np.float64], "float64[::1]"]
FloatRows: TypeAlias = Annotated[NDArray[np.float64], "float64[:,::1]"]
FloatCube: TypeAlias = Annotated[NDArray[np.float64], "float64[:,:,::1]"]
FlagRows: TypeAlias = Annotated[NDArray[np.bool_], "boolean[:,::1]"]
FlagCube: TypeAlias = Annotated[NDArray[np.bool_], "boolean[:,:,::1]"]
Ints: TypeAlias = Annotated[NDArray[np.int64], "int64[::1]"]
IntRows: TypeAlias = Annotated[NDArray[np.int64], "int64[:,::1]"]
ShortRows: TypeAlias = Annotated[NDArray[np.uint16], "uint16[:,::1]"]
IntCube: TypeAlias = Annotated[NDArray[np.int64], "int64[:,:,::1]"]
"""Types for the fields of named tuples that compiled functions take; see `entry`."""

F = TypeVar("F", bound=Callable[..., Any])

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
        if self.entry and not _interpreting.get() and can_compile():
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
        dispatcher = compile_(function)
        if not self.entry:
            dispatcher.get_call_template = _widened(dispatcher.get_call_template)
        return dispatcher

    def digest_of_others(self) -> str:
        """Return a short digest of what the machine code has of other files.

        These are the files of the loops that it calls, however indirectly, and the values of the
        constants that these read.
        """
        files, constants = set[str](), set[str]()
        for loop in self.parts:
            code, space = loop.function.__code__, loop.function.__globals__
            files.add(code.co_filename)
            for name in code.co_names:
                value = space.get(name)
                if isinstance(value, int | float | str | tuple):
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

    def compile(self) -> None:
        """Compile all signatures, or load them from numba's cache."""
        for signature in self.signatures:
            self.compiled.compile(signature)

    def is_cached(self, signature: Any) -> bool | None:
        """Whether numba would load a signature instead of compiling it; ``None`` if it is unknown.

        There is no public call that looks without compiling.
        """
        try:
            cache = self.compiled._cache
            key = cache._index_key(signature, self.compiled.targetctx.codegen())
            return key in cache._cache_file._load_index()
        except AttributeError:
            return None

    @cached_property
    def parts(self) -> frozenset[Loop]:
        """The loop and all that it calls, however indirectly."""
        waiting, known = [self], {self}
        while waiting:
            function = waiting.pop().function
            called = map(function.__globals__.get, function.__code__.co_names)
            new = {loop for loop in called if isinstance(loop, Loop)} - known
            known |= new
            waiting += new
        return frozenset(known)

    @property
    def ready(self) -> bool:
        """Whether all signatures are compiled in this process."""
        known = vars(self).get("compiled")
        return known is not None and len(known.signatures) >= len(self._texts)

    def _calling(self, form: Callable[[Loop], Any]) -> Callable[..., Any]:
        """Return the function with the loops that it calls in one of their forms."""
        code, space = self.function.__code__, self.function.__globals__
        called = {n: form(space[n]) for n in code.co_names if isinstance(space.get(n), Loop)}
        bound = FunctionType(code, space | called, code.co_name, self.function.__defaults__)
        return update_wrapper(bound, self.function, updated=())


def _widened(template: Callable[..., Any]) -> Callable[..., Any]:
    """Return numba's look-up of a called loop, with constants taken as any value of their type.

    For a constant argument numba would compile the loop once more.
    """
    from numba import types

    def looked_up(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        kinds = {name: types.unliteral(kind) for name, kind in keywords.items()}
        return template(tuple(types.unliteral(kind) for kind in arguments), kinds)

    return looked_up


@cache
def can_compile() -> bool:
    """Whether numba is installed."""
    with suppress(ImportError):
        return find_spec("numba") is not None
    return False


@cache
def warn_that_loops_run_as_python() -> None:
    """Warn, once in a process, that numba is not installed."""
    message = (
        "numba is not installed: loops run as Python, with the same results, and take many times "
        f"longer on large instances; pip install 'dlsched[{EXTRAS['numba']}]'"
    )
    warnings.warn(message, RuntimeWarning, stacklevel=3)


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
        loop_entry = Loop(function, signatures, records)
        _entries.setdefault(function.__module__, []).append(loop_entry)
        return cast(F, loop_entry)

    return decorate


@contextmanager
def interpreted(wanted: bool = True) -> Iterator[None]:
    """Run loops as Python within the block, if `wanted`; nothing is compiled there."""
    token = _interpreting.set(wanted or _interpreting.get())
    try:
        yield
    finally:
        _interpreting.reset(token)


@contextmanager
def compiled() -> Iterator[None]:
    """Run loops compiled within the block, whatever the blocks around it want."""
    token = _interpreting.set(False)
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


def size_of(loops: Iterable[Loop]) -> int:
    """Return the bytes of Python's code that a process compiles for loops, each part once."""
    parts = frozenset[Loop]().union(*(loop.parts for loop in loops))
    return sum(len(part.function.__code__.co_code) for part in parts)


def entries(module: str) -> list[Loop]:
    """Return the entries of a module that was imported."""
    return list(_entries.get(module, ()))


def modules_with_entries() -> list[str]:
    """Return the modules that were imported and have entries."""
    return list(_entries)

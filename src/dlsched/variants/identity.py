"""The identity of a variant: what it states, the files of its functions, and what these were given.

It is computed when the variant is made; nothing of the problem is built for it. A function is known
by its place in its file, and the file by its digest, with all of the user's files that it imports.
Beside this its closure, defaults and bound arguments count, which may differ with the same files.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import sys
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

from dlsched.execution import sources

_PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None), range, Fraction, Decimal))
_PARTS: dict[type, Callable[[Any], Iterable[Any]]] = {
    list: iter,
    tuple: iter,
    dict: dict.items,
    CellType: lambda cell: [cell.cell_contents] if cell != CellType() else [],
    MethodType: lambda method: [method.__func__, method.__self__],
    functools.partial: lambda bound: [bound.func, bound.args, bound.keywords],
    ModuleType: lambda module: [module.__name__],  # its content is in the importing file's digest
    type(Path()): lambda path: [str(path)],
}
"""What values of these types consist of."""


class _Unstated(Exception):
    """A function in no file, or a value that no text states."""


def identity(stated: Sequence[Any], functions: Sequence[Any], version: str | None) -> str | None:
    """Return the SHA-256 of what a variant is; ``None`` if it needs a version.

    Parameters
    ----------
    stated
        What the variant says beside its functions, as plain data.
    functions
        Its functions. With a version, those that no text states are left out.
    version
        What the author of the variant calls it.
    """
    content, texts = _Content(functions), []
    for function in functions:
        try:
            texts.append(content.of(function))
        except (_Unstated, RecursionError):
            if version is None:
                return None
    whole = content.of([*stated, version, texts, sorted(content.files.items())])
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()


class _Content:
    """What functions are, and the data that they were given, as text.

    Attributes
    ----------
    files
        Digests of the files of functions and classes, and of what these import.
    """

    def __init__(self, functions: Sequence[Any]) -> None:
        inner = (getattr(f, "func", getattr(f, "__func__", f)) for f in functions)
        self.packages = {_package(function) for function in inner}
        self.files: dict[str, str] = {}
        self.around: list[FunctionType] = []

    def of(self, value: Any) -> str:
        """Return the text of a value, the same in each process.

        Raises
        ------
        _Unstated
            If there is none.
        """
        kind = type(value)
        if kind in _PLAIN:
            text = repr(value)
        elif kind is FunctionType:
            text = self._of_function(value)
        elif isinstance(value, type):
            text = self._place(value)
        elif kind in (set, frozenset):
            text = ", ".join(sorted(map(self.of, value)))
        else:
            text = ", ".join(map(self.of, _parts(value)))
        return f"{kind.__name__}({text})"

    def _of_function(self, function: FunctionType) -> str:
        """Return the text of a function: its place, and what it was given."""
        if function in self.around:  # one that calls itself
            return f"number {self.around.index(function)} around"
        self.around.append(function)
        given = [function.__closure__, function.__defaults__, function.__kwdefaults__]
        line = function.__code__.co_firstlineno
        text = f"{self._place(function)} in line {line}, given {self.of(given)}"
        self.around.pop()
        return text

    def _place(self, value: FunctionType | type) -> str:
        """Return the name of a function or class, and note its file, or its package's version."""
        name, package = f"{value.__module__}.{value.__qualname__}", _package(value)
        code = getattr(value, "__code__", None)
        if code is not None and (package == "builtins" or not Path(code.co_filename).is_file()):
            raise _Unstated  # the text of an exec, or of a cell
        if package == "dlsched" or (package in sys.stdlib_module_names and package != "__main__"):
            return name
        file = getattr(sys.modules.get(value.__module__), "__file__", None)
        if file is None:
            raise _Unstated
        if sources.is_foreign(file) and package not in self.packages:
            return f"{name} of {sources.version_of(package)}"
        self.files |= _files_of(value.__module__, Path(file).absolute())
        return value.__qualname__  # its module may be called __main__ in another process


def _parts(value: Any) -> Iterable[Any]:
    """Return what a value consists of."""
    kind = type(value)
    if kind in _PARTS:
        return _PARTS[kind](value)
    if kind.__module__ == "numpy" and hasattr(value, "dtype"):
        return [str(value.dtype), value.tolist()]
    if isinstance(getattr(value, "sha256", None), str):  # an instance, another variant
        return [value.sha256]
    if isinstance(value, Enum):
        return [kind, value.name]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [kind, *value]
    if dataclasses.is_dataclass(value):
        return [kind, *(getattr(value, entry.name) for entry in dataclasses.fields(value))]
    raise _Unstated


def _package(value: Any) -> str:
    return (getattr(value, "__module__", None) or "").partition(".")[0]


def _files_of(module: str, path: Path) -> dict[str, str]:
    """Return the digests of a module's file and of what it imports, and versions of packages.

    They are the same whether the file is run, imported, or given on the command line.
    """
    spec, inside = getattr(sys.modules[module], "__spec__", None), path.stem == "__init__"
    stem = path.parent.name if inside else path.stem
    name = spec.name if spec is not None and spec.name.rpartition(".")[2] == stem else stem
    place = name, str(path.parents[name.count(".") + inside])
    closure = _LATEST.get(place)
    if closure is None or not _is_current(closure):
        closure = _LATEST[place] = sources.Closure(*place)
    if name not in closure.files:
        raise _Unstated
    versions = {name: sources.version_of(name) for name in closure.packages - _NEEDED}
    return versions | {f"{sources.MODULE}{name}": d for name, d in closure.digests.items()}


_LATEST: dict[tuple[str, str], sources.Closure] = {}
"""By module and folder, so that files that have not changed are only read again."""
_NEEDED = {"highspy", "numpy", "pandas", "pydantic", "pyomo", "rich", "rustworkx", "scipy", "typer"}
"""Packages that this library needs: a variant is the same with any version of them."""


def _is_current(closure: sources.Closure) -> bool:
    """Whether the files are as they were when they were looked at."""
    try:
        contents = {name: path.read_bytes() for name, path in closure.files.items()}
    except OSError:
        return False
    return closure.digests == {n: hashlib.sha256(c).hexdigest() for n, c in contents.items()}

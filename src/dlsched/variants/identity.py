"""The digest of a variant: of its functions' source, and of all data that these read.

Two variants of one digest make the same change. A function's digest has that of every function of
the user's that it calls, of its defaults, of what it closes over, of the globals that it names, of
its attributes but for those that it sets itself, and of the modules that it imports. A value of a
class of the user's has the class, its parents and its attributes. What reads anything by name, as
``globals()`` and ``eval``, is refused.
"""

from __future__ import annotations

import builtins
import dataclasses
import hashlib
import importlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from dlsched.errors import OptionError
from dlsched.variants.code_reading import (
    attribute_names,
    attributes_set_by,
    code_text,
    codes_in,
    global_names,
    imports_of,
)
from dlsched.variants.libraries import is_known, is_library, version_of
from dlsched.variants.object_parts import attributes_of, members_of
from dlsched.variants.source_text import source_of

_PLAIN = (bool, int, float, complex, str, bytes, type(None), range, Fraction, Decimal, Path)
_EXACTLY = frozenset(_PLAIN)
_BY_NAME = ("globals", "eval", "exec", "__import__")
"""Functions by which code reads what its text does not name."""
_ELSEWHERE = (
    ("importlib", "import_module"),
    ("os", "environ"),
    ("os", "getenv"),
    ("sys", "modules"),
)
"""Modules with the names by which it reads of them what is in no digest."""


def digest(name: str, parts: Mapping[str, Any], functions: Iterable[Any] = ()) -> str:
    """Return the SHA-256 of functions and data.

    Parameters
    ----------
    name
        Of the variant, for messages.
    parts
        What to digest, by what it is.
    functions
        Those among them by which an installed package states the variant: its text counts, too.

    Raises
    ------
    OptionError
        If a function reads an object whose content cannot be had.
    """
    total, content = hashlib.sha256(), _Content(name)
    for function in functions:
        content.from_package(function)
    try:
        for piece in content.of(parts, "the variant"):
            total.update(piece.encode("utf-8", "surrogatepass"))
            total.update(b"\0")
    except RecursionError as error:
        raise OptionError(
            f"variant {name}: what its functions read is nested too deeply for a digest"
        ) from error
    return total.hexdigest()


class _Content:
    """Text that says what functions and data are; each function and class once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: dict[int, int] = {}
        self.within: dict[int, int] = {}
        self.own: set[str] = set()

    def of(self, value: Any, where: str) -> Iterator[str]:
        """Yield the content of a value; `where` says in messages what it is."""
        yield type(value).__qualname__
        if type(value) in _EXACTLY:
            yield repr(value)
        elif isinstance(value, ModuleType):
            yield from self._module(value)
        elif isinstance(value, (FunctionType, MethodType, BuiltinFunctionType, type)):
            yield from self._code(value, where)
        elif id(value) in self.within:  # a list that contains itself
            yield f"the {self.within[id(value)]}th around it"
        else:
            self.within[id(value)] = len(self.within)
            yield from self._data(value, where)
            del self.within[id(value)]

    def _data(self, value: Any, where: str) -> Iterator[str]:
        """Yield the content of data, and what their class adds to it."""
        if isinstance(value, Enum):
            yield str(value)
            yield from self.of(value.value, where)
        elif isinstance(value, _PLAIN):
            yield repr(value)
        elif isinstance(value, Mapping):
            yield str(len(value))
            for key, entry in value.items():
                yield from self.of(key, where)
                yield from self.of(entry, f"{where}[{key!r:.40}]")
            if isinstance(value, defaultdict):
                yield from self.of(value.default_factory, f"the default of {where}")
        elif isinstance(value, Set):
            yield str(len(value))
            # Functions are numbered in the order in which they are met: not that of their hashes.
            ordered = sorted(value, key=lambda entry: str(getattr(entry, "__qualname__", "")))
            yield from sorted("\0".join(self.of(entry, where)) for entry in ordered)
        elif isinstance(value, (list, tuple)):
            yield str(len(value))
            for i, entry in enumerate(value):
                yield from self.of(entry, f"{where}[{i}]")
        else:
            yield from self._object(value, where)
        if not self._is_library(type(value).__module__):
            yield from self.of(type(value), f"the class of {where}")
            for name, entry in attributes_of(value).items():
                yield from self.of(name, where)
                yield from self.of(entry, f"{where}.{name}")

    def _object(self, value: Any, where: str) -> Iterator[str]:
        """Yield the content of an object of a class."""
        if hasattr(value, "tobytes") and hasattr(value, "dtype"):
            if value.dtype.hasobject:
                self._refuse(where, value)
            yield from (str(value.dtype), str(value.shape), value.tobytes().hex())
            if hasattr(value, "mask"):
                yield from self.of(value.mask, where)
        elif hasattr(value, "to_data") and hasattr(value, "sha256"):  # a document of dlsched
            yield value.sha256
        elif hasattr(value, "model_dump_json"):
            yield value.model_dump_json()
        elif dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                yield from self.of(getattr(value, field.name), f"{where}.{field.name}")
        elif isinstance(value, partial):
            yield from self.of([value.func, value.args, value.keywords], where)
        else:
            self._refuse(where, value)

    def _refuse(self, where: str, value: Any) -> None:
        raise OptionError(
            f"variant {self.name}: {where} is a {type(value).__module__}."
            f"{type(value).__qualname__}, whose content has no digest, so that results could not "
            f"say of which variant they are; use numbers, text, lists, dicts, arrays or dataclasses"
        )

    def _is_library(self, module: str) -> bool:
        """Whether a module is installed, and not of the package that the variant comes from."""
        return is_library(module) and module.partition(".")[0] not in self.own

    def _module(self, module: ModuleType) -> Iterator[str]:
        """Yield a library's name and version, or the text of a module of the user's."""
        yield module.__name__
        library = self._is_library(module.__name__)
        yield version_of(module.__name__.partition(".")[0]) if library else source_of(module)

    def _code(self, value: Any, where: str) -> Iterator[str]:
        """Yield a function's source and what it reads; of a library's its name and version."""
        module = getattr(value, "__module__", None) or ""
        # A user's file has another name as __main__, imported, or given on the command line.
        library = self._is_library(module)
        yield f"{module}.{value.__qualname__}" if library else value.__qualname__
        if isinstance(value, MethodType):
            yield from self.of(value.__self__, f"the object of {where}")
            value = value.__func__
        bound = getattr(value, "__self__", None) if isinstance(value, BuiltinFunctionType) else None
        if bound is not None and not isinstance(bound, ModuleType):
            yield from self.of(bound, f"the object of {where}")
        if isinstance(value, BuiltinFunctionType):
            return
        if id(value) in self.seen:
            yield f"the {self.seen[id(value)]}th"
            return
        self.seen[id(value)] = len(self.seen)
        if library:
            yield from self._of_library(value, module, where)
            return
        try:
            # Of a function's code, as its own source would be that of what it wraps.
            yield source_of(value if isinstance(value, type) else value.__code__)
        except (OSError, TypeError):
            if isinstance(value, type):
                self._refuse(where, value)
            yield code_text(value.__code__)
        if isinstance(value, FunctionType):
            yield from self._read_by(value, where)
        elif isinstance(value, type):
            yield from self._class(value, where)

    def _of_library(self, value: Any, module: str, where: str) -> Iterator[str]:
        """Yield the version of a library, and what a function of it closes over."""
        if not is_known(module):
            yield version_of(module.partition(".")[0])
        for name, entry in closed_over(value) if isinstance(value, FunctionType) else ():
            self.from_package(entry)
            yield from self.of(entry, f"{where} reads {name}, which")

    def from_package(self, function: Any) -> None:
        """Take the package of a function that an installed package has as a variant's."""
        inner = getattr(function, "func", getattr(function, "__func__", function))
        module = getattr(inner, "__module__", None) or ""
        if isinstance(inner, FunctionType) and not is_known(module):
            self.own.add(module.partition(".")[0])

    def _class(self, owner: type, where: str) -> Iterator[str]:
        """Yield what a class has from its parents and its own class, and its entries."""
        for parent in (*owner.__bases__, type(owner)):
            yield from self.of(parent, f"a parent of {where}")
        for name, entry in members_of(owner):
            yield name
            yield from self.of(entry, f"{where}.{name}")

    def _read_by(self, function: FunctionType, where: str) -> Iterator[str]:
        """Yield what a function has as defaults, closes over, and names of its module's globals."""
        called = f"{where}: {function.__name__}"
        names = global_names(function.__code__)
        self._refuse_names(function, names, called)
        counters = attributes_set_by(function)
        own = {name: value for name, value in vars(function).items() if name not in counters}
        if own:
            yield from self.of(own, f"{called}: an attribute")
        yield from self._imported(function, called)
        for name, entry in closed_over(function):
            yield name
            yield from self.of(entry, f"{called} reads {name}, which")
        defaults = [function.__defaults__, function.__kwdefaults__]
        yield from self.of(defaults, f"{called}: a default")
        for name in sorted(names):
            if name in function.__globals__:
                yield name
                entry = function.__globals__[name]
                yield from self.of(entry, f"{called} reads {name}, which")
                if isinstance(entry, ModuleType):
                    yield from self._attributes(entry, function.__code__, f"{called} reads {name}")
            elif not hasattr(builtins, name):
                yield name

    def _refuse_names(self, function: FunctionType, names: set[str], called: str) -> None:
        """Refuse a function that reads what no digest has."""
        found = [name for name in _BY_NAME if name in names and name not in function.__globals__]
        used = attribute_names(function.__code__)
        found += [".".join(pair) for pair in _ELSEWHERE if used.issuperset(pair)]
        if found:
            raise OptionError(
                f"variant {self.name}: {called} calls {found[0]}, so that no digest has what it "
                f"reads; name the data itself"
            )

    def _imported(self, function: FunctionType, where: str) -> Iterator[str]:
        """Yield the content of the modules that a function imports: of libraries, the version."""
        for code in codes_in(function.__code__):
            for level, name in imports_of(code):
                full = "." * level + name
                package = function.__globals__.get("__package__") if level else None
                if not level and self._is_library(name):
                    continue  # the source has its name
                try:
                    module = importlib.import_module(full, package)
                except (Exception, SystemExit) as error:
                    raise OptionError(
                        f"variant {self.name}: {where} imports {full}, which cannot be imported: "
                        f"{error}"
                    ) from error
                yield from self.of(module, f"{where} imports {full}, which")
                yield from self._attributes(module, code, f"{where} imports {full}")

    def _attributes(self, module: ModuleType, code: CodeType, where: str) -> Iterator[str]:
        """Yield what a function may read of a module of the user's: what has a name in its code.

        Of a package also what it may read of the modules inside.
        """
        if self._is_library(module.__name__):
            return
        names, known, left = attribute_names(code), {id(module)}, [module]
        while left:
            entries = vars(left.pop())
            for name in sorted(names & entries.keys()):
                entry = entries[name]
                yield name
                yield from self.of(entry, f"{where}.{name}, which")
                user = isinstance(entry, ModuleType) and not self._is_library(entry.__name__)
                if user and id(entry) not in known:
                    known.add(id(entry))
                    left.append(entry)


def closed_over(function: FunctionType) -> Iterable[tuple[str, Any]]:
    """Return the variables of enclosing functions that a function reads, and their values."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            yield name, None

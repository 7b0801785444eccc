"""The digest of a variant: of its functions' source, and of all data that these read.

Two variants of one digest make the same change. A function's digest has that of every function of
the user's that it calls, of its defaults, of what it closes over, of the globals that it names, of
its attributes but for those that it sets itself, and of the modules that it imports. What reads
anything by name, as ``globals()`` and ``eval``, is refused.
"""

from __future__ import annotations

import builtins
import dataclasses
import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Set
from decimal import Decimal
from enum import Enum
from fractions import Fraction
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

_PLAIN = (bool, int, float, complex, str, bytes, type(None), range, Fraction, Decimal, Path)
_DATA = (*_PLAIN, list, tuple, dict, set, frozenset)
_SOURCES: dict[int, tuple[object, str]] = {}
"""By the identity of a function's code or a class, this object, and its text when first read."""
_BY_NAME = ("globals", "eval", "exec", "__import__")
"""Functions by which code reads what its text does not name."""
_LIBRARIES = tuple(
    Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib")
)


def digest(name: str, parts: Mapping[str, Any]) -> str:
    """Return the SHA-256 of functions and data.

    Parameters
    ----------
    name
        Of the variant, for messages.
    parts
        What to digest, by what it is.

    Raises
    ------
    OptionError
        If a function reads an object whose content cannot be had.
    """
    total = hashlib.sha256()
    for piece in _Content(name).of(parts, "the variant"):
        total.update(piece.encode())
        total.update(b"\0")
    return total.hexdigest()


class _Content:
    """Text that says what functions and data are; each function once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: set[int] = set()

    def of(self, value: Any, where: str) -> Iterator[str]:
        """Yield the content of a value; `where` says in messages what it is."""
        yield type(value).__qualname__
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
        elif isinstance(value, Set):
            yield str(len(value))
            yield from sorted("\0".join(self.of(entry, where)) for entry in value)
        elif isinstance(value, (list, tuple)):
            yield str(len(value))
            for i, entry in enumerate(value):
                yield from self.of(entry, f"{where}[{i}]")
        elif isinstance(value, ModuleType):
            yield from self._module(value, where)
        elif isinstance(value, (FunctionType, MethodType, BuiltinFunctionType, type)):
            yield from self._code(value, where)
        else:
            yield from self._object(value, where)

    def _object(self, value: Any, where: str) -> Iterator[str]:
        """Yield the content of an object of a class."""
        if hasattr(value, "tobytes") and hasattr(value, "dtype"):
            if value.dtype.hasobject:
                self._refuse(where, value)
            yield from (str(value.dtype), str(value.shape), value.tobytes().hex())
        elif hasattr(value, "to_data") and hasattr(value, "sha256"):  # a document of dlsched
            yield value.sha256
        elif hasattr(value, "model_dump_json"):
            yield from self._class_of(value, where)
            yield value.model_dump_json()
        elif dataclasses.is_dataclass(value):
            yield from self._class_of(value, where)
            for field in dataclasses.fields(value):
                yield from self.of(getattr(value, field.name), f"{where}.{field.name}")
        elif hasattr(value, "func") and hasattr(value, "keywords"):  # functools.partial
            yield from self.of([value.func, value.args, value.keywords], where)
        else:
            self._refuse(where, value)

    def _class_of(self, value: Any, where: str) -> Iterator[str]:
        """Yield the content of an object's class, whose methods a function may call."""
        for parent in type(value).__mro__[:-1]:
            yield from self.of(parent, f"the class of {where}")

    def _refuse(self, where: str, value: Any) -> None:
        raise OptionError(
            f"variant {self.name}: {where} is a {type(value).__module__}."
            f"{type(value).__qualname__}, whose content has no digest, so that results could not "
            f"say of which variant they are; use numbers, text, lists, dicts, arrays or dataclasses"
        )

    def _module(self, module: ModuleType, where: str) -> Iterator[str]:
        """Yield a library's name and version."""
        yield module.__name__
        if _is_library(module.__name__):
            package = module.__name__.partition(".")[0]
            try:
                yield importlib.metadata.version(package)
            except importlib.metadata.PackageNotFoundError:
                yield sys.version
        else:
            yield inspect.getsource(module)

    def _code(self, value: Any, where: str) -> Iterator[str]:
        """Yield a function's source and what it reads; of a library's only its name."""
        module = getattr(value, "__module__", None) or ""
        # A user's file has another name as __main__, imported, or given on the command line.
        yield f"{module}.{value.__qualname__}" if _is_library(module) else value.__qualname__
        if isinstance(value, MethodType):
            yield from self.of(value.__self__, f"the object of {where}")
            value = value.__func__
        bound = getattr(value, "__self__", None) if isinstance(value, BuiltinFunctionType) else None
        if bound is not None and not isinstance(bound, ModuleType):
            yield from self.of(bound, f"the object of {where}")
        if isinstance(value, BuiltinFunctionType) or _is_library(module):
            for name, entry in _closed_over(value) if isinstance(value, FunctionType) else ():
                yield from self.of(entry, f"{where} reads {name}, which")
            return
        if id(value) in self.seen:
            return
        self.seen.add(id(value))
        try:
            # Of a function's code, as its own source would be that of what it wraps.
            source = _source(value if isinstance(value, type) else value.__code__)
            yield source
            if isinstance(value, FunctionType) and source.count("lambda") > 1:
                yield code_text(value.__code__)  # which of them it is
        except (OSError, TypeError):
            if isinstance(value, type):
                self._refuse(where, value)
            yield code_text(value.__code__)
        if isinstance(value, FunctionType):
            yield from self._read_by(value, where)
        elif isinstance(value, type):
            yield from self._members(value, where)

    def _members(self, owner: type, where: str) -> Iterator[str]:
        """Yield what the methods of a class read, and its attributes that are plain data."""
        for name, entry in vars(owner).items():
            function = getattr(entry, "__func__", getattr(entry, "fget", entry))
            if isinstance(function, FunctionType) and function.__module__ == owner.__module__:
                yield name
                yield from self.of(function, f"{where}.{name}")
            elif isinstance(entry, _DATA) and not name.startswith("__"):
                yield name
                yield from self.of(entry, f"{where}.{name}")

    def _read_by(self, function: FunctionType, where: str) -> Iterator[str]:
        """Yield what a function has as defaults, closes over, and names of its module's globals."""
        called = f"{where}: {function.__name__}"
        names = global_names(function.__code__)
        for name in _BY_NAME:
            if name in names and name not in function.__globals__:
                raise OptionError(
                    f"variant {self.name}: {called} calls {name}, so that no digest has what it "
                    f"reads; name the data itself"
                )
        counters = attributes_set_by(function.__code__)
        own = {name: value for name, value in vars(function).items() if name not in counters}
        if own:
            yield from self.of(own, f"{called}: an attribute")
        yield from self._imported(function, called)
        for name, entry in _closed_over(function):
            yield name
            yield from self.of(entry, f"{called} reads {name}, which")
        defaults = [function.__defaults__, function.__kwdefaults__]
        yield from self.of(defaults, f"{called}: a default")
        for name in sorted(names):
            if name in function.__globals__:
                yield name
                entry = function.__globals__[name]
                yield from self.of(entry, f"{called} reads {name}, which")
                if isinstance(entry, ModuleType) and not _is_library(entry.__name__):
                    yield from self._attributes(entry, function.__code__, f"{called} reads {name}")
            elif not hasattr(builtins, name):
                yield name

    def _imported(self, function: FunctionType, where: str) -> Iterator[str]:
        """Yield the content of the modules that a function imports: of libraries, the version."""
        for code in codes_in(function.__code__):
            for level, name in imports_of(code):
                full = "." * level + name
                package = function.__globals__.get("__package__") if level else None
                if not level and _is_library(name):
                    continue  # the source has its name
                try:
                    module = importlib.import_module(full, package)
                except (Exception, SystemExit) as error:
                    raise OptionError(
                        f"variant {self.name}: {where} imports {full}, which cannot be imported: "
                        f"{error}"
                    ) from error
                yield from self.of(module, f"{where} imports {full}, which")
                if not _is_library(module.__name__):
                    yield from self._attributes(module, code, f"{where} imports {full}")

    def _attributes(self, module: ModuleType, code: CodeType, where: str) -> Iterator[str]:
        """Yield what a function may read of a module of the user's: what has a name in its code."""
        for name in sorted(attribute_names(code)):
            if name in vars(module):
                yield name
                yield from self.of(vars(module)[name], f"{where}.{name}, which")


def _source(value: type | CodeType) -> str:
    """Return the text of a class or a function's code, as it was when it was first asked for.

    A file that is edited later does not change what was loaded from it.
    """
    if id(value) not in _SOURCES:
        _SOURCES[id(value)] = value, inspect.getsource(value)
    return _SOURCES[id(value)][1]


def _closed_over(function: FunctionType) -> Iterable[tuple[str, Any]]:
    """Return the variables of enclosing functions that a function reads, and their values."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            yield name, None


def _is_library(module: str) -> bool:
    """Whether a module is installed, or built in, rather than the user's own."""
    package = module.partition(".")[0]
    if package in ("dlsched", "pyomo") or package in sys.stdlib_module_names:
        return package != "__main__"
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None and module not in sys.modules:
        file = _file_of(package)
    if file is None:
        return False
    return any(Path(file).resolve().is_relative_to(folder) for folder in _LIBRARIES)


def _file_of(package: str) -> str | None:
    """Return the file of a package that is not imported yet."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    return None if spec is None else spec.origin

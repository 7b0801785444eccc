"""The identity of a variant: what it states, the files of its functions, and what these were given.

It is computed when the variant is made; nothing of the problem is built for it. A function is known
by its place in its file, and the file by its digest, with all of the user's files that it imports.
Beside this its closure, defaults and bound arguments count, which may differ with the same files.
"""

import hashlib
import io
import pickle
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CellType, FunctionType, ModuleType
from typing import Any

from dlsched.execution import sources


def identity(stated: Sequence[Any], functions: Sequence[Any], version: str | None) -> str | None:
    """Return the SHA-256 of what a variant is; ``None`` if it needs a version.

    Parameters
    ----------
    stated
        What the variant says beside its functions, as plain data.
    functions
        Its functions. With a version, those that cannot be pickled are left out.
    version
        What the author of the variant calls it.
    """
    inner = (getattr(f, "func", getattr(f, "__func__", f)) for f in functions)
    packages, files, contents = {_package(f) for f in inner}, dict[str, str](), []
    for function in functions:
        try:
            contents.append(_Content(packages, files).of(function))
        except Exception:  # pickling calls methods of the user's classes
            if version is None:
                return None
    whole = _Content(packages, files).of([*stated, version, contents, sorted(files.items())])
    return hashlib.sha256(whole).hexdigest()


class _Content(pickle.Pickler):
    """Pickles data, the same in each process: functions and classes by their places.

    `packages`: whose files are looked at though they are installed: those of the variant's
    functions. `files`: gets the digests of the files of functions and classes, and of what these
    import.
    """

    def __init__(self, packages: set[str], files: dict[str, str]) -> None:
        self.written = io.BytesIO()
        super().__init__(self.written, protocol=4)
        self.fast = True  # without a memo, which tells one string from two equal ones
        self.packages, self.files = packages, files
        self.functions: list[FunctionType] = []

    def of(self, value: Any) -> bytes:
        """Return what a value is; whatever is raised if it cannot be pickled is an `Exception`."""
        self.dump(value)
        return self.written.getvalue()

    def persistent_id(self, value: Any) -> Any:
        """Return what stands for a value that is not pickled itself; ``None`` if it is."""
        kind = type(value)
        if kind is FunctionType:
            return self._function(value)
        if isinstance(value, type):
            return self._place(value)
        if isinstance(value, ModuleType):
            return value.__name__  # its content is in the importing file's digest
        if kind in (set, frozenset):
            members = [_Content(self.packages, self.files).of(member) for member in value]
            return kind.__name__, sorted(members)
        if kind.__module__ == "numpy" and hasattr(value, "dtype"):
            return str(value.dtype), value.tolist()
        digest = getattr(value, "sha256", None)  # of an instance, or another variant
        return digest if isinstance(digest, str) else None

    def _function(self, function: FunctionType) -> tuple[Any, ...]:
        """Return the place of a function, and what it was given."""
        if function in self.functions:  # as one that calls itself
            return ("again", self.functions.index(function))
        self.functions.append(function)
        cells = [cell for cell in function.__closure__ or () if cell != CellType()]
        given = [cell.cell_contents for cell in cells], function.__defaults__
        line = function.__code__.co_firstlineno
        return self._place(function), line, *given, function.__kwdefaults__

    def _place(self, value: FunctionType | type) -> str:
        """Return the name of a function or class, and note its file, or its package's version."""
        name, package = f"{value.__module__}.{value.__qualname__}", _package(value)
        code = getattr(value, "__code__", None)
        if code is not None and (package == "builtins" or not Path(code.co_filename).is_file()):
            raise pickle.PicklingError("the text of an exec, or of a cell")
        if package == "dlsched" or (package in sys.stdlib_module_names and package != "__main__"):
            return name
        file = getattr(sys.modules.get(value.__module__), "__file__", None)
        if file is None:
            raise pickle.PicklingError("a function in no file")
        if sources.is_foreign(file) and package not in self.packages:
            return f"{name} of {sources.version_of(package)}"
        self.files |= _files_of(value.__module__, Path(file).absolute())
        return value.__qualname__  # its module may be called __main__ in another process


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
    if closure is None or not closure.is_current():
        closure = _LATEST[place] = sources.Closure(*place)
    if name not in closure.files:
        raise pickle.PicklingError("a function in no file")
    versions = {name: sources.version_of(name) for name in closure.packages - _NEEDED}
    return versions | {f"{sources.MODULE}{name}": d for name, d in closure.digests.items()}


_LATEST: dict[tuple[str, str], sources.Closure] = {}
"""By module and folder, so that files that have not changed are only read again."""
_NEEDED = {"highspy", "numpy", "pandas", "pydantic", "pyomo", "rich", "rustworkx", "scipy", "typer"}
"""Packages that this library needs: a variant is the same with any version of them."""

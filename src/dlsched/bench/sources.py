"""The user's own source files that a method depends on: its module and what that imports.

Imports are found in the source, also inside functions, and followed recursively through the user's
own modules, but not into the standard library, installed packages or dlsched. Modules whose names
are computed at run time, and data files, are not found.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.machinery
import site
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

import dlsched

_CALLS = ("import_module", "__import__")


@cache
def digest_of(module: str, folder: str) -> str:
    """Return the digest of a module and of all the user's own modules that it imports.

    Parameters
    ----------
    module
        Full name of the module, which is not imported.
    folder
        Where modules are looked for first.

    Returns
    -------
    str
        SHA-256; that of no bytes if there is no such module. Cached until `forget` is called.
    """
    total = hashlib.sha256()
    for name, content in sorted(_Closure(module, folder).contents.items()):
        total.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
    return total.hexdigest()


def forget() -> None:
    """Clear the cache, since files may have changed."""
    digest_of.cache_clear()


class _Closure:
    """The contents of the files of a module and of all that it imports, by module name."""

    def __init__(self, module: str, folder: str) -> None:
        importlib.invalidate_caches()
        self.folder = folder
        self.contents: dict[str, bytes] = {}
        self.specs: dict[str, ModuleSpec | None] = {}
        root = self._find(module)
        foreign = bool(root and root.origin and _is_foreign(root.origin))
        self.top = module.partition(".")[0] if foreign else None
        waiting = list(_parents(module))
        seen = set(waiting)
        while waiting:
            for name in self._look(waiting.pop()):
                if name not in seen:
                    seen.add(name)
                    waiting.append(name)

    def _look(self, name: str) -> Iterator[str]:
        """Store a module's file if it is the user's own; yield the modules that it imports."""
        spec = self._find(name)
        if spec is None or spec.origin is None or not spec.has_location:
            return
        if self._is_other(name, spec.origin):
            return
        try:
            content = Path(spec.origin).read_bytes()
        except OSError:
            return
        self.contents[name] = content
        if not spec.origin.endswith(".py"):
            return
        package = name if spec.submodule_search_locations is not None else name.rpartition(".")[0]
        try:
            tree = ast.parse(content)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        for imported in _imports(tree, package):
            yield from _parents(imported)

    def _is_other(self, name: str, origin: str) -> bool:
        """Whether a file belongs to an installed package other than the method's own."""
        return _is_foreign(origin) and name.partition(".")[0] != self.top

    def _find(self, name: str) -> ModuleSpec | None:
        if name not in self.specs:
            parent = name.rpartition(".")[0]
            if not parent:
                self.specs[name] = _spec(name, [self.folder]) or _spec(name, None)
            else:
                above = self._find(parent)
                places = above.submodule_search_locations if above else None
                # By its last name: one with dots would need the package to have been imported.
                last = name.rpartition(".")[2]
                self.specs[name] = _spec(last, list(places)) if places is not None else None
        return self.specs[name]


def _spec(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """Return a module's specification without importing anything."""
    finders = sys.meta_path if path is None else [PathFinder]
    for finder in finders:
        try:
            found: ModuleSpec | None = finder.find_spec(name, path)
        except (ImportError, AttributeError, ValueError, OSError):
            continue
        if found is not None:
            return found
    return None


def _parents(name: str) -> Iterator[str]:
    """Yield the packages of a module, then the module: importing it executes all of them."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        yield ".".join(parts[:end])


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield the full names of what a module's source imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node.module or "", node.level, package)
            if base:
                yield base
                yield from (f"{base}.{alias.name}" for alias in node.names if alias.name != "*")
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in _CALLS and isinstance(node.args[0].value, str):
                dots = len(node.args[0].value) - len(node.args[0].value.lstrip("."))
                name = _absolute(node.args[0].value[dots:], dots, package)
                if name:
                    yield name


def _absolute(name: str, level: int, package: str) -> str:
    if not level:
        return name
    parts = package.split(".") if package else []
    base = ".".join(parts[: len(parts) - level + 1])
    return f"{base}.{name}" if base and name else base


@cache
def _foreign_folders() -> tuple[Path, ...]:
    """Return the folders of modules that are not the user's own."""
    paths = sysconfig.get_paths()
    found = [paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    found += [*site.getsitepackages(), site.getusersitepackages()]
    folders = [Path(each).resolve() for each in found]
    return (*dict.fromkeys(folders), Path(dlsched.__file__).resolve().parent)


def _is_foreign(origin: str) -> bool:
    path = Path(origin).resolve()
    installed = {"site-packages", "dist-packages"} & set(path.parts)
    return bool(installed) or any(path.is_relative_to(each) for each in _foreign_folders())

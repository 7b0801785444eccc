"""Which code is it: the version of the library, and the digests of the user's own source files.

The user's code is a module and its imports. Imports are found in the source, also inside functions,
and followed through the user's own modules, but not into the standard library, installed packages
or dlsched; of installed packages the versions count. Modules whose names are computed at run time
are not found, and data files do not count.
"""

import ast
import hashlib
import importlib
import importlib.machinery
import os
import pkgutil
import site
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

_LIBRARY = Path(__file__).resolve().parents[1]
MODULE = "module "
"""What stands before a module's name, so that it is not taken for a package's."""
_CALLS = ("import_module", "__import__")
_INSTALLED = frozenset({"site-packages", "dist-packages"})


def library_identity(age: float = 0.0) -> str:
    """Return the library's version, or one digest over its files if these are no installed ones.

    Files may have changed since it was asked for; an answer may be `age` seconds old.
    """
    if _INSTALLED & set(_LIBRARY.parts):
        return version(_LIBRARY.name)
    moment, known = _latest[0]
    if not known or time.monotonic() > moment + age:
        moment = time.monotonic()
        known = _library_digest(tuple(sorted(_library_files(os.fspath(_LIBRARY)))))
        _latest[0] = moment, known
    return known


_latest = [(0.0, "")]


def _library_files(folder: str) -> Iterator[tuple[str, int, int]]:
    """Yield source files, with what changes when they do."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _library_files(entry.path)
            elif entry.name.endswith(".py"):
                about = entry.stat()
                yield entry.path, about.st_ctime_ns, about.st_size


@cache
def _library_digest(files: tuple[tuple[str, int, int], ...]) -> str:
    total = hashlib.sha256()
    for path, *_ in files:
        total.update(f"{Path(path).relative_to(_LIBRARY)}\0".encode())
        total.update(hashlib.sha256(Path(path).read_bytes()).digest())
    return total.hexdigest()


def modules_of(module: str, folder: str) -> Mapping[str, str]:
    """Return the digests of a module and of all the user's own modules that it imports, by name.

    They are SHA-256 by ``module NAME``; versions of the installed packages that these modules
    import are there by name. The module is looked for in a folder first, and not imported; ``x.*``
    is a package with all its modules.
    """
    closure = _closure(module, folder)
    if not closure.is_current():
        _closure.cache_clear()
        closure = _closure(module, folder)
    digests = {f"{MODULE}{name}": digest for name, digest in closure.digests.items()}
    return digests | {name: version_of(name) for name in sorted(closure.packages)}


def own_files(module: str, folder: str) -> Mapping[str, Path]:
    """Return the files of the same modules by name, but for those of installed packages."""
    files = _closure(module, folder).files
    return {name: path for name, path in files.items() if not is_foreign(str(path))}


def forget() -> None:
    """Look for modules anew, since there may be others; only where a sweep is planned."""
    _closure.cache_clear()


class Closure:
    """The digests of the files of a module and of all that it imports, by module name."""

    def __init__(self, module: str, folder: str) -> None:
        importlib.invalidate_caches()
        self.folder = folder
        self.digests: dict[str, str] = {}  # of the files as they are now
        self.files: dict[str, Path] = {}
        self.packages: set[str] = set()
        self.specs: dict[str, ModuleSpec | None] = {}
        first = module.removesuffix(".*")
        root = self._find(first)
        foreign = bool(root and root.origin and is_foreign(root.origin))
        self.top = first.partition(".")[0] if foreign else None
        waiting = list(_parents(first))
        if module.endswith(".*"):
            waiting += self._parts(first)
        known = set(waiting)
        while waiting:
            for name in self._look(waiting.pop()):
                if name not in known:
                    known.add(name)
                    waiting.append(name)

    def is_current(self) -> bool:
        """Whether the files are as they were when they were looked at."""
        try:
            contents = {name: path.read_bytes() for name, path in self.files.items()}
        except OSError:
            return False
        return self.digests == {n: hashlib.sha256(c).hexdigest() for n, c in contents.items()}

    def _parts(self, package: str) -> list[str]:
        """Return the names of all modules of a package."""
        spec = self._find(package)
        places = list(spec.submodule_search_locations or ()) if spec else []
        names = []
        for part in pkgutil.iter_modules(places, f"{package}."):
            names.append(part.name)
            names += self._parts(part.name) if part.ispkg else []
        return names

    def _look(self, name: str) -> Iterator[str]:
        """Store a module's digest if it is the user's own; yield the modules that it imports."""
        spec = self._find(name)
        if spec is None or spec.origin is None or not spec.has_location:
            return
        top = name.partition(".")[0]
        if is_foreign(spec.origin) and top != self.top:  # of another package than the method's own
            if top not in sys.stdlib_module_names and top != _LIBRARY.name:
                self.packages.add(top)
            return
        try:
            content = Path(spec.origin).read_bytes()
        except OSError:
            return
        self.digests[name] = hashlib.sha256(content).hexdigest()
        self.files[name] = Path(spec.origin)
        if not spec.origin.endswith(".py"):
            return
        package = name if spec.submodule_search_locations is not None else name.rpartition(".")[0]
        try:
            tree = ast.parse(content)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        for imported in _imports(tree, package):
            yield from _parents(imported)

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


@cache
def _closure(module: str, folder: str) -> Closure:
    return Closure(module, folder)


def _spec(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """Return a module's specification without importing anything."""
    finders = sys.meta_path if path is None else [PathFinder]
    for finder in finders:
        try:
            spec: ModuleSpec | None = finder.find_spec(name, path)
        except (ImportError, AttributeError, ValueError, OSError):
            continue
        if spec is not None:
            return spec
    return None


@cache
def version_of(package: str) -> str:
    """Return the version of the distribution that an installed package belongs to."""
    try:
        return version(package)
    except PackageNotFoundError:
        names = sorted(set(packages_distributions().get(package, ())))
    return ", ".join(f"{name} {version(name)}" for name in names) or "of no version"


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
    places = [paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    places += [*site.getsitepackages(), site.getusersitepackages()]
    folders = [Path(place).resolve() for place in places]
    return (*dict.fromkeys(folders), _LIBRARY)


def is_foreign(origin: str) -> bool:
    """Whether a file is Python's, an installed package's or this library's."""
    path = Path(origin).resolve()
    installed = _INSTALLED & set(path.parts)
    return bool(installed) or any(path.is_relative_to(folder) for folder in _foreign_folders())

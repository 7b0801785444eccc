"""Which modules are installed, or built in, rather than the user's own; and their versions."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path

_LIBRARIES = (
    *(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib")),
    Path(__file__).resolve().parents[1],
)
_OWN = ("dlsched", "pyomo")


def is_known(module: str) -> bool:
    """Whether a module is Python's, Pyomo's or this library's: a function's name says enough."""
    package = module.partition(".")[0]
    return package in _OWN or (package in sys.stdlib_module_names and package != "__main__")


def is_library(module: str) -> bool:
    """Whether a module is installed, or built in, rather than the user's own."""
    package = module.partition(".")[0]
    if package in _OWN or package in sys.stdlib_module_names:
        return package != "__main__"
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None and module not in sys.modules:
        file = _file_of(package)
    return file is not None and in_library(file)


def in_library(file: str) -> bool:
    """Whether a file is in a folder of installed packages, or of this library."""
    path = Path(file).resolve()
    return any(path.is_relative_to(folder) for folder in _LIBRARIES)


@lru_cache(maxsize=256)
def version_of(package: str) -> str:
    """Return the version of an installed package; Python's if it comes with Python."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return sys.version


def _file_of(package: str) -> str | None:
    """Return the file of a package that is not imported yet."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    return None if spec is None else spec.origin

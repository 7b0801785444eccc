"""Where numba keeps the compiled loops, and whether they are there for this version."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dlsched.doctor.finding import Finding
from dlsched.errors import describe
from dlsched.registry import BUILT_IN, problem
from dlsched.solvers.compilation import entries


@dataclass(frozen=True)
class CompiledLoops:
    """The cache of compiled loops.

    Attributes
    ----------
    folders
        Where numba keeps them: beside the modules, in a cache of the user, or in NUMBA_CACHE_DIR.
    writable
        Whether all the folders can be written to.
    cached, total
        How many of all the loops are in the cache for this version of dlsched, numba, Python and
        processor; ``cached`` is ``None`` if this version of numba does not tell.
    failure
        Why the modules with loops cannot be imported, or nothing.
    """

    folders: tuple[str, ...] = ()
    writable: bool = False
    cached: int | None = None
    total: int = 0
    failure: str = ""

    def findings(self) -> Iterator[Finding]:
        """Yield what keeps loops from being compiled, or from being kept."""
        if self.failure:
            remedy = "set NUMBA_CACHE_DIR to a folder that can be written to; else report it"
            yield Finding(f"modules with compiled loops fail: {self.failure}", remedy, True)
        elif not self.writable:
            what = "the cache of compiled loops cannot be written, so every process compiles anew"
            yield Finding(what, "set NUMBA_CACHE_DIR to a folder that can be written to", False)


def compiled_loops() -> CompiledLoops:
    """Import the modules with loops, and look their signatures up in numba's cache."""
    try:
        loops = [entry for module in _modules() for entry in entries(module)]
        states = [loop.is_cached(known) for loop in loops for known in loop.signatures]
        folders = {str(loop.compiled.stats.cache_path) for loop in loops}
    except Exception as error:  # numba raises errors of several kinds
        return CompiledLoops(failure=describe(error))
    cached = None if None in states else sum(map(bool, states))
    writable = all(map(_is_writable, folders))
    return CompiledLoops(tuple(sorted(folders)), writable, cached, len(states))


def _modules() -> list[str]:
    """Import and return the modules that the methods preload, with those that these import."""
    packages = set()
    for name in BUILT_IN:
        owner = problem(name)
        packages.add(owner.package)
        for method in owner.methods.values():
            for module in method.preload:
                if module.startswith("."):
                    importlib.import_module(module, owner.package)
    return sorted(m for m in sys.modules if ".".join(m.split(".")[:3]) in packages)


def _is_writable(folder: str) -> bool:
    """Whether a folder, or the nearest folder above it that exists, can be written to."""
    path = Path(folder)
    while not path.exists() and path != path.parent:
        path = path.parent
    return os.access(path, os.W_OK)

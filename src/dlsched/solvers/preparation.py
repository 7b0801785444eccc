"""Compilation of loops before any clock starts, in as many processes as the machine has cores.

numba compiles one function at a time in a process, but all processes share its cache: what another
one has compiled is loaded in milliseconds. If a process fails, its loops are compiled here.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import ModuleType

from dlsched.solvers.compilation import (
    Loop,
    can_compile,
    entries,
    modules_with_entries,
    size_of,
    warn_that_loops_run_as_python,
)
from dlsched.solvers.garbage import no_collection

_NOTICE_AFTER = 1.0
"""Seconds of compilation after which a terminal is told why it waits."""
_OTHER_PROCESS = """
import json, sys
work = json.load(sys.stdin)
sys.path[:] = work["path"]
from dlsched.solvers.preparation import compile_named
compile_named(work["names"])
"""


def prepare(
    *modules: str, package: str | None = None, on_compile: Callable[[str], None] | None = None
) -> None:
    """Import modules; compile their entries and those of modules from which they have names.

    What is in numba's cache is loaded instead, in milliseconds. On a terminal, a compilation that
    takes more than a second is announced on standard error.

    Parameters
    ----------
    *modules
        Full names.
    package
        The package that they are part of, in any of its folders; each module's own by default.
    on_compile
        Called with the name of each module that has loops which are in no cache.
    """
    missing = _missing(modules, package)
    if missing and not can_compile():
        warn_that_loops_run_as_python()
        return
    uncached = [
        entry
        for entry in missing
        if any(entry.is_cached(signature) is False for signature in entry.signatures)
    ]
    for module in dict.fromkeys(entry.function.__module__ for entry in uncached):
        if on_compile is not None:
            on_compile(module)
    share, *others = divided(uncached, os.cpu_count() or 1)
    with _notice(), no_collection():
        with _compiling_elsewhere(others):
            for entry in share:
                entry.compile()
        for entry in missing:
            entry.compile()


def is_ready(*modules: str, package: str | None = None) -> bool:
    """Return whether `prepare` has nothing to compile or load from numba's cache."""
    return not _missing(modules, package)


def compile_named(names: Sequence[tuple[str, str]]) -> None:
    """Compile entries, given the names of their modules and functions."""
    with no_collection():
        for module, name in names:
            importlib.import_module(module)
            for entry in entries(module):
                if entry.function.__name__ == name:
                    entry.compile()


def divided(loops: Sequence[Loop], parts: int) -> list[list[Loop]]:
    """Divide loops into parts of about the same size, the longest first; one part at least.

    What loops of one part call in common is compiled once, so it counts once.
    """
    shares: list[list[Loop]] = [[] for _ in range(max(1, min(parts, len(loops))))]
    for loop in sorted(loops, key=lambda loop: size_of([loop]), reverse=True):
        min(shares, key=lambda share: size_of([*share, loop])).append(loop)
    return shares


@contextmanager
def _compiling_elsewhere(shares: Sequence[Sequence[Loop]]) -> Iterator[None]:
    """Have another process compile each share; wait for all of them at the end of the block."""
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for share in shares:
            with suppress(OSError):  # no process can be started, or it ended at once
                processes.append(_started())
                _send(processes[-1], share)
        yield
        for process in processes:
            process.wait()
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _started() -> subprocess.Popen[bytes]:
    """Start a process that compiles what it is told."""
    return subprocess.Popen(
        [sys.executable, "-c", _OTHER_PROCESS],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _send(process: subprocess.Popen[bytes], share: Sequence[Loop]) -> None:
    """Tell a process what it has to compile."""
    names = [(loop.function.__module__, loop.function.__name__) for loop in share]
    assert process.stdin is not None
    with process.stdin as pipe:
        pipe.write(json.dumps({"path": sys.path, "names": names}).encode())


def _missing(modules: Sequence[str], package: str | None) -> list[Loop]:
    """Return the entries that are not compiled in this process."""
    reached = _reached(modules, package)
    return [
        entry
        for module in modules_with_entries()
        if module in reached
        for entry in entries(module)
        if not entry.ready
    ]


def _reached(modules: Sequence[str], package: str | None) -> set[str]:
    """Return modules and those of their package from which they have names, however indirectly."""
    homes = {package or module.rpartition(".")[0] for module in modules}
    waiting, known = list(modules), set(modules)
    while waiting:
        values = vars(importlib.import_module(waiting.pop())).values()
        new = {
            value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
            for value in values
        }
        new = {
            name
            for name in new - known
            if isinstance(name, str) and any(name.startswith(f"{home}.") for home in homes)
        }
        known |= new
        waiting += new
    return known


@contextmanager
def _notice() -> Iterator[None]:
    """Say on a terminal that loops are compiled, if that takes more than a second."""
    text = (
        "dlsched: compiling loops, once per machine; this may take up to a minute "
        "(dlsched doctor --compile does it for all problems) ..."
    )
    timer = threading.Timer(_NOTICE_AFTER, print, [text], {"file": sys.stderr, "flush": True})
    timer.daemon = True
    if tells_terminal():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def tells_terminal() -> bool:
    """Return whether there is a terminal that wants to know why it waits.

    Not if the log is read at level INFO, as by the command line, which says so itself, nor above
    WARNING, as with the command line's ``--quiet``.
    """
    wanted = logging.getLogger("dlsched").getEffectiveLevel() == logging.WARNING
    return wanted and sys.stderr is not None and sys.stderr.isatty()

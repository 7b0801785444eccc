"""Files and programs that a variant's function reads while it is called, which no digest has."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from dlsched.errors import OptionError
from dlsched.variants.libraries import in_library

_PROGRAMS = ("subprocess.Popen", "os.system", "socket.connect", "sqlite3.connect")
_CODE = (".py", ".pyc", ".pyd", ".so", ".dll", ".pth", ".zip", ".egg")
"""Endings of files that imports read; the digest has what is imported."""
_CALLED = threading.local()
"""``label`` is the variant whose function this thread calls, if there is one."""
_INSTALLED = threading.Lock()


class no_reads:
    """Refuse within a block what a function of a variant reads from outside of the process.

    Raises
    ------
    OptionError
        If it opens a file for reading, but for code and what comes with installed packages, or
        starts a program, or connects to something.
    """

    __slots__ = ("before", "label")

    def __init__(self, label: str) -> None:
        if _INSTALLED.acquire(blocking=False):  # never released: a hook stays
            sys.addaudithook(_audit)
        self.label = label

    def __enter__(self) -> None:
        """Begin."""
        self.before = getattr(_CALLED, "label", None)
        _CALLED.label = self.label

    def __exit__(self, *_: object) -> None:
        """End; what was within which other one goes on."""
        _CALLED.label = self.before


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" and event not in _PROGRAMS:
        return
    label = getattr(_CALLED, "label", None)
    if label is None:
        return
    _CALLED.label = None  # what this reads itself
    try:
        if event in _PROGRAMS:
            what = f"calls {event}"
        elif not (what := _reads(*arguments)):
            return
        raise OptionError(
            f"{label}: its function {what}, so that no digest has what it reads; read it before "
            f"the variant is made, and let the function name the data"
        )
    finally:
        _CALLED.label = label


def _reads(path: Any, mode: Any, flags: Any = 0) -> str:
    """Return what is read, if it is a file that may say something else the next time."""
    if not isinstance(path, str | bytes | os.PathLike):
        return ""  # a file that is open already
    name = os.fsdecode(path)
    writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR) == os.O_WRONLY
    if writes or name.endswith(_CODE) or name == os.devnull or in_library(name):
        return ""
    return f"opens {name}"

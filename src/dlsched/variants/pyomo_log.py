"""What Pyomo logs while a function of a user's is called, of which one error is made."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ALL = logging.getLogger("pyomo")
_CORE = logging.getLogger("pyomo.core")
_LOCK = threading.Lock()


class _Kept(logging.Handler):
    """Keeps the texts of each thread by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.of_thread = threading.local()
        self.users = 0
        self.before: tuple[int, int, bool] = (0, 0, True)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a text."""
        texts = getattr(self.of_thread, "texts", None)
        if texts is not None:
            texts.append(record.getMessage())

    def begin(self) -> None:
        """Take what Pyomo's core logs, if no other thread has begun."""
        with _LOCK:
            if not self.users:
                self.before = (_ALL.level, _CORE.level, _CORE.propagate)
                _ALL.setLevel(logging.CRITICAL)
                _CORE.setLevel(logging.WARNING)
                _CORE.propagate = False
                _CORE.addHandler(self)
            self.users += 1

    def end(self) -> None:
        """Let it log as before, if no other thread is within."""
        with _LOCK:
            self.users -= 1
            if not self.users:
                _CORE.removeHandler(self)
                everything, core, _CORE.propagate = self.before
                _ALL.setLevel(everything)
                _CORE.setLevel(core)


_KEPT = _Kept()


@contextmanager
def pyomo_warnings() -> Iterator[list[str]]:
    """Yield the texts of what Pyomo's core logs within the block, which is printed nowhere."""
    texts: list[str] = []
    outer = getattr(_KEPT.of_thread, "texts", None)
    _KEPT.begin()
    _KEPT.of_thread.texts = texts
    try:
        yield texts
    finally:
        _KEPT.of_thread.texts = outer
        _KEPT.end()

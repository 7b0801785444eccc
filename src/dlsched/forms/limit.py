"""The limit of a search for a proof while it chooses and builds forms, which may take longer.

What builds forms calls `poll` for every row or so; Pyomo, which does not, is `watched`. The check
of a proof sets no limit.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dlsched.status import Termination

Stop = Callable[[], Termination | None]
"""Returns the reason to end, if there is one."""

_stop: ContextVar[tuple[Stop, str] | None] = ContextVar("dlsched_forms_stop", default=None)
_EVERY, _AGAIN = 0.02, 1.0
"""Seconds between two looks of a watcher at the limit, and after an exception that was lost."""


class Unbuilt(Exception):
    """A limit struck before a form was built; the message says which, and what was not done."""


class _Struck(BaseException):
    """Raised in a block that is watched, from another thread; as little as possible catches it."""


@contextmanager
def until(stop: Stop, end: str = "the form was built") -> Iterator[None]:
    """End the block, by `Unbuilt`, when there is a reason to stop, before `end`."""
    token = _stop.set((stop, end))
    try:
        poll()
        yield
    finally:
        _stop.reset(token)


def poll() -> None:
    """Raise `Unbuilt` if a limit struck."""
    known = _stop.get()
    reason = known[0]() if known else None
    if known and reason:
        raise Unbuilt(f"{reason.sentence}, before {known[1]}")


@contextmanager
def watched() -> Iterator[None]:
    """Poll for a block that does not; it must be Python only, and what it makes is thrown away.

    Another thread raises an exception in this one once the limit has struck.
    """
    known = _stop.get()
    if known is None or not hasattr(ctypes, "pythonapi"):
        yield
        return
    collecting, logger = gc.isenabled(), logging.getLogger("pyomo.core")
    watcher = _Watcher(known[0])
    logger.addFilter(watcher.is_open)
    try:
        try:
            watcher.start()
            yield
        finally:
            watcher.end()
    except _Struck:
        watcher.end()
    finally:
        logger.removeFilter(watcher.is_open)
        if collecting:
            gc.enable()  # Pyomo pauses it
    poll()


class _Watcher:
    """A thread that ends what another one does when there is a reason to stop."""

    def __init__(self, stop: Stop) -> None:
        self.stop, self.target = stop, ctypes.c_ulong(threading.get_ident())
        self.done, self.lock, self.struck = threading.Event(), threading.Lock(), False
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.start = self.thread.start

    def is_open(self, record: logging.LogRecord) -> bool:
        """Whether a message is none of Pyomo's about the exception raised here."""
        return not self.struck

    def end(self) -> None:
        """Raise nothing from here on, nor what was raised and has not arrived yet."""
        with self.lock:
            self.done.set()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(self.target, None)

    def _watch(self) -> None:
        wait, error = _EVERY, ctypes.py_object(_Struck)
        while not self.done.wait(wait):
            if self.stop():
                with self.lock:
                    if not self.done.is_set() and not _imports(self.target.value):
                        ctypes.pythonapi.PyThreadState_SetAsyncExc(self.target, error)
                        self.struck, wait = True, _AGAIN


def _imports(thread: int) -> bool:
    """Whether a thread is importing a module, which must not be left half done."""
    frame = sys._current_frames().get(thread)
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False

"""The limit of a search for a proof while it builds a form, which may take longer than is left.

What builds forms calls `poll` for every row or so. The check of a proof sets no limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dlsched.results.status import Termination

Stop = Callable[[], Termination | None]
"""Returns the reason to end, if there is one."""

_stop: ContextVar[Stop | None] = ContextVar("dlsched_forms_stop", default=None)


class Unbuilt(Exception):
    """A limit struck before a form was built; the message says which."""


@contextmanager
def until(stop: Stop) -> Iterator[None]:
    """End the building of forms within the block, by `Unbuilt`, when there is a reason to stop."""
    token = _stop.set(stop)
    try:
        poll()
        yield
    finally:
        _stop.reset(token)


def poll() -> None:
    """Raise `Unbuilt` if a limit struck."""
    stop = _stop.get()
    reason = stop() if stop else None
    if reason:
        raise Unbuilt(f"{reason.sentence}, before the form was built")

"""The limit of a search for a proof while it chooses and builds forms, which may take longer.

What builds forms calls `poll` for every row or so, and before and after Pyomo, which does not. The
check of a proof sets no limit.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dlsched.results.status import Termination

Stop = Callable[[], Termination | None]
"""Returns the reason to end, if there is one."""

_stop: ContextVar[tuple[Stop, str] | None] = ContextVar("dlsched_forms_stop", default=None)


class Unbuilt(Exception):
    """A limit struck before a form was built; the message says which, and what was not done."""


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

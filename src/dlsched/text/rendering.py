"""How objects show themselves: a short ``repr``, a summary, and HTML in notebooks.

The functions here are only the places where implementations register. Those of dlsched's own
classes are in `dlsched.display` and `dlsched.results.summary`, which may use what the classes must
not import. The package says how they are imported: nothing here names what stands above.
"""

from collections.abc import Callable
from functools import singledispatch


@singledispatch
def text(thing: object) -> str:
    """Return the short ``repr`` of an object, of ten lines at most whatever its size."""
    return object.__repr__(thing)


@singledispatch
def summary(thing: object) -> str:
    """Return a text of several lines for people."""
    return text(thing)


@singledispatch
def html(_thing: object) -> str | None:
    """Return an object as HTML for a notebook; ``None`` for one that is shown as text."""
    return None


class Rendered:
    """A base of classes whose ``repr`` and HTML are registered with `text` and `html`."""

    def __repr__(self) -> str:
        """Return a short text; see `text`."""
        register()
        return text(self)

    def _repr_html_(self) -> str | None:
        """Return HTML for a notebook; see `html`."""
        register()
        return html(self)


_waiting: dict[Callable[[], object], None] = {}
"""What imports implementations that are not there yet."""


def provide(load: Callable[[], object]) -> None:
    """Have `load` called before the first object is shown: it imports implementations."""
    _waiting[load] = None


def register() -> None:
    """Import the implementations that are provided, once; again what was interrupted."""
    for load in tuple(_waiting):
        load()
        _waiting.pop(load, None)  # it may be gone: threads that come meanwhile import it, too

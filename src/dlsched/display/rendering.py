"""How objects show themselves: a short ``repr``, a summary, and HTML in notebooks.

The functions here are only the places where implementations register; those of dlsched's own
classes are in `dlsched.display` and `dlsched.results.summary`, which may use what the classes
themselves must not import.
"""

from __future__ import annotations

from functools import cache, singledispatch
from importlib import import_module


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


@cache
def register() -> None:
    """Import dlsched's own implementations, which are not needed before something is shown."""
    import_module("dlsched.display.text")
    import_module("dlsched.display.html")

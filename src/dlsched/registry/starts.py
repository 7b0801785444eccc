"""Which heuristics of a problem an exact method begins from, and when each of them runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, NamedTuple, TypeAlias


class When(Enum):
    """When a heuristic runs for the exact method of its problem."""

    FIRST = "before the search"
    """The search begins from its solution, or from the bound that comes with it."""
    LIMITED = "before the search with a time limit, else after a search that proved nothing"
    """Without a limit the search finds as much by itself."""
    LAST = "after a search that proved nothing"
    """For an instance on which it takes a good part of the exact method's time, or more."""


class Start(NamedTuple):
    """A heuristic by name, and when it runs; see `dlsched.api.starting`."""

    name: str
    when: When = When.LIMITED


Starts: TypeAlias = Sequence[Start] | Callable[[Any], Sequence[Start]]
"""The heuristics of a problem in the order in which they run, for all or for one instance."""

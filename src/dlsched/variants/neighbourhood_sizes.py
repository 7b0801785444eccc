"""How large the neighbourhoods of each family are to be, by what the last ones have brought."""

from __future__ import annotations

from collections.abc import Sequence

from dlsched.variants.neighbourhoods import Family

_FIRST = 80
"""About how many columns the first neighbourhoods leave free of those that they may hold."""
_GROWTH = 1.6
"""By how much neighbourhoods grow where the last of a family was solved, or else shrink."""
_LATER = 3
"""How many times as large a neighbourhood counts that brought nothing, unsolved."""
_UNSOLVED = 3
"""How often neighbourhoods of a family may bring nothing, unsolved, before it is left out."""


class NeighbourhoodSizes:
    """How large neighbourhoods of each family are to be, and which families bring nothing more.

    Attributes
    ----------
    columns
        About how many a neighbourhood of a family leaves free, by the family's name.
    """

    def __init__(self) -> None:
        self.columns: dict[str, float] = {}
        self.growth: dict[str, float] = {}
        self.unsolved: dict[str, int] = {}
        self.ended: set[str] = set()

    def next_of(self, known: Sequence[Family]) -> Family | None:
        """Return the family whose next neighbourhood is the smallest; None if all have ended."""
        left = [family for family in known if family.name not in self.ended]
        return min(left, key=lambda family: self.columns[family.name], default=None)

    def size_of(self, family: Family) -> int:
        """Return how many groups are to be chosen."""
        mean = sum(map(len, family.groups)) / len(family.groups)
        first = max(2.0, _FIRST / max(1.0, mean))
        return min(len(family.groups), round(first * self.growth.get(family.name, 1.0)))

    def note(self, family: Family, free: int, better: bool, solved: bool) -> None:
        """Note what a neighbourhood has brought: the next one is larger if this one was solved."""
        name = family.name
        whole = self.size_of(family) == len(family.groups)
        factor = _GROWTH if solved else 1 / _GROWTH
        self.growth[name] = factor * self.growth.get(name, 1.0)
        self.unsolved[name] = 0 if solved or better else self.unsolved.get(name, 0) + 1
        self.columns[name] = free * (_GROWTH if solved or better else _LATER)
        if better:
            self.ended.clear()
        elif whole or self.unsolved[name] == _UNSOLVED:
            self.ended.add(name)

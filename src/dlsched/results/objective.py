"""Objectives by level and their comparison, the bounds on them, and the gaps between the two."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from dlsched.schema.files import JsonObject
from dlsched.schema.quantities import Number

__all__ = ["Bound", "ByLevel", "Level", "Objective", "closed", "gap", "relative_gap"]

T = TypeVar("T")
U = TypeVar("U")

SOLVER_PRECISION = 1e-9
"""Relative error up to which a solver's floating-point figure is taken to be right."""
TOLERANCE = 1e-6
"""Relative difference at which a floating-point claim still agrees with the exact value."""
BoundKind: TypeAlias = Literal["certified", "certified to nine digits", "claimed"]
SLACK: dict[BoundKind, float] = {
    "certified": 0.0,
    "certified to nine digits": 1e-9,
    "claimed": TOLERANCE,
}
"""The kinds of bounds, the surest first, and by how much, relatively, a right one may be beaten."""


@dataclass(frozen=True)
class Level:
    """One level of an objective.

    Attributes
    ----------
    name
        As on the problem's card; also the name of the model's objective component.
    sense
        ``"min"`` or ``"max"``.
    unit
        What one is: jobs, GPUs, seconds.
    """

    name: str
    sense: Literal["min", "max"]
    unit: str

    def better(self, a: Any, b: Any) -> bool:
        """Whether value `a` is strictly better than value `b`."""
        return bool(a < b if self.sense == "min" else a > b)


class ByLevel(tuple[T, ...], Generic[T]):
    """A tuple with one entry per level of an objective, and the level names as attributes."""

    levels: tuple[Level, ...]

    def __new__(cls, levels: Sequence[Level], entries: Iterable[T]) -> ByLevel[T]:
        """Pair each entry with its level; their numbers must agree."""
        self = super().__new__(cls, tuple(entries))
        self.levels = tuple(levels)
        if len(self) != len(self.levels):
            raise ValueError(f"{len(self.levels)} levels, {len(self)} entries")
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:
        """Pickle with the levels."""
        return self.levels, tuple(self)

    def __getattr__(self, name: str) -> T:
        """Return the entry of the level called `name`."""
        for level, entry in zip(self.__dict__.get("levels", ()), self, strict=True):
            if level.name == name:
                return entry
        raise AttributeError(f"no level {name!r}; the levels are {[*self.as_dict()]}")

    def __dir__(self) -> Iterable[str]:
        """Return the attributes, those named after levels included, for completion."""
        return [*super().__dir__(), *self.as_dict()]

    def __repr__(self) -> str:
        """Show name=entry pairs."""
        pairs = (f"{level.name}={_brief(entry)}" for level, entry in self.pairs())
        return f"({', '.join(pairs)})"

    def pairs(self) -> Iterable[tuple[Level, T]]:
        """Iterate over (level, entry)."""
        return zip(self.levels, self, strict=True)

    def as_dict(self) -> dict[str, T]:
        """Return {level name: entry}."""
        return {level.name: entry for level, entry in self.pairs()}

    def map(self, f: Callable[[T], U]) -> ByLevel[U]:
        """Return the same levels with `f` applied to each entry."""
        return ByLevel(self.levels, map(f, self))

    def better_than(self, other: Sequence[Any]) -> bool:
        """Whether this is lexicographically better than `other`, by the levels' senses.

        Entries are compared as they are, without a tolerance: those of an `Objective` exactly.
        """
        for (level, mine), theirs in zip(self.pairs(), other, strict=True):
            if mine != theirs:
                return level.better(mine, theirs)
        return False


def _brief(entry: object) -> str:
    if isinstance(entry, Fraction):
        return f"{float(entry):.6g}"
    return f"{entry:.6g}" if isinstance(entry, float) else str(entry)


Objective: TypeAlias = ByLevel[Number]


class Bound(NamedTuple):
    """A value that no solution can beat (at later levels: none that attains the earlier bounds).

    ``kind`` is ``"certified"`` if the value was re-checked in exact arithmetic apart from the
    solver that suggested it, ``"certified to nine digits"`` if that holds for all but a billionth
    of it, ``"claimed"`` if it was not re-checked. ``method`` names its source.
    """

    value: Number | float
    kind: BoundKind
    method: str

    def __repr__(self) -> str:
        """Show value and kind."""
        return f"Bound({self})"

    def __str__(self) -> str:
        """Show value and kind."""
        return f"{_brief(self.value)} ({self.kind}, {self.method})"

    def to_data(self) -> JsonObject:
        """Return plain JSON data."""
        return number_to_data(self.value) | {"kind": self.kind, "method": self.method}


Bounds: TypeAlias = ByLevel["Bound | None"]


def stronger(level: Level, a: Bound, b: Bound) -> bool:
    """Whether bound `a` is stronger than `b`; of equal ones the surer is stronger."""
    if a.value == b.value:
        return SLACK[a.kind] < SLACK[b.kind]
    return level.better(b.value, a.value)


def strongest(level: Level, bounds: Iterable[Bound | None]) -> Bound | None:
    """Return the strongest of some bounds on a level, of equal ones the first; None of none."""
    best: Bound | None = None
    for bound in bounds:
        if bound is not None and (best is None or stronger(level, bound, best)):
            best = bound
    return best


def relative_gap(value: Number | float, bound: Number | float) -> float:
    """Return |value - bound| / max(|value|, |bound|), and 0 when both are 0."""
    if value == bound:
        return 0.0
    exact = not isinstance(value, float) and not isinstance(bound, float)
    number: Callable[[Any], Any] = Fraction if exact else float
    a = number(value)
    b = number(bound)
    largest = max(abs(a), abs(b))
    # An exact number below the least double is not 0, but its double is.
    return float(abs(a - b) / largest) if largest else 1.0


def gap(objective: Sequence[Any], bounds: ByLevel[Any]) -> ByLevel[float | None]:
    """Return the gap per level; ``None`` where it has no meaning.

    A level's gap is stated only if there is a bound and every earlier level is at its bound. A
    bound that is a solver's floating-point figure is known to nine digits: to be at it, these
    must agree. Where they do not agree exactly, a later bound may be beaten, which leaves no gap.
    """
    gaps: list[float | None] = []
    known = exactly = True
    for level, value, bound in zip(bounds.levels, objective, bounds, strict=True):
        goal = bound.value if isinstance(bound, Bound) else bound
        known = known and bound is not None and (exactly or not level.better(value, goal))
        exactly = exactly and value == goal
        gaps.append(relative_gap(value, goal) if known else None)
        known = known and at_bound(value, bound)
    return ByLevel(bounds.levels, gaps)


def at_bound(value: Number | float, bound: Bound | Number | float) -> bool:
    """Whether a value is at a bound: equal, or to nine digits unless the bound is a whole number.

    Solvers' figures are floating-point numbers, and so are the duals that certificates rest on.
    """
    if value == bound or not isinstance(bound, Bound):
        return value == bound
    if value == bound.value or isinstance(bound.value, int):
        return value == bound.value
    return relative_gap(value, bound.value) <= 3 * SOLVER_PRECISION


def closed(objective: Sequence[Any], bounds: ByLevel[Bound | None]) -> bool:
    """Whether an objective is at its bound in every level, so that the instance is solved."""
    pairs = zip(objective, bounds, strict=True)
    return all(bound is not None and at_bound(value, bound) for value, bound in pairs)


def bound_from_data(data: Mapping[str, Any] | None) -> Bound | None:
    """Undo `Bound.to_data`."""
    return Bound(number_from_data(data), data["kind"], data["method"]) if data else None


def number_to_data(number: Number | float) -> JsonObject:
    """Return ``{"value": x}``, with ``"exact": "p/q"`` where a double cannot hold it."""
    if isinstance(number, Fraction) and Fraction(float(number)) != number:
        return {"value": float(number), "exact": str(number)}
    return {"value": float(number) if isinstance(number, Fraction) else number}


def number_from_data(data: Mapping[str, Any]) -> Number | float:
    """Undo `number_to_data`."""
    if "exact" in data:
        return Fraction(data["exact"])
    value: float | int = data["value"]
    if type(value) not in (int, float):
        raise TypeError(f"{value!r} is no number")
    return value

"""What is said about a solution: levels, status, violations, bounds, gaps, results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from dlsched.schema import Number, Solution

T = TypeVar("T")
U = TypeVar("U")

SOLVER_PRECISION = 1e-9
"""Relative error up to which a solver's floating-point figure is taken to be right."""
TOLERANCE = 1e-6
"""Relative difference at which a floating-point claim still agrees with the exact value."""


class Status(StrEnum):
    """How far a method got; there is no other value, and no default."""

    OPTIMAL = "optimal"
    """Proved within the gap that was asked for; the result states the gap achieved."""
    FEASIBLE = "feasible"
    """There is a solution; nothing is proved about it beyond the bound, if there is one."""
    INFEASIBLE = "infeasible"
    """Proved: there is no solution. The reason says why."""
    UNBOUNDED = "unbounded"
    """Proved: there are solutions as good as one likes."""
    NO_SOLUTION = "no solution"
    """Stopped before one was found; the bound is kept."""


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
        return bool(a < b) if self.sense == "min" else bool(a > b)


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

    def __repr__(self) -> str:
        """Show name=entry pairs."""
        pairs = (f"{level.name}={_brief(entry)}" for level, entry in self.pairs())
        return f"({', '.join(pairs)})"

    def pairs(self) -> Iterable[tuple[Level, T]]:
        """Iterate over (level, entry)."""
        return zip(self.levels, self, strict=True)

    def as_dict(self) -> dict[str, T]:
        """Return {level name: entry}."""
        return {level.name: entry for level, entry in zip(self.levels, self, strict=True)}

    def map(self, f: Callable[[T], U]) -> ByLevel[U]:
        """Return the same levels with `f` applied to each entry."""
        return ByLevel(self.levels, map(f, self))

    def better_than(self, other: Sequence[Any]) -> bool:
        """Whether this is lexicographically better than `other`, by the levels' senses."""
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
    solver that suggested it, ``"claimed"`` if a solver's word is all there is. ``method`` says how.
    """

    value: Number | float
    kind: Literal["certified", "claimed"]
    method: str

    def __str__(self) -> str:
        """Show value and kind."""
        return f"{_brief(self.value)} ({self.kind}, {self.method})"


Bounds: TypeAlias = ByLevel["Bound | None"]


def relative_gap(value: Number | float, bound: Number | float) -> float:
    """Return |value - bound| / max(|value|, |bound|), and 0 when both are 0."""
    if value == bound:
        return 0.0
    if isinstance(value, float) or isinstance(bound, float):
        largest = max(abs(float(value)), abs(float(bound)))
        # An exact number below the least double is not 0, but its double is.
        return abs(float(value) - float(bound)) / largest if largest else 1.0
    a, b = Fraction(value), Fraction(bound)
    return float(abs(a - b) / max(abs(a), abs(b)))


def gap(objective: Sequence[Any], bounds: ByLevel[Any]) -> ByLevel[float | None]:
    """Return the gap per level; ``None`` where it has no meaning.

    A level's gap is stated only if there is a bound and every earlier level is at its bound. A
    bound that is a solver's floating-point figure is known to nine digits: to be at it, these
    must agree.
    """
    gaps: list[float | None] = []
    known = True
    for value, bound in zip(objective, bounds, strict=True):
        goal = bound.value if isinstance(bound, Bound) else bound
        gaps.append(relative_gap(value, goal) if known and bound is not None else None)
        known = known and bound is not None and at_bound(value, bound)
    return ByLevel(bounds.levels, gaps)


def at_bound(value: Number | float, bound: Bound | Number | float) -> bool:
    """Whether a value is at a bound: equal, or to nine digits unless the bound is a whole number.

    Solvers' figures are floating-point numbers, and so are the duals that certificates rest on.
    """
    if value == bound or not isinstance(bound, Bound):
        return value == bound
    near = relative_gap(value, bound.value) <= 3 * SOLVER_PRECISION
    return value == bound.value or (not isinstance(bound.value, int) and near)


def closed(objective: Sequence[Any], bounds: ByLevel[Bound | None]) -> bool:
    """Whether an objective is at its bound in every level, so that the instance is solved."""
    pairs = zip(objective, bounds, strict=True)
    return all(bound is not None and at_bound(value, bound) for value, bound in pairs)


@dataclass(frozen=True)
class Violation:
    """One broken requirement.

    Attributes
    ----------
    kind
        Name of the requirement, the same for every instance; tests and tables group by it.
    where
        Path in the solution or instance, as ``workers.A``.
    message
        In the instance's words.
    amount
        By how much, in the requirement's own unit.
    """

    kind: str
    where: str
    message: str
    amount: Number = 1


@dataclass(frozen=True)
class Report:
    """What the checker says of a solution.

    ``objective`` is what the solution is worth if all its references resolve, also when it is
    infeasible; ``details`` holds further figures of the problem. ``gap`` is to the bound that
    `verify` was given or that the library records for the instance.
    """

    violations: tuple[Violation, ...]
    objective: Objective | None
    details: Mapping[str, Number | float] = field(default_factory=dict)
    gap: ByLevel[float | None] | None = None

    @property
    def feasible(self) -> bool:
        """Whether nothing is violated."""
        return not self.violations

    def __bool__(self) -> bool:
        """Whether the solution is feasible."""
        return self.feasible


class Point(NamedTuple):
    """The state of a search after some seconds; ``None`` where there is nothing yet."""

    seconds: float
    objective: float | None
    bound: float | None


class Seconds(NamedTuple):
    """Wall-clock seconds by phase; ``total`` includes what no phase claims."""

    build: float
    solve: float
    check: float
    total: float


class Start(NamedTuple):
    """Whether a start solution was used, and why."""

    accepted: bool
    reason: str


@dataclass(frozen=True)
class Claim:
    """What a method says of its own work, before it is judged; see `Result` for the fields."""

    solution: Solution | None = None
    status: Status = Status.FEASIBLE
    reason: str = ""
    objective: Sequence[Number | float] | None = None
    bounds: Sequence[Sequence[Bound]] = ()
    """For each level, any bounds known; the judge keeps the strongest of each kind."""
    solver_message: str = ""
    solver: str | None = None
    solver_version: str | None = None
    build_seconds: float = 0.0
    start: Start | None = None


@dataclass(frozen=True)
class Result:
    """What a method returned, judged by the checker.

    Attributes
    ----------
    status, reason, solver_message
        How far it got; why it stopped or failed, in a sentence; the solver's raw words.
    solution, objective
        Checked; both ``None`` if there is no solution.
    bound, gap
        Per level the strongest bound, and the distance to it.
    certified
        Per level the strongest bound that was re-checked; it may be weaker than ``bound``.
    seconds
        Wall-clock seconds: build, solve, check, total.
    trajectory
        (seconds, objective, bound) along the search, of the level being solved.
    start
        Whether the start solution was accepted, and why; ``None`` if there was none.
    """

    problem: str
    instance: str
    instance_sha256: str
    method: str
    kind: str
    status: Status
    reason: str
    solution: Solution | None
    objective: Objective | None
    bound: Bounds
    certified: Bounds
    gap: ByLevel[float | None]
    seconds: Seconds
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict)
    details: Mapping[str, Number | float] = field(default_factory=dict)
    trajectory: tuple[Point, ...] = ()
    start: Start | None = None
    solver: str | None = None
    solver_version: str | None = None
    solver_message: str = ""

    def gap_to(self, bound: ByLevel[Any]) -> ByLevel[float | None]:
        """Return this solution's gap to another result's bound or objective.

        Raises
        ------
        ValueError
            If there is no solution.
        """
        if self.objective is None:
            raise ValueError(f"{self.method} has no solution to compare: {self.reason}")
        return gap(self.objective, bound)

    def to_json(self) -> str:
        """Return JSON text; `dlsched.read_result` is its inverse."""
        from dlsched.records import dump_result

        return dump_result(self)

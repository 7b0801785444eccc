"""Integer forms: linear programs whose every coefficient is an integer.

A form is what a proof is about. Its rows are valid for every solution of the instance, and its
levels are, in integers, the objective of the instance or a bound on it.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple

from dlsched.proofs.forms.parameters import Parameters
from dlsched.schema.quantities import Number

MOST_NODES = 200_000
"""Nodes after which a search goes on to the next form."""
ROUNDING = Fraction(1, 10**12)
"""Error of the costs of a level that is not exact, relative to its value.

Such costs were rounded outward from doubles. A double that is a whole number may itself have been
rounded to it, and one computed in several steps has an error of some units in the last place.
"""


@dataclass(frozen=True)
class Row:
    """``low <= sum of coefficients[j] x_j <= high``; an end that is None does not bind.

    All of a row's integers are its data times ``2**bits``.
    """

    coefficients: Mapping[int, int]
    low: int | None
    high: int | None
    bits: int = 0


@dataclass(frozen=True)
class Goal:
    """One level: minimize ``unit * (sum of costs[j] x_j + offset)``; maximize, if ``sign`` is -1.

    Attributes
    ----------
    costs, offset
        Integers, of the level times ``sign``: they are minimized at every level.
    unit
        What one is; positive.
    exact
        Whether the level is exactly this, at every solution. Otherwise it is no less than this
        (no more, if maximized), because coefficients were rounded so.
    """

    name: str
    sign: Literal[1, -1]
    costs: Mapping[int, int]
    offset: int
    unit: Fraction
    exact: bool

    def steps(self, value: Number) -> Fraction:
        """Return what ``sum of costs[j] x_j`` is at a value of the level."""
        return self.sign * Fraction(value) / self.unit - self.offset

    def row(self, value: Number, whole: bool) -> Row:
        """Return a row that every solution satisfies whose level has this value.

        With `whole`, all columns with costs are integers, and so is what they cost.

        Raises
        ------
        ValueError
            If no solution can have the value.
        """
        steps = self.steps(value)
        if whole and self.exact and steps.denominator > 1:
            raise ValueError(f"no point of the form has {self.name} = {value}")
        if not self.exact:
            steps += ROUNDING * abs(Fraction(value)) / self.unit
        high = math.floor(steps) if whole else math.ceil(steps)
        return Row(self.costs, math.floor(steps) if self.exact else None, high)


@dataclass(frozen=True)
class Form:
    """Columns ``lower <= x <= upper``, some integer; rows; and the levels of the objective.

    Attributes
    ----------
    name
        How it is derived from the instance.
    lower, upper
        Integers; every column is bounded.
    integer
        Whether a column's values are integers.
    first
        Columns that a search had better split before others; they are not part of what is proved.
    """

    name: str
    lower: Sequence[int]
    upper: Sequence[int]
    integer: Sequence[bool]
    rows: Sequence[Row]
    goals: Sequence[Goal]
    first: frozenset[int] = frozenset()

    def whole(self, columns: Iterable[int]) -> bool:
        """Whether all of some columns are integers."""
        return all(self.integer[j] for j in columns)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 digest of everything above but `first`."""
        data = {
            "name": self.name,
            "columns": [self.lower, self.upper, [int(flag) for flag in self.integer]],
            "rows": [[sorted(r.coefficients.items()), r.low, r.high, r.bits] for r in self.rows],
            "goals": [
                [g.name, g.sign, sorted(g.costs.items()), g.offset, str(g.unit), int(g.exact)]
                for g in self.goals
            ],
        }
        text = json.dumps(data, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


class FormChoice(NamedTuple):
    """A form that a search tries, what it is derived from, and when to give it up.

    With more than ``nodes`` nodes, the search goes on to the next form.
    """

    form: str
    parameters: Mapping[str, Any] = {}
    nodes: int = MOST_NODES


@dataclass(frozen=True)
class Restricted:
    """What builds a form of some solutions: all that may be as good as the targets at a level.

    ``build(instance, parameters, level, targets)`` leaves out only what no solution uses that has
    the targets at the earlier levels and is at least as good as the target at this one.
    """

    build: Callable[[Any, Parameters, int, Sequence[Number]], Form]

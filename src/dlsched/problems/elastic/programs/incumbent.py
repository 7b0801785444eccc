"""The incumbent of `dp`, and what is proved about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np

from dlsched.problems.elastic.structures.items import OptionalItems
from dlsched.results.objective import Bound
from dlsched.results.result import Status, Termination
from dlsched.run import Run

K = TypeVar("K", bound=OptionalItems)
_ENTRY_BYTES = {"int64": 8, "object": 48}
"""Bytes of a table's entry; a Python integer is an object and a reference to it."""


@dataclass
class Incumbent(Generic[K]):
    """The best choice of items that was found, with limits, bounds and status.

    Attributes
    ----------
    memory_gib
        Largest table that is filled.
    incumbent, launched, value
        Numbers of the incumbent's items, the jobs that they launch, and their reduction in units.
    status, termination, reason
        As in `Claim`.
    bounds
        For each level, the bounds found.
    """

    items: K
    run: Run
    memory_gib: float = 2.0
    incumbent: Sequence[int] | None = None
    launched: int = -1
    value: int = 0
    status: Status = Status.FEASIBLE
    termination: Termination | None = None
    reason: str = ""
    bounds: list[list[Bound]] = field(default_factory=lambda: [[], []])

    def offer(self, chosen: Sequence[int]) -> None:
        """Make a choice of items the incumbent if it is better."""
        launched, value = self.worth(chosen)
        if self.incumbent is None or (launched, value) > (self.launched, self.value):
            self.incumbent, self.launched, self.value = chosen, launched, value
            self.run.record(float(self.items.seconds(value)), None)

    def worth(self, chosen: Sequence[int]) -> tuple[int, int]:
        """Return (jobs launched, units saved) of some items."""
        picked = np.array(chosen, dtype=np.int64)
        return int(self.items.launch[picked].sum()), sum(self.items.value[picked].tolist())

    def fits_in_memory(self, entries: int, kind: str) -> bool:
        """Whether a table may be filled; if not, the reason is recorded."""
        gib = entries * _ENTRY_BYTES[kind] / 2**30
        if gib <= self.memory_gib:
            return True
        self.termination = Termination.MEMORY_LIMIT
        self.reason = f"the table needs {gib:.1f} GiB, the limit is {self.memory_gib:g}"
        return False

    def within_gap(self, limit: int) -> bool:
        """Whether the incumbent's reduction is within the gap asked for of a bound, in units."""
        slack = Fraction(self.run.gap) * max(abs(limit), abs(self.value))  # may exceed a double
        return limit - self.value <= slack

    def prove(self, bound: Bound) -> None:
        """Record that the incumbent is optimal by a bound of level 2."""
        self.bounds[1] = [bound]
        self.status, self.termination, self.reason = Status.OPTIMAL, None, ""

    def table_bound(self) -> Bound:
        """Return the bound of level 2 by a table that the incumbent attains."""
        return Bound(self.items.seconds(self.value), "certified", "dp table")

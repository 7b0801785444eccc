"""Scaling of CPUs and memory for solvers."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from dlsched.problems.sensitivity.definition.schema import Choice, Instance
from dlsched.schema import Id, Number, granularity

_LEAST_STEP = Fraction(1, 1000)
_LARGEST = 10**6
"""Amounts of at most this size that differ by `_LEAST_STEP` are well within solvers' tolerances."""
_MOST_STEPS = 2**30
"""Upper limit of a capacity in integers: beyond it solvers' absolute tolerances are too coarse."""


class CapacityRow(NamedTuple):
    """Coefficients and limit of a capacity constraint for solvers."""

    sizes: list[float]
    limit: float


def row_unit(capacity: Number, sizes: Sequence[Number]) -> Fraction:
    """Return the divisor of a capacity constraint for solvers with absolute tolerances.

    1, unless amounts differ by less than 1/1000 or exceed a million: then their granularity. If
    the amounts are more than 2**30 multiples of that, capacity / 2**30.
    """
    amounts = [capacity, *sizes]
    step = granularity(amounts)
    if step >= _LEAST_STEP and max(amounts) <= _LARGEST:
        return Fraction(1)
    return max(step, Fraction(capacity) / _MOST_STEPS)


def pooled_rows(instance: Instance, options: Sequence[tuple[Id, Choice]]) -> list[CapacityRow]:
    """Return the CPUs of each profile's choice with those of all servers; the same of memory."""
    servers = instance.servers
    rows = []
    for name in ("cpus", "memory"):
        sizes = [instance.profiles[profile].gpus * getattr(c, name) for profile, c in options]
        rows.append(capacity_row(servers.count * getattr(servers, name), sizes))
    return rows


def capacity_row(capacity: Number, sizes: Sequence[Number]) -> CapacityRow:
    """Return a capacity constraint that everything within the capacity satisfies.

    It is exact unless the amounts are more than 2**30 multiples of their granularity: then sizes
    are rounded down, and what a solver returns may exceed the capacity, which the checker detects.
    """
    unit = row_unit(capacity, sizes)
    if unit == 1:
        return CapacityRow([float(size) for size in sizes], float(capacity))
    rounded = [float(math.floor(size / unit)) for size in sizes]
    return CapacityRow(rounded, float(math.floor(capacity / unit)))

"""What pricing is given: the profiles of a class, what to search for, and the growth tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dlsched.problems.interleaving.kernels.pricing import STEPS_PER_DOUBLING
from dlsched.problems.interleaving.structures.groups import Flags, Indices, Vector

TIME_STEPS = 20 * STEPS_PER_DOUBLING
"""Iteration times in the tables; longer times are rounded down to the last."""


class GrowthTables(NamedTuple):
    """The most that jobs add to a group's reduced value, by iteration time.

    ``suffix[p, t]`` is the most that a profile from position p on adds at the t-th time;
    ``order[t]`` has the positions by what they add, largest first, ``adds[t]`` how much; `low` is
    the first time.
    """

    suffix: Vector
    order: Indices
    adds: Vector
    low: float


class Profiles(NamedTuple):
    """The profiles of one class, by descending sum of their stages.

    ``rotated[o, p, j]`` is the stage of profile p in step j if it starts at offset o. A group is
    worth weight * gamma - fixed less its jobs' prices. Jobs of profiles p and q must not share if
    ``apart[p, q]``; without rows any may.
    """

    rotated: Vector
    sums: Vector
    prices: Vector
    multiplicity: Indices
    weight: float
    fixed: float
    smallest: int
    largest: int
    apart: Flags


class Query(NamedTuple):
    """Which groups to return.

    Attributes
    ----------
    threshold
        Groups with a reduced value at or below it are not returned.
    quota
        Most groups to return with the same first profile, the best of them.
    capacity
        Most groups of a class; if there are more, the result is not complete.
    listing
        Whether only a complete list is of use: the search ends when the capacity is exceeded, and
        the largest reduced value is then unknown.
    """

    threshold: float
    quota: int
    capacity: int
    listing: bool = False


def growth_tables(profiles: Profiles) -> GrowthTables:
    """Return what jobs add at most, for the iteration times from the least to the largest."""
    sums = profiles.sums
    n = len(profiles.sums)
    k = len(profiles.rotated)
    low = float(sums[-1]) * (1 - 1e-12)
    step = np.arange(TIME_STEPS)
    # Even steps within a doubling, as in a float's bits: a logarithm would take most of the search.
    steps = 1 + (step % STEPS_PER_DOUBLING) / STEPS_PER_DOUBLING
    times = low * 2.0 ** (step // STEPS_PER_DOUBLING) * steps
    times = times[: np.searchsorted(times, profiles.largest * sums[0], side="right")]
    # Dividing the larger by the smaller could overflow where times lie far apart.
    share = np.minimum(sums, times[:, None]) / times[:, None] * (1 + 1e-12)
    add = profiles.weight / k * share - profiles.prices
    suffix = np.full((n + 1, len(times)), -np.inf)
    suffix[:n] = np.maximum.accumulate(add[:, ::-1], axis=1)[:, ::-1].T
    order = np.argsort(-add, axis=1, kind="stable")
    return GrowthTables(suffix, order, np.take_along_axis(add, order, axis=1), low)

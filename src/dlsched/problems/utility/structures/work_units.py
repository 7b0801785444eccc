"""A job's work in whole units: exact if small integers are, otherwise rounded up or down.

A job is complete when the gains of its slots add up to its iterations. Only the set of combinations
of slots that are enough matters, and small integers often have the same set: one slot of 7 or two
of 4 iterations complete a job of 6, as 2 and 1 units complete one of 2. Such integers make the
program of pricing smaller, and the relaxation of the integer program tighter.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.utility.definition.schema import Instance
from dlsched.schema import granularity

_EXACT_INTEGERS = 2**50
"""Products of numbers below this and the most units fit 64 bits."""

Combinations: TypeAlias = NDArray[np.int64]
"""Rows of slots at each speed."""


@dataclass(frozen=True)
class Tunables:
    """Tunables of the division of work into units and stages, the same for all methods.

    Chosen by hand, such that an exact division is tried where a pass of pricing stays short; no
    figure compares other values.
    """

    units: int = 2000
    """The most units into which a job's work is divided, unless it needs nearly as many slots."""
    units_per_slot: int = 16
    """A longer job may have this many units for each slot that it needs at its fastest."""
    cells: int = 100_000_000
    """The most slots times units of a job: the size of its program."""
    fewest_units: int = 300
    """Work of large instances has fewer units, but not fewer than this."""
    pass_steps: int = 1_200_000_000
    """Then units are as many as let a pass of pricing take about this many steps."""
    finer: int = 4
    """Bounds are computed far less often than prices are tried: times as many units."""
    checked_steps: int = 50_000_000
    """A pass checks the limits after jobs that take about this many steps."""
    combinations: int = 50_000
    """With more combinations of slots to distinguish, no integers are searched for."""
    speeds: int = 4
    """With more speeds, gains are rounded all alike."""
    tightest: int = 32
    """Combinations that are tested first."""
    candidates: int = 40
    """Numbers of units that are then tested in full."""
    stages: int = 20_000
    """With more stages, work is in units that are rounded."""
    stage_sums: int = 500_000
    """With more combinations of slots, stages are not looked for."""


TUNABLES = Tunables()


@dataclass(frozen=True)
class Units:
    """Gains of a slot at each speed, and the work to be done, in whole units.

    With `exact`, a combination of slots of the horizon does the work in units if and only if it
    does the iterations.
    """

    gains: tuple[int, ...]
    need: int
    exact: bool


def units(
    gains: Sequence[Fraction],
    iterations: Fraction,
    slots: int,
    up: bool,
    most: int = TUNABLES.units,
) -> Units:
    """Return a job's work in whole units.

    Exact with the fewest units found, if at most `most` units distinguish the combinations of
    slots. Otherwise gains are rounded up, so that whatever does the iterations does the units, or
    down, so that whatever does the units does the iterations; a job that can finish at its fastest
    still can after rounding down.

    Parameters
    ----------
    gains
        Iterations of a slot at each speed, fastest first; all above 0.
    slots
        The most slots that can be used.
    """
    step = granularity(gains)
    need = int(-(-iterations // step))
    whole = [min(int(g / step), need) for g in gains]
    fewest = -(-need // whole[0])
    if fewest > slots:
        return Units((0,) * len(whole), 1, exact=True)
    if whole[-1] == whole[0]:
        return Units((1,) * len(whole), fewest, exact=True)
    limit = max(most, min(TUNABLES.units_per_slot * fewest, TUNABLES.cells // slots))
    exact = _integers(tuple(whole), need, slots, min(limit, TUNABLES.units))
    if exact is None and need <= limit:
        exact = Units(tuple(whole), need, exact=True)
    return exact or _rounded(whole, need, fewest, up, limit)


@lru_cache(maxsize=4096)
def _integers(gains: tuple[int, ...], need: int, slots: int, most: int) -> Units | None:
    """Return the fewest units, of those tested, in which the same combinations do the work."""
    both = _combinations(list(gains), need, slots)
    if both is None:
        return None
    enough, short = both
    # Tight combinations first, as most candidates fail there.
    if need < 2**1000:
        share = np.array(gains, dtype=float) / float(need)
        enough = enough[np.argsort(enough @ share, kind="stable")]
        short = short[np.argsort(-(short @ share), kind="stable")]
    counts = np.arange(1, min(most, need) + 1)
    candidates: list[tuple[int, tuple[int, ...]]] = []
    tight_enough = enough[: TUNABLES.tightest].astype(float)
    tight_short = short[: TUNABLES.tightest].astype(float)
    for table in _tables(list(gains), need, len(counts)):
        weights = table.astype(float)  # products are exact
        does_work = (tight_enough @ weights).min(axis=0, initial=1 << 60) >= counts
        falls_short = (tight_short @ weights).max(axis=0, initial=0) < counts
        fewest = np.flatnonzero(does_work & falls_short)[: TUNABLES.candidates].tolist()
        candidates += [(i + 1, tuple(table[:, i].tolist())) for i in fewest]
    for count, row in sorted(candidates)[: TUNABLES.candidates]:
        units_of = np.array(row)
        if (enough @ units_of).min(initial=count) >= count > (short @ units_of).max(initial=0):
            return Units(row, count, exact=True)
    return None


def _tables(gains: list[int], need: int, most: int) -> list[NDArray[np.int64]]:
    """Return speeds x numbers of units: the gains rounded down or up, each speed on its own.

    With more speeds than are told apart, all are rounded alike. Where combinations of slots differ
    from the work by next to nothing, some above and others below, rounding all alike may not
    separate them.
    """
    small = need < _EXACT_INTEGERS
    kind = np.int64 if small else object
    product = np.array(gains, dtype=kind)[:, None] * np.arange(1, most + 1).astype(kind)
    down = (product // need).astype(np.int64)
    up = (-(-product // need)).astype(np.int64)
    nearest = (2 * product + need) // (2 * need) if small else down
    if len(gains) > TUNABLES.speeds:
        return [down, nearest, up]
    choices = itertools.product((False, True), repeat=len(gains))
    return [np.where(np.array(choice)[:, None], up, down) for choice in choices]


def _combinations(
    gains: list[int], need: int, slots: int
) -> tuple[Combinations, Combinations] | None:
    """Return combinations of slots that do the work, with all minimal ones, and those that do not,
    with all maximal ones; ``None`` if they are too many.
    """  # fmt: skip
    heads = np.zeros((1, 0), dtype=np.int64)
    small = need < _EXACT_INTEGERS
    done = np.zeros(1, dtype=np.int64 if small else object)
    for gain in gains[:-1]:
        most = min(slots, -(-need // gain))
        if len(heads) * (most + 1) > TUNABLES.combinations:
            return None
        count = np.arange(most + 1)
        total = done[:, None] + gain * (count if small else count.astype(object))[None, :]
        used = heads.sum(axis=1)[:, None] + count[None, :]
        # A minimal combination exceeds the work by less than a slot.
        keep = (np.asarray(total < need + gains[0], dtype=bool)) & (used <= slots)
        head, slots_of_speed = np.nonzero(keep)
        heads = np.column_stack([heads[head], count[slots_of_speed]])
        done = total[keep]
    last = gains[-1]
    left = slots - heads.sum(axis=1)
    over = np.asarray(done >= need, dtype=bool)
    more = np.where(over, 0, -((done - need) // last))  # slots of the last speed that do it
    possible = np.asarray(more <= left, dtype=bool)
    enough = np.column_stack([heads[possible], more[possible].astype(np.int64)])
    fewer = np.minimum(left[~over], (need - 1 - done[~over]) // last)
    short = np.column_stack([heads[~over], fewer.astype(np.int64)])
    return enough, short


def _rounded(gains: list[int], need: int, fewest: int, up: bool, most: int) -> Units:
    """Return rounded gains, at the number of units where rounding changes them least."""
    if most < 2 * fewest:  # too long a job: every slot counts as one of the fastest, or not at all
        row = (1,) * len(gains) if up else tuple(int(g == gains[0]) for g in gains)
        return Units(row, fewest, exact=False)
    counts = np.arange(max(1, most // 4), most + 1)
    share = np.array([float(Fraction(g, need)) for g in gains])[:, None]
    shares = share * counts
    rounded = np.ceil(shares) if up else np.floor(shares)
    slots = np.array([float(min(-(-need // g), 1 << 60)) for g in gains])[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.abs(rounded / np.maximum(shares, 1e-300) - 1).max(axis=0)
        wrong = np.ceil(counts / rounded) != slots
    # First of all, each speed alone should take as many slots as exactly, above all the fastest.
    off = np.minimum(off, 1.0) + 2.0 ** np.arange(len(gains), 0, -1) @ wrong
    n = int(counts[int(off.argmin())])
    scaled = [-(-g * n // need) if up else g * n // need for g in gains]
    return Units(tuple(scaled), n, exact=False)


def exact_units(instance: Instance, j: int) -> Units:
    """Return a job's work in the units of its gains; with gains rounded down if they are too many.

    Unlike those of `units` they may be any number below `_EXACT_INTEGERS`.
    """
    job = instance.jobs[j]
    gains = [Fraction(speed.gain) for speed in instance.speeds[j]]
    step = granularity(gains)
    need = int(-(-job.iterations // step))
    if need <= _EXACT_INTEGERS:
        return Units(tuple(min(need, int(gain / step)) for gain in gains), need, exact=True)
    return units(gains, Fraction(job.iterations), instance.slots - job.arrival + 1, up=False)

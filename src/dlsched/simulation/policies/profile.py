"""Reservations of jobs, one after another, in the profile of the GPUs that will be free."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
NEVER = np.iinfo(np.int64).max // 2
"""The end of the last stretch of a profile."""


def earliest_starts(
    now: int, free: int, times: Ints, released: Ints, gpus: Ints, lengths: Ints
) -> Ints:
    """Return the earliest start of each job that delays no job before it.

    Once no GPU is left now, the starts of the jobs that follow are not computed: they are `NEVER`.

    Parameters
    ----------
    free
        GPUs that are free now.
    times, released
        When GPUs become free, ascending, and how many.
    gpus, lengths
        What each job needs, in the order of precedence.
    """
    moments, places = np.unique(np.append(now, times), return_inverse=True)
    change = np.zeros(len(moments), np.int64)
    np.add.at(change, places, np.append(free, released))
    begins = moments.tolist()
    levels = np.cumsum(change).tolist()
    starts = np.full(len(gpus), NEVER, np.int64)
    for j, (need, length) in enumerate(zip(gpus.tolist(), lengths.tolist(), strict=True)):
        if not levels[0]:
            break
        starts[j] = _reserve(begins, levels, need, length)
    return starts


def _reserve(begins: list[int], levels: list[int], need: int, length: int) -> int:
    """Take GPUs of the first stretches that suffice; return when they begin.

    The lists have when each stretch of the profile begins, and how many GPUs are free in it.
    """
    first = 0
    while True:
        while levels[first] < need:
            first += 1
            if first == len(levels):
                return NEVER
        end = begins[first] + length
        last = first
        while last < len(levels) and begins[last] < end and levels[last] >= need:
            last += 1
        if last == len(levels) or begins[last] >= end:
            break
        first = last
    if last == len(levels) or begins[last] > end:
        begins.insert(last, end)
        levels.insert(last, levels[last - 1])
    for i in range(first, last):
        levels[i] -= need
    return begins[first]

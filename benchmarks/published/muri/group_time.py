"""The iteration time of jobs that share GPUs, as the published simulator computes it.

Its jobs have three recorded stages: loading, GPU work and network. An iteration has four slots; the
loading stage spans two of them. The simulator runs two iterations of the group's cycle and takes
the time of the last one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

from published.muri.jobs import SLOWER

Stages = Sequence[float]
SLOTS = 4
LOAD, GPU, NETWORK = range(3)
SHARING = {1: 1.0, 2: 1.33 / SLOWER, 3: 1.5 / SLOWER, 4: 1.37 / SLOWER}
"""Factor of a group's time by its number of jobs, as measured by the authors (public code)."""
SHARING_UNMATCHED = SHARING | {4: 1.3 / SLOWER}
"""The factors that the variant without Blossom uses."""
STEADY = 1e-3
"""The cycle's time is taken as soon as it changes by no more than this share."""


def arrangement_times(stages: Sequence[Stages]) -> list[float]:
    """Return the seconds of an iteration of two or more jobs in every order of theirs.

    For two jobs there is one more arrangement: each loads while the other computes.
    """
    times = [cycle_time(order) for order in permutations(stages)]
    if len(stages) == 2:
        a, b = stages
        times.append(max(a[LOAD], b[GPU] + b[NETWORK]) + max(b[LOAD], a[GPU] + a[NETWORK]))
    return times


def cycle_time(order: Sequence[Stages]) -> float:
    """Return the seconds of an iteration in which the jobs take turns in this order."""
    ends = [0.0] * (2 * SLOTS + 1)
    for slot in range(2 * SLOTS):
        end = 0.0
        network, gpu, load = ((slot + ahead) % SLOTS for ahead in (1, 2, 3))
        if network < len(order):
            end = max(end, ends[slot] + order[network][NETWORK])
        if gpu < len(order):
            end = max(end, ends[slot] + order[gpu][GPU])
        if slot and load < len(order):
            end = max(end, ends[slot - 1] + order[load][LOAD])
        ends[slot + 1] = end
        if slot >= SLOTS:
            now, before = end - ends[slot - 3], ends[slot] - ends[slot - 4]
            if math.isclose(now, before, rel_tol=STEADY) and now > 0:
                return now
    return ends[-1] - ends[-1 - SLOTS]

"""The GPUs of utility's machines as lanes, and the job that holds each of them in each slot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.utility.definition.schema import Instance, Solution


class Lane(NamedTuple):
    """One GPU."""

    machine: str
    kind: str
    number: int


def last_slot(instance: Instance, *solutions: Solution) -> int:
    """Return the last slot in which anything runs in some solutions, or that of the instance."""
    runs = [held for s in solutions for job in s.schedule.values() for held in job]
    return max((held.slot for held in runs), default=instance.slots)


def owners_of(
    instance: Instance, solution: Solution, lanes: Sequence[Lane], last: int
) -> NDArray[np.int64]:
    """Return for each lane and slot up to the last the position of the job that holds it, or -1.

    A job stays on the GPUs that it held in the slot before, as far as it holds as many.
    """
    schedule = solution.schedule
    owners = np.full((len(lanes), last), -1)
    pools: dict[tuple[str, str], list[int]] = {}
    for i, lane in enumerate(lanes):
        pools.setdefault((lane.machine, lane.kind), []).append(i)
    wanted: dict[tuple[int, str, str], dict[int, int]] = {}
    for j, job in enumerate(instance.jobs):
        for held in schedule.get(job.id, ()):
            for machine, kinds in held.gpus.items():
                for kind, count in kinds.items():
                    wanted.setdefault((held.slot, machine, kind), {})[j] = count
    for (slot, machine, kind), counts in sorted(wanted.items()):
        free, before = list(pools.get((machine, kind), ())), owners[:, slot - 2]
        for j in counts if slot > 1 else ():
            for kept in [i for i in free if before[i] == j][: counts[j]]:
                owners[kept, slot - 1] = j
                free.remove(kept)
        for j, count in counts.items():
            placed = sum(owners[i, slot - 1] == j for i in pools.get((machine, kind), ()))
            for new in free[: count - placed]:
                owners[new, slot - 1] = j
            free = free[count - placed :]
    return owners


def runs_of(row: NDArray[np.int64]) -> Iterator[tuple[int, int, int]]:
    """Yield (job, first slot, number of slots) of each run of one job in a lane, slots from 0."""
    first = 0
    for job, slots in groupby(row.tolist()):
        count = len(list(slots))
        if job >= 0:
            yield job, first, count
        first += count

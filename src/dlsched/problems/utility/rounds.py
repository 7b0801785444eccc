"""Round by round: what a scheduler that decides slot by slot makes of an instance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from dlsched.problems.utility.schema import Held, Instance, Solution
from dlsched.schema import Number

Grants: TypeAlias = Mapping[int, Mapping[str, Mapping[str, int]]]
"""For each job that runs in a slot its GPUs: machine, type, number."""


class Rounds:
    """The state that policies see.

    Attributes
    ----------
    slot
        The slot to decide, from 1.
    left
        Iterations left, by job.
    attained
        GPU slots held so far, by job.
    started
        The first slot held, by job; not there before it.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.slot = 1
        self.left: list[Number] = [job.iterations for job in instance.jobs]
        self.attained = [0] * len(instance.jobs)
        self.started: dict[int, int] = {}

    @property
    def queue(self) -> list[int]:
        """Jobs that have arrived, are not finished, and can run at all, by arrival."""
        jobs = self.instance.jobs
        waiting = [
            j
            for j, job in enumerate(jobs)
            if job.arrival <= self.slot and self.left[j] > 0 and self.instance.speeds[j]
        ]
        return sorted(waiting, key=lambda j: jobs[j].arrival)

    def slots_left(self, job: int, speed: int = 0) -> int:
        """Return the slots that a job needs at one of its speeds."""
        return int(-(-self.left[job] // self.instance.speeds[job][speed].gain))

    def run(
        self,
        policy: Callable[[Rounds], Grants],
        method: str,
        stop: Callable[[], str | None] = lambda: None,
    ) -> Solution:
        """Play all slots, or until there is a reason to stop, and return the schedule."""
        inst = self.instance
        rows: dict[str, list[Held]] = {}
        for self.slot in range(1, inst.slots + 1):
            if stop():
                break
            for j, gpus in policy(self).items():
                job = inst.jobs[j]
                slowest = min(inst.rate(job, kind) for kinds in gpus.values() for kind in kinds)
                self.left[j] -= inst.gain(job, slowest)
                self.attained[j] += job.workers
                self.started.setdefault(j, self.slot)
                rows.setdefault(job.id, []).append(Held(slot=self.slot, gpus=gpus))
        return Solution(
            schedule={name: tuple(held) for name, held in rows.items()},
        )


def take(instance: Instance, job: int, free: dict[str, int]) -> dict[str, int] | None:
    """Take a gang's GPUs, by type, at the fastest speed that is free; ``None`` if none is.

    Of the types that are fast enough the slowest go first, as faster ones would not help.
    """
    owner = instance.jobs[job]
    for speed in instance.speeds[job]:
        if sum(free[kind] for kind in speed.types) >= owner.workers:
            order = sorted(speed.types, key=lambda k: (owner.rates[k], k))
            return grab(free, order, owner.workers)
    return None


def grab(free: dict[str, int], order: list[str], need: int) -> dict[str, int]:
    """Take GPUs from these types in turn."""
    taken: dict[str, int] = {}
    for kind in order:
        count = min(need, free[kind])
        if count:
            taken[kind] = count
            free[kind] -= count
            need -= count
    return taken

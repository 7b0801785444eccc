"""Round by round: what a scheduler that decides slot by slot makes of an instance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from dlsched.problems.utility.gangs import place
from dlsched.problems.utility.schema import Held, Instance, Solution
from dlsched.schema import Number

Grants: TypeAlias = Mapping[int, Mapping[str, int]]
"""For each job that runs in a slot the GPUs of each type."""


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
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.slot = 1
        self.left: list[Number] = [job.iterations for job in instance.jobs]
        self.attained = [0] * len(instance.jobs)

    @property
    def queue(self) -> list[int]:
        """Jobs that have arrived, are not finished, and can run at all."""
        return [
            j
            for j, job in enumerate(self.instance.jobs)
            if job.arrival <= self.slot and self.left[j] > 0 and self.instance.speeds[j]
        ]

    def slots_left(self, job: int, speed: int = 0) -> int:
        """Return the slots that a job needs at one of its speeds."""
        return int(-(-self.left[job] // self.instance.speeds[job][speed].gain))

    def take(self, free: dict[str, int], job: int) -> dict[str, int] | None:
        """Take a gang's GPUs at the fastest speed there is room for; ``None`` if there is none.

        Of the types that are fast enough the slowest go first, as faster ones would not help.
        """
        need = self.instance.jobs[job].workers
        for speed in self.instance.speeds[job]:
            if sum(free[kind] for kind in speed.types) >= need:
                rate = self.instance.jobs[job].rates
                return grab(free, sorted(speed.types, key=lambda k: (rate[k], k)), need)
        return None

    def run(self, policy: Callable[[Rounds], Grants], method: str) -> Solution:
        """Play all slots and return the schedule."""
        inst = self.instance
        rows: dict[str, list[Held]] = {}
        for self.slot in range(1, inst.slots + 1):
            grants = policy(self)
            for j, gpus in place(inst, grants).items():
                job = inst.jobs[j]
                slowest = min(inst.rate(job, kind) for kind in grants[j])
                self.left[j] -= inst.gain(job, slowest)
                self.attained[j] += job.workers
                rows.setdefault(job.id, []).append(Held(slot=self.slot, gpus=gpus))
        return Solution(
            instance=inst.name,
            instance_sha256=inst.sha256,
            method=method,
            schedule={name: tuple(held) for name, held in rows.items()},
        )


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

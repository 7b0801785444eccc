"""Simulation of a policy that decides slot by slot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from dlsched.problems.utility.definition.check import progress
from dlsched.problems.utility.definition.schema import Held, Instance, Solution
from dlsched.problems.utility.structures.gangs import Stop
from dlsched.schema import Number

Grants: TypeAlias = Mapping[int, Mapping[str, Mapping[str, int]]]
"""For each job that runs in a slot its GPUs: machine, type, number."""


class Rounds:
    """The state on which policies decide.

    Attributes
    ----------
    slot
        The slot to decide, from 1.
    left
        Iterations left, by job.
    attained
        GPU slots held so far, by job.
    started
        The first slot held, by job; jobs that have not started have no entry.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.slot = 1
        self.left: list[Number] = [job.iterations for job in instance.jobs]
        self.attained = [0] * len(instance.jobs)
        self.started: dict[int, int] = {}
        self._slots_left: dict[int, list[int]] = {}

    @property
    def queue(self) -> list[int]:
        """Jobs that have arrived, are not finished, and have a speed, in the order of arrival."""
        jobs = self.instance.jobs
        waiting = [
            j
            for j, job in enumerate(jobs)
            if job.arrival <= self.slot and self.left[j] > 0 and self.instance.speeds[j]
        ]
        return sorted(waiting, key=lambda j: jobs[j].arrival)

    def slots_left(self, job: int) -> list[int]:
        """Return the slots that a job needs at each of its speeds."""
        if job not in self._slots_left:
            speeds = self.instance.speeds[job]
            self._slots_left[job] = [int(-(-self.left[job] // speed.gain)) for speed in speeds]
        return self._slots_left[job]

    def run(self, policy: Callable[[Rounds], Grants], stop: Stop = lambda: None) -> Solution:
        """Simulate slot after slot, until there is a reason to stop, and return the schedule."""
        inst = self.instance
        rows: dict[str, list[Held]] = {}
        for self.slot in range(1, inst.slots + 1):
            if stop():
                break
            for j, gpus in policy(self).items():
                job, held = inst.jobs[j], Held(slot=self.slot, gpus=gpus)
                self.left[j] -= progress(inst, job, held)
                self._slots_left.pop(j, None)
                self.attained[j] += job.workers
                self.started.setdefault(j, self.slot)
                rows.setdefault(job.id, []).append(held)
        return Solution(schedule={name: tuple(held) for name, held in rows.items()})

"""Policies of the comparators: what runs in the next slot, decided slot by slot."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dlsched.problems.utility.gangs import place
from dlsched.problems.utility.rounds import Grants, Rounds, grab, take
from dlsched.problems.utility.schema import Instance


def listed(order: Callable[[Rounds, list[int]], Iterable[int]]) -> Callable[[Rounds], Grants]:
    """Return the policy that gives GPUs to jobs in an order, each as fast as it can be.

    Jobs are preempted, and one that does not fit is passed over.
    """

    def policy(rounds: Rounds) -> Grants:
        free, counts = dict(rounds.instance.supply), {}
        for j in order(rounds, rounds.queue):
            taken = take(rounds.instance, j, free)
            if taken:
                counts[j] = taken
        return place(rounds.instance, counts)

    return policy


def least_attained(rounds: Rounds) -> Grants:
    """Least attained service in GPU slots first; GPUs of the types of which most are free."""
    instance = rounds.instance
    free, counts = dict(instance.supply), {}
    for j in sorted(rounds.queue, key=lambda j: rounds.attained[j]):
        job = instance.jobs[j]
        usable = sorted(instance.speeds[j][-1].types, key=lambda k: (-free[k], k))
        if sum(free[k] for k in usable) >= job.workers:
            counts[j] = grab(free, usable, job.workers)
    return place(instance, counts)


def two_queues(threshold: float) -> Callable[[Rounds], Grants]:
    """Return Tiresias's policy: two queues by attained service, first started first in each.

    A job moves to the second queue when it has attained `threshold` GPU seconds, and never back.
    Its gang gets GPUs of one type, that of which most are free: Tiresias does not know types, and
    does not mix them (section IV-B: it leaves GPUs unused as Gavel does).
    """

    def policy(rounds: Rounds) -> Grants:
        instance = rounds.instance
        free, counts = dict(instance.supply), {}

        def rank(j: int) -> tuple[bool, int, int]:
            service = rounds.attained[j] * instance.slot_seconds
            first = rounds.started.get(j, instance.slots + 1)
            return service >= threshold, first, instance.jobs[j].arrival

        for j in sorted(rounds.queue, key=rank):
            need = instance.jobs[j].workers
            enough = [k for k in instance.speeds[j][-1].types if free[k] >= need]
            if enough:
                kind = min(enough, key=lambda k: (-free[k], k))
                counts[j] = grab(free, [kind], need)
        return place(instance, counts)

    return policy


class CapacityQueue:
    """YARN-CS: first come first served without preemption; the head of the queue blocks.

    A job keeps its GPUs until it is complete. Types are not told apart: a gang gets GPUs that it
    can use wherever most are free, of several types if need be.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.running: dict[int, dict[str, dict[str, int]]] = {}

    def __call__(self, rounds: Rounds) -> Grants:
        """Return the running jobs, and those that start now."""
        instance, queue = self.instance, rounds.queue
        self.running = {j: gpus for j, gpus in self.running.items() if rounds.left[j] > 0}
        left = [dict(machine.gpus) for machine in instance.machines]
        for gpus in self.running.values():
            for name, kinds in gpus.items():
                for kind, count in kinds.items():
                    left[instance.machine_index[name]][kind] -= count
        for j in queue:
            if j in self.running:
                continue
            free = {k: sum(gpus.get(k, 0) for gpus in left) for k in instance.supply}
            usable = sorted(instance.speeds[j][-1].types, key=lambda k: (-free[k], k))
            need = instance.jobs[j].workers
            if sum(free[k] for k in usable) < need:
                break
            self.running |= place(instance, {j: grab(free, usable, need)}, left)
        return dict(self.running)

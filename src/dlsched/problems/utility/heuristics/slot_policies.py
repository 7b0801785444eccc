"""Policies of the comparators: which jobs run in the next slot, on which GPUs."""

from collections.abc import Callable

from dlsched.problems.utility.definition.schema import Instance
from dlsched.problems.utility.structures.machines import free_gpus, place, take
from dlsched.problems.utility.structures.slot_simulation import Grants, Rounds


def shortest_first(rounds: Rounds) -> Grants:
    """Give jobs GPUs by remaining time, shortest first, each at its fastest possible speed.

    Of the types that are fast enough the slowest are taken first. Jobs are preempted; a job that
    does not fit is skipped.
    """
    instance, counts = rounds.instance, {}
    free = dict(instance.supply)
    for j in sorted(rounds.queue, key=lambda j: rounds.slots_left(j)[0]):
        job = instance.jobs[j]
        for speed in instance.speeds[j]:
            if sum(free[kind] for kind in speed.types) >= job.workers:
                order = [kind for _, kind in sorted((job.rates[k], k) for k in speed.types)]
                counts[j] = take(free, order, job.workers)
                break
    return place(instance, counts, free_gpus(instance))


def most_free(instance: Instance, job: int, free: dict[str, int]) -> list[str]:
    """Return the types that a job can use, those with the most free GPUs first."""
    return sorted(instance.speeds[job][-1].types, key=lambda k: (-free[k], k))


def two_queues(threshold: float) -> Callable[[Rounds], Grants]:
    """Return Tiresias's policy: two queues by attained service, first started first in each.

    A job moves to the second queue when it has attained `threshold` GPU seconds, and never back.
    Its gang gets GPUs of one type, that with the most free ones: Tiresias does not distinguish
    types, and does not mix them (section IV-B: it leaves GPUs unused as Gavel does).
    """

    def policy(rounds: Rounds) -> Grants:
        instance = rounds.instance
        free = dict(instance.supply)
        counts = {}

        def rank(j: int) -> tuple[bool, int, int]:
            service = rounds.attained[j] * instance.slot_seconds
            first = rounds.started.get(j, instance.slots + 1)
            return service >= threshold, first, instance.jobs[j].arrival

        for j in sorted(rounds.queue, key=rank):
            need = instance.jobs[j].workers
            kind = most_free(instance, j, free)[0]
            if free[kind] >= need:
                counts[j] = take(free, [kind], need)
        return place(instance, counts, free_gpus(instance))

    return policy


class CapacityQueue:
    """YARN-CS: first come first served without preemption; the head of the queue blocks.

    A job keeps its GPUs until it is complete. Types are not distinguished: a gang gets GPUs of the
    types that it can use with the most free ones, of several types if needed.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.running: dict[int, dict[str, dict[str, int]]] = {}

    def __call__(self, rounds: Rounds) -> Grants:
        """Return the running jobs, and those that start now."""
        instance = self.instance
        self.running = {j: gpus for j, gpus in self.running.items() if rounds.left[j] > 0}
        left = free_gpus(instance)
        for gpus in self.running.values():
            for name, kinds in gpus.items():
                for kind, count in kinds.items():
                    left[kind][instance.machine_index[name]] -= count
        for j in rounds.queue:
            if j in self.running:
                continue
            free = {kind: sum(counts) for kind, counts in left.items()}
            usable = most_free(instance, j, free)
            need = instance.jobs[j].workers
            if sum(free[k] for k in usable) < need:
                break
            self.running |= place(instance, {j: take(free, usable, need)}, left)
        return dict(self.running)

"""Brute force for utility."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from dlsched.problems.utility.check import completions, evaluate
from dlsched.problems.utility.schema import Held, Instance, Job
from dlsched.result import Objective

_Slot = dict[str, dict[str, int]]


def utility(instance: Instance) -> Objective | None:
    """Return the optimum over all that jobs can hold in every slot; ``None`` if there is none.

    For about three jobs, three slots and four GPUs.
    """
    best: Objective | None = None
    options = {job.id: list(_slots(instance, job)) for job in instance.jobs}
    choices = [
        [option for option in product(*(_of_slot(instance, j, t, options) for j in instance.jobs))
         if _fits(instance, option)]
        for t in range(1, instance.slots + 1)
    ]  # fmt: skip
    for plan in product(*choices):
        schedule = {
            job.id: tuple(
                Held(slot=t, gpus=row[j]) for t, row in enumerate(plan, start=1) if row[j]
            )
            for j, job in enumerate(instance.jobs)
        }
        done = completions(instance, schedule)
        if instance.must_finish and len(done) < len(instance.jobs):
            continue
        worth = evaluate(instance, schedule)
        if best is None or worth.better_than(best):
            best = worth
    return best


def _of_slot(
    instance: Instance, job: Job, slot: int, options: dict[str, list[_Slot]]
) -> list[_Slot]:
    return options[job.id] if slot >= job.arrival else [{}]


def _slots(instance: Instance, job: Job) -> Iterator[_Slot]:
    """Yield what a job can hold in a slot, nothing included."""
    places = [
        (machine.id, kind, count)
        for machine in instance.machines
        for kind, count in machine.gpus.items()
        if count and instance.rate(job, kind)
    ]
    for counts in product(*(range(count + 1) for _, _, count in places)):
        held: _Slot = {}
        for (machine, kind, _), count in zip(places, counts, strict=True):
            if count:
                held.setdefault(machine, {})[kind] = count
        one_each = all(sum(kinds.values()) == 1 for kinds in held.values())
        if not held or (one_each if instance.forking else sum(counts) == job.workers):
            yield held


def _fits(instance: Instance, option: tuple[_Slot, ...]) -> bool:
    for machine in instance.machines:
        for kind, count in machine.gpus.items():
            if sum(held.get(machine.id, {}).get(kind, 0) for held in option) > count:
                return False
    return True

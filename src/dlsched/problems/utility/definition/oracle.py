"""Brute force for utility, from the definition alone."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product

from dlsched.problems.utility.definition.check import LEVELS
from dlsched.problems.utility.definition.schema import Instance, Job
from dlsched.results.objective import ByLevel, Objective
from dlsched.schema import Number, simplify

_Held = tuple[tuple[int, str, int], ...]
"""The GPUs that a job holds in a slot: machine, type, number."""


def brute_force(instance: Instance) -> Objective | None:
    """Return the optimum over all allocations in every slot; ``None`` if none is feasible.

    By recursion over the slots; the state is the work left of each job. For about three jobs, four
    slots and six GPUs.
    """
    jobs = instance.jobs
    by_slot = {
        slot: _gains(instance, [job.arrival <= slot for job in jobs])
        for slot in {1, *(job.arrival for job in jobs)}
    }

    @cache
    def best(slot: int, left: tuple[Number, ...]) -> Fraction | None:
        if slot > instance.slots or not any(left):
            return None if instance.must_finish and any(left) else Fraction(0)
        values = []
        for gains in by_slot[max(s for s in by_slot if s <= slot)]:
            if any(gain and not rest for gain, rest in zip(gains, left, strict=True)):
                continue  # a job that is complete holds nothing
            after = tuple(max(0, rest - gain) for gain, rest in zip(gains, left, strict=True))
            later = best(slot + 1, after)
            if later is not None:
                values.append(later + _worth(instance, slot, left, after))
        return max(values, default=None)

    value = best(1, tuple(job.iterations for job in jobs))
    return None if value is None else ByLevel(LEVELS, (simplify(value),))


def _worth(
    instance: Instance, slot: int, before: tuple[Number, ...], after: tuple[Number, ...]
) -> Fraction:
    """Return the utility of the jobs of which work was left before a slot, and none is after it."""
    jobs = [job for job, b, a in zip(instance.jobs, before, after, strict=True) if b and not a]
    worths = (Fraction(instance.worth(job, slot - job.arrival + 1)) for job in jobs)
    return sum(worths, Fraction(0))


def _gains(instance: Instance, there: list[bool]) -> set[tuple[Number, ...]]:
    """Return every combination of the jobs' progress that is possible in a slot."""
    options = [
        list(_options(instance, job)) if here else [((), 0)]
        for job, here in zip(instance.jobs, there, strict=True)
    ]
    possible: set[tuple[Number, ...]] = set()
    for choice in product(*options):
        gains = tuple(gain for _, gain in choice)
        if gains not in possible and _fits(instance, [held for held, _ in choice]):
            possible.add(gains)
    return possible


def _options(instance: Instance, job: Job) -> Iterator[tuple[_Held, Number]]:
    """Yield what a job can hold in a slot, nothing included, and its progress with that."""
    places = [
        (m, kind, count)
        for m, machine in enumerate(instance.machines)
        for kind, count in machine.gpus.items()
        if count and instance.rate(job, kind)
    ]
    for counts in product(*(range(count + 1) for _, _, count in places)):
        held = tuple((m, kind, n) for (m, kind, _), n in zip(places, counts, strict=True) if n)
        if not held:
            yield held, 0
        elif instance.forking:
            if len({m for m, _, _ in held}) == sum(counts):
                total = sum(instance.rate(job, kind) for _, kind, _ in held)
                yield held, total * instance.slot_seconds
        elif sum(counts) == job.workers:
            times = job.workers if instance.progress == "per_worker" else 1
            slowest = min(instance.rate(job, kind) for _, kind, _ in held)
            yield held, slowest * instance.slot_seconds * times


def _fits(instance: Instance, choice: list[_Held]) -> bool:
    used: dict[tuple[int, str], int] = {}
    for held in choice:
        for m, kind, n in held:
            used[m, kind] = used.get((m, kind), 0) + n
    return all(n <= instance.machines[m].gpus[kind] for (m, kind), n in used.items())

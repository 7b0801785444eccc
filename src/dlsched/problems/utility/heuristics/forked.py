"""Forked jobs (Hadar, section V) by a rule of ours: copies on many machines, which add up."""

from __future__ import annotations

from fractions import Fraction

from dlsched.problems.utility.definition.schema import Held, Instance, Solution
from dlsched.schema import Number


def by_least_time(instance: Instance) -> Solution:
    """Return a schedule of forked jobs, slot by slot.

    Jobs by the time that they would need on all machines, shortest first. A job takes machines,
    slowest for it first, until they do the rest of its work; remaining machines then take copies
    of the jobs in the same order, as many as they have GPUs.
    """
    left = [job.iterations for job in instance.jobs]
    fastest = instance.fastest
    rows: dict[str, list[Held]] = {}
    for slot in range(1, instance.slots + 1):
        present = [
            j
            for j, job in enumerate(instance.jobs)
            if job.arrival <= slot and left[j] > 0 and fastest[j]
        ]
        queue = sorted(present, key=lambda j: Fraction(left[j]) / fastest[j])
        free = {m: dict(machine.gpus) for m, machine in enumerate(instance.machines)}
        held: dict[int, dict[int, str]] = {j: {} for j in queue}
        missing = {j: left[j] for j in queue}
        for j in queue:
            for m in sorted(free, key=lambda m: _rate(instance, j, free[m])):
                if missing[j] > 0:
                    missing[j] -= _take(instance, j, m, free, held)
        for m in free:
            for j in queue:
                if m not in held[j]:
                    _take(instance, j, m, free, held)
        for j in queue:
            if held[j]:
                job = instance.jobs[j]
                left[j] -= sum(instance.gain(job, job.rates[k]) for k in held[j].values())
                gpus = {instance.machines[m].id: {k: 1} for m, k in sorted(held[j].items())}
                rows.setdefault(job.id, []).append(Held(slot=slot, gpus=gpus))
    return Solution(schedule={name: tuple(held_by_job) for name, held_by_job in rows.items()})


def _rate(instance: Instance, job: int, gpus: dict[str, int]) -> Number:
    """Return a job's best rate on the GPUs that a machine has free."""
    return max((instance.rate(instance.jobs[job], k) for k, n in gpus.items() if n), default=0)


def _take(
    instance: Instance,
    job: int,
    machine: int,
    free: dict[int, dict[str, int]],
    held: dict[int, dict[int, str]],
) -> Number:
    """Put a copy of a job on a machine's best free GPU for it; return its progress."""
    owner = instance.jobs[job]
    rates = {k: instance.rate(owner, k) for k, n in free[machine].items() if n}
    usable = {k: r for k, r in rates.items() if r}
    if not usable:
        return 0
    kind = max(usable, key=lambda k: usable[k])
    free[machine][kind] -= 1
    held[job][machine] = kind
    return instance.gain(owner, usable[kind])

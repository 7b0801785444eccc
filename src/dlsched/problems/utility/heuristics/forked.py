"""Forked jobs (Hadar, section V) by a rule of ours: copies on many machines, which add up."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dlsched.errors import SolverFailure
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


def divisible_load(instance: Instance) -> float:
    """Return the fewest slots in which all work could be done if it were divisible at will.

    A linear program: shares of slots of every machine's GPUs for each job. No forked schedule in
    which all jobs finish is shorter.

    Raises
    ------
    SolverFailure
        If the program has no optimum: some job has no rate anywhere.
    """
    from scipy.optimize import linprog

    places = [
        (j, m, kind, float(instance.gain(job, job.rates[kind])))
        for j, job in enumerate(instance.jobs)
        for m, machine in enumerate(instance.machines)
        for kind, count in machine.gpus.items()
        if count and job.rates.get(kind)
    ]
    if not instance.jobs:
        return 0.0
    # Columns: slots of each place, then the duration.
    work = np.zeros((len(instance.jobs), len(places) + 1))
    pairs: dict[object, list[int]] = {}
    for c, (j, m, kind, gain) in enumerate(places):
        work[j, c] = -gain / float(instance.jobs[j].iterations)
        pairs.setdefault((m, kind), []).append(c)
        pairs.setdefault((m, j, "job"), []).append(c)
    rows = []
    for key, columns in pairs.items():
        row = np.zeros(len(places) + 1)
        row[columns] = 1
        assert isinstance(key, tuple)
        row[-1] = -1 if len(key) == 3 else -instance.machines[key[0]].gpus[key[1]]
        rows.append(row)
    cost = np.zeros(len(places) + 1)
    cost[-1] = 1
    solved = linprog(
        cost,
        A_ub=np.vstack([work, *rows]),
        b_ub=np.append(-np.ones(len(instance.jobs)), np.zeros(len(rows))),
        method="highs",
    )
    if solved.x is None:
        raise SolverFailure(f"the divisible load has no optimum: {solved.message}")
    return float(solved.x[-1])


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

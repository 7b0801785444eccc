"""Every solution of a tiny instance of each problem, found without model or methods."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice, product
from typing import Any

from dlsched import registry
from dlsched.problems.dispatch.definition.oracle import _options as starts_of
from dlsched.problems.interleaving.structures.groups import solution_of as grouped
from dlsched.problems.utility.definition.oracle import _options as held_of
from dlsched.problems.workers.definition.oracle import _ways as ways_of

MOST = 1500
"""Instances with more candidates are not enumerated."""
SIZES: dict[str, dict[str, Any]] = {
    "reclaiming": {},
    "elastic": {},
    "workers": {},
    "interleaving": {},
    "utility": {"max_jobs": 2, "max_slots": 2, "max_kinds": 2, "scales": False},
    "sensitivity": {"max_jobs": 3, "max_servers": 2},
    "placement": {},
    "dispatch": {},
}
"""Options of the problems' strategies for which there are few candidates."""


def solutions(instance: Any) -> list[Any] | None:
    """Return every solution of an instance, by the checker; None if there are too many to try."""
    owner = registry.problem(instance.problem)
    candidates = list(islice(_candidates(instance), MOST + 1))
    if len(candidates) > MOST:
        return None
    return [solution for solution in candidates if owner.check(instance, solution).feasible]


def _candidates(instance: Any) -> Iterator[Any]:
    solution = registry.problem(instance.problem).solution
    for fields in globals()[f"_{instance.problem}"](instance):
        yield fields if isinstance(fields, solution) else solution(**fields)


def _reclaiming(instance: Any) -> Iterator[Any]:
    for chosen in combinations([server.id for server in instance.servers], instance.demand):
        yield {"returned": chosen}


def _elastic(instance: Any) -> Iterator[Any]:
    choices: list[Any] = []
    for job in instance.jobs:
        counts = range(job.max_workers + 1)
        pairs = [{"training": a, "loan": b} for a, b in product(counts, counts)]
        choices.append(pairs if instance.pools else list(counts))
    for numbers in product(*choices):
        pairs = zip(instance.jobs, numbers, strict=True)
        yield {"workers": {job.id: given for job, given in pairs if given}}


def _workers(instance: Any) -> Iterator[Any]:
    options = [[None, *ways_of(instance, job)] for job in instance.jobs]
    for placed in product(*options):
        pairs = zip(instance.jobs, placed, strict=True)
        yield {"placement": {job.id: way for job, way in pairs if way is not None}}


def _interleaving(instance: Any) -> Iterator[Any]:
    largest = min(instance.max_group_size or len(instance.jobs), len(instance.resources))

    def partitions(jobs: list[int]) -> Iterator[list[list[int]]]:
        if not jobs:
            yield []
            return
        first, rest = jobs[0], jobs[1:]
        for size in range(min(len(rest), largest - 1) + 1):
            for others in combinations(rest, size):
                left = [job for job in rest if job not in others]
                for groups in partitions(left):
                    yield [[first, *others], *groups]

    for groups in partitions(list(range(len(instance.jobs)))):
        if all(len({instance.jobs[j].gpus for j in group}) == 1 for group in groups):
            yield grouped(instance, groups)


def _utility(instance: Any) -> Iterator[Any]:
    options = []
    for job in instance.jobs:
        for slot in range(job.arrival, instance.slots + 1):
            options.append([(job.id, slot, held) for held, _ in held_of(instance, job)])
    for choice in product(*options):
        schedule: dict[str, list[Any]] = {}
        for job, slot, held in choice:
            gpus: dict[str, dict[str, int]] = {}
            for m, kind, count in held:
                gpus.setdefault(instance.machines[m].id, {})[kind] = count
            if gpus:
                schedule.setdefault(job, []).append({"slot": slot, "gpus": gpus})
        yield {"schedule": schedule}


def _sensitivity(instance: Any) -> Iterator[Any]:
    servers = instance.servers
    options: list[list[Any]] = []
    for job in instance.jobs:
        need = instance.profile(job).gpus
        spreads = [
            {str(s): n for s, n in enumerate(counts) if n}
            for counts in product(range(min(need, servers.gpus) + 1), repeat=servers.count)
            if sum(counts) == need
        ]
        ways: list[Any] = [
            {"cpus": choice.cpus, "memory": choice.memory, "gpus": gpus}
            for choice in instance.choices[job.profile]
            for gpus in spreads
        ]
        options.append([None, *ways] if instance.may_wait else ways)
    for chosen in product(*options):
        pairs = zip(instance.jobs, chosen, strict=True)
        yield {"allocation": {job.id: way for job, way in pairs if way is not None}}


def _placement(instance: Any) -> Iterator[Any]:
    regions, tables = (
        [entry.id for entry in entries] for entries in (instance.regions, instance.tables)
    )
    for homes in product(regions, repeat=len(tables)):
        yield {"home": dict(zip(tables, homes, strict=True))}


def _dispatch(instance: Any) -> Iterator[Any]:
    names = [workload.id for workload in instance.running]
    options = [[None, *starts_of(instance, workload)] for workload in instance.pending]
    for chosen in product(*options):
        pairs = list(zip(instance.pending, chosen, strict=True))
        start = {workload.id: way for workload, way in pairs if way is not None}
        for k in range(len(names) + 1):
            for preempt in combinations(names, k):
                yield {"start": start, "preempt": preempt}

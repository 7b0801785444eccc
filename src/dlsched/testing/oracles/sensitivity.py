"""Brute force for sensitivity."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from dlsched.problems.sensitivity.check import evaluate, used
from dlsched.problems.sensitivity.schema import Allocation, Instance
from dlsched.result import Objective


def sensitivity(instance: Instance) -> Objective | None:
    """Return the optimum over every choice and every placement; ``None`` if there is none.

    For about four jobs on three servers.
    """
    servers = instance.servers
    options = [
        [
            Allocation(cpus=c.cpus, memory=c.memory, gpus={str(s): n for s, n in where.items()})
            for c in instance.choices[job.profile]
            for where in _placements(instance, instance.profile(job).gpus)
        ]
        for job in instance.jobs
    ]
    best: Objective | None = None
    for chosen in product(*options):
        allocation = {job.id: given for job, given in zip(instance.jobs, chosen, strict=True)}
        limits = (servers.gpus, servers.cpus, servers.memory)
        rows = used(allocation).values()
        if all(have <= limit for row in rows for have, limit in zip(row, limits, strict=True)):
            worth = evaluate(instance, allocation)
            if best is None or worth.better_than(best):
                best = worth
    return best


def _placements(instance: Instance, gpus: int) -> Iterator[dict[int, int]]:
    """Yield every way to spread so many GPUs over the servers."""
    count, most = instance.servers.count, instance.servers.gpus

    def spread(server: int, left: int) -> Iterator[dict[int, int]]:
        if not left:
            yield {}
        elif server < count:
            for here in range(min(left, most) + 1):
                for rest in spread(server + 1, left - here):
                    yield ({server: here} if here else {}) | rest

    for placed in spread(0, gpus):
        if len(placed) == 1 or instance.allow_split:
            yield placed

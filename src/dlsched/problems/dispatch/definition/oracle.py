"""Brute force for dispatch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, product

from dlsched.problems.dispatch.definition.check import check, evaluate
from dlsched.problems.dispatch.definition.schema import Instance, Placed, Solution, Started
from dlsched.problems.dispatch.definition.workloads import (
    PendingJob,
    PendingWorkload,
    RunningJob,
    amounts,
)
from dlsched.results.objective import Objective


def brute_force(instance: Instance) -> Objective | None:
    """Return the optimum over every set of victims and every placement of every workload."""
    best: Objective = evaluate(instance, Solution())
    names = [workload.id for workload in instance.running]
    victims = chain.from_iterable(combinations(names, k) for k in range(len(names) + 1))
    options = {workload.id: list(_options(instance, workload)) for workload in instance.pending}
    for preempt in victims:
        for start in _starts(instance, preempt, options):
            solution = Solution(start=start, preempt=preempt)
            value = evaluate(instance, solution)
            if value.better_than(best) and check(instance, solution).feasible:
                best = value
    return best


def _options(instance: Instance, workload: PendingWorkload) -> Iterator[Started]:
    """Yield every way to place a workload on empty machines."""
    for region in instance.regions:
        if set(workload.tables) <= set(region.tables):
            clusters = [cluster.id for cluster in region.clusters]
            places = [
                [placed for cluster in clusters for placed in _spread(instance, job, cluster)]
                for job in workload.jobs
            ]
            for placed in product(*places):
                jobs = {job.id: place for job, place in zip(workload.jobs, placed, strict=True)}
                yield Started(region=region.id, jobs=jobs)


def _spread(instance: Instance, job: PendingJob, cluster: str) -> Iterator[Placed]:
    """Yield every distribution of a job's tasks over a cluster's machines of its type."""
    names = [
        f"{group.machines.id}#{k}"
        for group in instance.groups
        if group.cluster == cluster and job.gpu_type in (None, group.machines.gpu_type)
        for k in range(group.machines.count)
    ]
    for counts in _compositions(job.tasks, len(names)):
        on = {name: n for name, n in zip(names, counts, strict=True) if n}
        yield Placed(cluster=cluster, on=on)


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 0:
        if total == 0:
            yield ()
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)


def _starts(
    instance: Instance, preempt: Sequence[str], options: dict[str, list[Started]]
) -> Iterator[dict[str, Started]]:
    """Yield every choice of workloads and placements that fits beside what stays."""
    free = {
        f"{group.machines.id}#{k}": [*amounts(group.machines)]
        for group in instance.groups
        for k in range(group.machines.count)
    }

    def fits(job: RunningJob | PendingJob, on: Mapping[str, int], sign: int = 1) -> bool:
        """Occupy machines, or release them with sign -1; return whether no more is in use."""
        for name, tasks in on.items():
            for i, need in enumerate(amounts(job)):
                free[name][i] -= sign * tasks * need
        return all(amount >= 0 for name in on for amount in free[name])

    for running in instance.running:
        if running.id not in preempt:
            for job in running.jobs:
                fits(job, job.on)

    def extend(position: int, chosen: dict[str, Started]) -> Iterator[dict[str, Started]]:
        if position == len(instance.pending):
            yield dict(chosen)
            return
        yield from extend(position + 1, chosen)
        workload = instance.pending[position]
        for option in options[workload.id]:
            placed = [(job, option.jobs[job.id].on) for job in workload.jobs]
            if all([fits(job, on) for job, on in placed]):
                chosen[workload.id] = option
                yield from extend(position + 1, chosen)
                del chosen[workload.id]
            for job, on in placed:
                fits(job, on, -1)

    yield from extend(0, {})

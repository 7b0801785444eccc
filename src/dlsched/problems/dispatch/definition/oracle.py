"""Brute force for dispatch."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, product
from typing import TypeAlias

from dlsched.problems.dispatch.definition.check import check, evaluate
from dlsched.problems.dispatch.definition.schema import Instance, Placed, Solution, Started
from dlsched.problems.dispatch.definition.workloads import (
    PendingJob,
    PendingWorkload,
    RunningJob,
    amounts,
)
from dlsched.results.objective import Objective
from dlsched.schema import Number

Free: TypeAlias = Mapping[str, Sequence[Number]]
"""What is free of each resource, by machine."""


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
    for counts in product(range(job.tasks + 1), repeat=len(names)):
        if sum(counts) == job.tasks:
            on = {name: n for name, n in zip(names, counts, strict=True) if n}
            yield Placed(cluster=cluster, on=on)


def _starts(
    instance: Instance, preempt: Sequence[str], options: dict[str, list[Started]]
) -> Iterator[dict[str, Started]]:
    """Yield every choice of workloads and placements that fits beside what stays."""
    free: Free = {
        f"{group.machines.id}#{k}": amounts(group.machines)
        for group in instance.groups
        for k in range(group.machines.count)
    }
    for running in instance.running:
        if running.id not in preempt:
            free = _less(free, [(job, job.on) for job in running.jobs])
    yield from _extended({}, instance.pending, free, options)


def _extended(
    chosen: dict[str, Started],
    waiting: Sequence[PendingWorkload],
    free: Free,
    options: dict[str, list[Started]],
) -> Iterator[dict[str, Started]]:
    """Yield what is chosen with every choice for those that wait, in what is free."""
    if not waiting:
        yield chosen
        return
    workload, *rest = waiting
    yield from _extended(chosen, rest, free, options)
    for option in options[workload.id]:
        left = _less(free, [(job, option.jobs[job.id].on) for job in workload.jobs])
        if all(amount >= 0 for machine in left.values() for amount in machine):
            yield from _extended({**chosen, workload.id: option}, rest, left, options)


def _less(free: Free, placed: Iterable[tuple[RunningJob | PendingJob, Mapping[str, int]]]) -> Free:
    """Return what is left on each machine; less than 0 where the tasks do not fit."""
    left = dict(free)
    for job, on in placed:
        for name, tasks in on.items():
            pairs = zip(left[name], amounts(job), strict=True)
            left[name] = tuple(amount - tasks * need for amount, need in pairs)
    return left

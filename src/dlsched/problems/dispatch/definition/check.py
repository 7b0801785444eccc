"""The definition of dispatch: the violations and the objective of a solution."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from dlsched.problems.dispatch.definition.machines import RESOURCES
from dlsched.problems.dispatch.definition.ranking import rank, startable
from dlsched.problems.dispatch.definition.schema import Instance, Placed, Solution, Started
from dlsched.problems.dispatch.definition.workloads import (
    MOST_PRIORITIES,
    PendingJob,
    PendingWorkload,
    RunningJob,
    RunningWorkload,
    amounts,
)
from dlsched.results.objective import ByLevel, Level
from dlsched.results.result import Report, Violation
from dlsched.schema import Number, brief, simplify

DAY = 86400
"""Seconds from which the age of a victim counts no more **(D)**.

The paper refrains from preempting newly started jobs and does not say until when one is new."""
YOUNG = Level("young", "min", "seconds")
LEVELS = (
    *(
        level
        for p in range(1, MOST_PRIORITIES + 1)
        for level in (Level(f"preempted_{p}", "min", "jobs"), Level(f"started_{p}", "max", "GPUs"))
    ),
    YOUNG,
    Level("spread", "min", "machines and racks"),
)
"""For each priority the jobs preempted and the size started **(D)**; then two levels for all."""

Use = dict[int, list[Number]]
"""GPUs, CPUs and memory by number of a machine."""


def check(instance: Instance, solution: Solution) -> Report:
    """Check a solution against the definition.

    Violations: ``unknown_workload``, ``not_first``, ``unknown_region``, ``missing_table``,
    ``missing_job``, ``unknown_job``, ``unknown_cluster``, ``cluster_elsewhere``,
    ``unknown_machine``, ``wrong_type``, ``too_few_tasks``, ``too_many_tasks``,
    ``unknown_victim``, ``repeated_victim``, ``unjustified_victim``, ``gpus_exceeded``,
    ``cpus_exceeded``, ``memory_exceeded``.

    ``details`` has the numbers of workloads ``started``, ``waiting`` and ``preempted``, and the
    fraction ``gpus`` of all GPUs that are in use afterwards.
    """
    violations = tuple(_violations(instance, solution))
    started = [w for w in instance.pending if w.id in solution.start]
    victims = _victims(instance, solution)
    total = sum(group.machines.count * group.machines.gpus for group in instance.groups)
    used = sum((row[0] for row in in_use(instance, solution).values()), Fraction(0))
    details: dict[str, Number | float] = {
        "started": len(started),
        "waiting": len(instance.pending) - len(started),
        "preempted": len(victims),
        "gpus": float(used / total) if total else 0,
    }
    return Report(violations, evaluate(instance, solution), details)


def evaluate(instance: Instance, solution: Solution) -> ByLevel[Number]:
    """Return the objective, of the references that resolve."""
    jobs = [0] * (MOST_PRIORITIES + 1)
    sizes = [Fraction(0)] * (MOST_PRIORITIES + 1)
    young = Fraction(0)
    for victim in _victims(instance, solution):
        jobs[instance.victim_priority(victim)] += len(victim.jobs)
        young += max(0, DAY - victim.seconds)
    for ranked in rank(instance):
        if ranked.workload in solution.start:
            sizes[ranked.priority] += instance.size(instance.pending[ranked.position])
    machines = {m for start in _starts(instance, solution) for m in start.tasks}
    groups = [instance.kinds[m] for m in machines]
    racks = {(group.cluster, group.machines.rack) for group in groups}
    values: list[Number] = []
    for p in range(1, MOST_PRIORITIES + 1):
        values += [jobs[p], simplify(sizes[p])]
    return ByLevel(LEVELS, [*values, simplify(young), len(machines) + len(racks)])


def in_use(instance: Instance, solution: Solution) -> Use:
    """Return what is in use on each machine after preemptions and starts."""
    gone = set(solution.preempt)
    staying: list[tuple[RunningJob | PendingJob, dict[int, int]]] = [
        (job, _tasks_by_machine(instance, job.on))
        for workload in instance.running
        if workload.id not in gone
        for job in workload.jobs
    ]
    starting = [(start.job, start.tasks) for start in _starts(instance, solution)]
    use: Use = {}
    for job, tasks_on in (*staying, *starting):
        for machine, tasks in tasks_on.items():
            row = use.setdefault(machine, [0, 0, 0])
            for i, need in enumerate(amounts(job)):
                row[i] += tasks * need
    return use


def _victims(instance: Instance, solution: Solution) -> list[RunningWorkload]:
    gone = set(solution.preempt)
    return [workload for workload in instance.running if workload.id in gone]


class _Start(NamedTuple):
    """A job that starts, its workload, and its tasks by number of a machine."""

    workload: PendingWorkload
    job: PendingJob
    tasks: dict[int, int]


def _starts(instance: Instance, solution: Solution) -> Iterator[_Start]:
    """Yield the jobs that start, of known workloads on known machines."""
    for workload in instance.pending:
        started = solution.start.get(workload.id)
        for job in workload.jobs if started else ():
            if started and job.id in started.jobs:
                yield _Start(workload, job, _tasks_by_machine(instance, started.jobs[job.id].on))


def _tasks_by_machine(instance: Instance, on: Mapping[str, int]) -> dict[int, int]:
    """Return the tasks by number of a machine, without machines that do not exist."""
    numbers = {instance.machine_number(name): tasks for name, tasks in on.items()}
    return {number: tasks for number, tasks in numbers.items() if number is not None}


def _violations(instance: Instance, solution: Solution) -> Iterator[Violation]:
    pending = {workload.id: workload for workload in instance.pending}
    allowed = {ranked.workload for ranked in startable(instance)}
    for name, started in solution.start.items():
        where = f"start.{name}"
        if name not in pending:
            message = f'no pending workload has the id "{brief(name)}"'
            yield Violation("unknown_workload", where, message)
            continue
        if name not in allowed:
            message = f'"{name}" is not the first of the ranking, and the scope is one'
            yield Violation("not_first", where, message)
        yield from _of_workload(instance, pending[name], started, where)
    yield from _of_victims(instance, solution)
    for number, row in sorted(in_use(instance, solution).items()):
        machines = instance.kinds[number].machines
        for have, limit, resource in zip(row, amounts(machines), RESOURCES, strict=True):
            if have > limit:
                name = instance.machine_name(number)
                message = f"{float(have):g} {resource} in use, {name} has {float(limit):g}"
                yield Violation(f"{resource}_exceeded", f"machines.{name}", message, have - limit)


def _of_workload(
    instance: Instance, workload: PendingWorkload, started: Started, where: str
) -> Iterator[Violation]:
    regions = {region.id: r for r, region in enumerate(instance.regions)}
    region = regions.get(started.region)
    if region is None:
        message = f'there is no region "{brief(started.region)}"'
        yield Violation("unknown_region", f"{where}.region", message)
    else:
        for table in workload.tables:
            if table not in instance.regions[region].tables:
                message = f'region "{started.region}" has no copy of table "{table}"'
                yield Violation("missing_table", f"{where}.region", message)
    jobs = {job.id: job for job in workload.jobs}
    for name in jobs:
        if name not in started.jobs:
            yield Violation("missing_job", f"{where}.jobs", f'job "{name}" is not placed')
    for name, placed in started.jobs.items():
        path = f"{where}.jobs.{name}"
        if name not in jobs:
            yield Violation("unknown_job", path, f'"{workload.id}" has no job "{brief(name)}"')
        else:
            yield from _of_job(instance, jobs[name], placed, region, path)


def _of_job(
    instance: Instance, job: PendingJob, placed: Placed, region: int | None, path: str
) -> Iterator[Violation]:
    """Yield the violations of a job's placement; a CPU job may run on any machine **(D)**."""
    home = instance.cluster_region.get(placed.cluster)
    if home is None:
        message = f'there is no cluster "{brief(placed.cluster)}"'
        yield Violation("unknown_cluster", f"{path}.cluster", message)
    elif region is not None and home != region:
        message = f'cluster "{placed.cluster}" is not in the region of the workload'
        yield Violation("cluster_elsewhere", f"{path}.cluster", message)
    for name in placed.on:
        number = instance.machine_number(name)
        if number is None or instance.kinds[number].cluster != placed.cluster:
            message = f'cluster "{brief(placed.cluster)}" has no machine "{brief(name)}"'
            yield Violation("unknown_machine", f"{path}.on.{name}", message)
        elif job.gpu_type not in (None, instance.kinds[number].machines.gpu_type):
            message = f'the job needs GPUs of type {job.gpu_type}, "{name}" has others or none'
            yield Violation("wrong_type", f"{path}.on.{name}", message)
    tasks = sum(placed.on.values())
    message = f"{tasks} tasks are placed, the job has {job.tasks}"
    if tasks < job.tasks:
        yield Violation("too_few_tasks", f"{path}.on", message, job.tasks - tasks)
    if tasks > job.tasks:
        yield Violation("too_many_tasks", f"{path}.on", message, tasks - job.tasks)


def _of_victims(instance: Instance, solution: Solution) -> Iterator[Violation]:
    """Yield the violations of victims.

    A victim makes room for a workload of a higher priority on one of its machines **(D)**: the
    paper preempts for one workload at a time, in a batch nothing else says for whom.
    """
    running = {workload.id: workload for workload in instance.running}
    priority = {ranked.workload: ranked.priority for ranked in rank(instance)}
    highest_on: dict[int | None, int] = {}
    for start in _starts(instance, solution):
        for machine in start.tasks:
            known = highest_on.get(machine, MOST_PRIORITIES + 1)
            highest_on[machine] = min(known, priority[start.workload.id])
    seen: set[str] = set()
    for i, name in enumerate(solution.preempt):
        where = f"preempt[{i}]"
        if name not in running:
            message = f'no running workload has the id "{brief(name)}"'
            yield Violation("unknown_victim", where, message)
        elif name in seen:
            yield Violation("repeated_victim", where, f'"{name}" is preempted twice')
        else:
            victim = running[name]
            priority_of_victim = instance.victim_priority(victim)
            machines = {instance.machine_number(m) for job in victim.jobs for m in job.on}
            starting = [highest_on[m] for m in machines if m in highest_on]
            if min(starting, default=priority_of_victim) >= priority_of_victim:
                what = f'"{name}" has priority {priority_of_victim}'
                message = f"{what}, and nothing of a higher one starts there"
                yield Violation("unjustified_victim", where, message)
        seen.add(name)

"""What a variant's `allow` says of dispatch: on which machines a pending job may run."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from dlsched.problems.dispatch.definition.machines import Group
from dlsched.problems.dispatch.definition.schema import Instance, Solution
from dlsched.problems.dispatch.definition.workloads import PendingJob, PendingWorkload
from dlsched.results.result import Violation

Allow: TypeAlias = Callable[[Instance, PendingWorkload, PendingJob, Group], bool]
MEANING = (
    "allow(instance, workload, job, group): tasks of the pending workload's job may run on the "
    "machines of a group of instance.groups, which has a cluster, a region's position, and machines"
)


def violations(instance: Instance, solution: Solution, allow: Allow) -> Iterator[Violation]:
    """Yield the jobs of a solution on machines on which they are not allowed."""
    for workload in instance.pending:
        if workload.id not in solution.start:
            continue
        for job in workload.jobs:
            for name in solution.start[workload.id].jobs[job.id].on:
                number = instance.machine_number(name)
                assert number is not None  # the solution has been checked
                if not allow(instance, workload, job, instance.kinds[number]):
                    where = f"start[{workload.id!r}].jobs[{job.id!r}].on[{name!r}]"
                    message = f"job {job.id} of {workload.id} is not allowed on {name}"
                    yield Violation("allow", where, message)


def forbidden(instance: Instance, m: Any, allow: Allow) -> Iterator[Any]:
    """Yield the variables of tasks that are not allowed."""
    pending = {workload.id: workload for workload in instance.pending}
    jobs = {(w, job.id): job for w, workload in pending.items() for job in workload.jobs}
    known: dict[tuple[str, str, int], bool] = {}
    for w, j, k in m.TASKS:
        group = instance.kinds[instance.machine_number(k) or 0]
        key = (w, j, group.first)
        if key not in known:
            known[key] = allow(instance, pending[w], jobs[w, j], group)
        if not known[key]:
            yield m.y[w, j, k]

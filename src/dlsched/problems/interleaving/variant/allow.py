"""What a variant's `allow` says of interleaving: which pairs of jobs may share GPUs."""

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, TypeAlias

from dlsched.problems.interleaving.definition.schema import Instance, Job, Solution
from dlsched.results.result import Violation

Allow: TypeAlias = Callable[[Instance, Job, Job], bool]
MEANING = "allow(instance, first, second): two jobs may share GPUs; asked in both orders"


def may_share(instance: Instance, allow: Allow, first: Job, second: Job) -> bool:
    """Whether two jobs may share, in whatever order they are named."""
    return allow(instance, first, second) and allow(instance, second, first)


def violations(instance: Instance, solution: Solution, allow: Allow) -> Iterator[Violation]:
    """Yield the pairs of jobs that share GPUs and must not."""
    for g, group in enumerate(solution.groups):
        jobs = [instance.jobs[instance.job_index[name]] for name in group.jobs]
        for first, second in combinations(jobs, 2):
            if not may_share(instance, allow, first, second):
                message = f"jobs {first.id} and {second.id} share GPUs, which is not allowed"
                yield Violation("allow", f"groups[{g}]", message)


def forbidden(instance: Instance, m: Any, allow: Allow) -> Iterator[Any]:
    """Yield the variables of groups with two jobs that must not share."""
    jobs = {job.id: job for job in instance.jobs}
    for i, members in enumerate(m.MEMBERS):
        pairs = combinations((jobs[j] for j in members), 2)
        if not all(may_share(instance, allow, a, b) for a, b in pairs):
            yield m.x[i]

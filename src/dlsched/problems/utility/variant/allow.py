"""What a variant's `allow` says of utility: when a job may run, and at which speeds."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from dlsched.errors import OptionError
from dlsched.problems.utility.definition.check import progress
from dlsched.problems.utility.definition.schema import Instance, Job, Solution, Speed
from dlsched.results.result import Violation

Allow: TypeAlias = Callable[[Instance, Job, int, Speed], bool]
MEANING = (
    "allow(instance, job, slot, speed): the job may run in the slot, from 1, at a speed of "
    "instance.speeds; what is faster than an allowed speed must be allowed, too"
)


def require_form(instance: Instance) -> None:
    """Raise `OptionError` if the instance's jobs fork: copies on machines have no speeds."""
    if instance.forking:
        raise OptionError(
            f"allow has no form for {instance.name}, whose jobs fork; use constrain or fix"
        )


def violations(instance: Instance, solution: Solution, allow: Allow) -> Iterator[Violation]:
    """Yield the runs of a solution that are not allowed, those of unfinished jobs included."""
    require_form(instance)
    for j, job in enumerate(instance.jobs):
        by_gain = {speed.gain: speed for speed in instance.speeds[j]}
        for held in solution.schedule.get(job.id, ()):
            speed = by_gain[progress(instance, job, held)]
            if not allow(instance, job, held.slot, speed):
                where = f"schedule[{job.id!r}]"
                said = f"{float(speed.gain):g} iterations a slot in slot {held.slot}"
                yield Violation("allow", where, f"job {job.id} does {said}, which is not allowed")


def forbidden(instance: Instance, m: Any, allow: Allow) -> Iterator[Any]:
    """Yield the variables of runs that are not allowed."""
    require_form(instance)
    index = {job.id: j for j, job in enumerate(instance.jobs)}
    for j, t, v in m.RUNS:
        number = index[j]
        if not allow(instance, instance.jobs[number], t, instance.speeds[number][v]):
            yield m.z[j, t, v]

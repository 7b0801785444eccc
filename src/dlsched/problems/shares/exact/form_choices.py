"""Which form to try for the proof of a level."""

from collections.abc import Iterator

from dlsched.problems.shares.definition.check import value_of
from dlsched.problems.shares.definition.schema import Instance, Solution
from dlsched.proofs.forms.choice import FormChoice
from dlsched.run import Run


def choices(instance: Instance, solution: Solution, level: int, run: Run) -> Iterator[FormChoice]:
    """Yield the form with tangents at the solution's value; without finish times 0 does as well."""
    timed = instance.objective == "finish_time"
    at = value_of(instance, solution) if timed else 0
    yield FormChoice("tangents", {"at": str(at)})

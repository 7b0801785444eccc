"""Which forms to try for the proof of a level."""

from collections.abc import Iterator

from dlsched.problems.workers.definition.schema import Instance, Solution
from dlsched.problems.workers.programs.arc_program import choose
from dlsched.proofs.forms.choice import FormChoice
from dlsched.run import Run


def choices(instance: Instance, solution: Solution, level: int, run: Run) -> Iterator[FormChoice]:
    """Yield the forms to try for a level, the most promising first."""
    if choose(instance) == "arc_flow":
        yield FormChoice("arcs")
    yield FormChoice("model")

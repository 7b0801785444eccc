"""Which form to try for the proof of a level."""

from collections.abc import Iterator

from dlsched.problems.configurations.definition.schema import Instance, Solution
from dlsched.problems.configurations.programs.kinds import Kinds
from dlsched.proofs.forms.choice import FormChoice
from dlsched.run import Run


def choices(instance: Instance, solution: Solution, level: int, run: Run) -> Iterator[FormChoice]:
    """Yield the program by kinds, with the prices of its linear relaxation; then the model."""
    yield FormChoice("prices", {"prices": list(Kinds(instance).prices(run).values())})
    yield FormChoice("model")

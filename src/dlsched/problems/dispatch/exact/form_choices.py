"""Which forms to try for the proof of a level."""

from collections.abc import Iterator
from typing import Any

from dlsched.problems.dispatch.definition.check import LEVELS
from dlsched.problems.dispatch.definition.schema import Instance, Solution
from dlsched.problems.dispatch.programs.batch_search import BatchSearch, incumbent
from dlsched.proofs.forms.choice import FormChoice
from dlsched.run import Run


def choices(instance: Instance, solution: Solution, level: int, run: Run) -> Iterator[FormChoice]:
    """Yield the forms to try for a level, the most promising first.

    The first has the blocks and cuts with which `classes` closes the level.
    """
    racks = {"racks": True} if level == len(LEVELS) - 1 else {}
    yield FormChoice("counts", racks)
    search = BatchSearch(instance, run, incumbent(instance, run.nested(), lambda: [solution]))
    search.solve(level + 1)
    if search.stopped is None:
        found: dict[str, Any] = dict(racks)
        found["cuts"] = [[[s.kind, *s.need, part] for s, part in cut] for cut in search.cuts]
        found["blocks"] = [[block.site, *block.machines] for block in search.batch.blocks]
        yield FormChoice("counts", found)
    yield FormChoice("model")

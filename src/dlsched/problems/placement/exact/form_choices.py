"""Which forms to try for the proof of a level."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dlsched.problems.placement.definition.schema import Instance, Solution
from dlsched.problems.placement.exact import Refinement
from dlsched.problems.placement.programs.forms import POINT_BITS
from dlsched.proofs.forms.form import FormChoice
from dlsched.run import Run, Stage


def choices(instance: Instance, solution: Solution, level: int, run: Run) -> Iterator[FormChoice]:
    """Yield the form with the points of the estimate with which `refinement` ends."""
    yield from changed_choices(instance, solution, run, None)


def changed_choices(
    instance: Instance,
    solution: Solution,
    run: Run,
    adapt: Callable[[Any], object] | None,
    accept: Callable[[Any], bool] | None = None,
) -> Iterator[FormChoice]:
    """Yield the same for a variant, whose rows `adapt` adds and whose solutions `accept` admits."""
    run.announce(Stage.SEARCHING, "the points of the estimate")
    nested = run.nested()
    nested.start = solution
    nested.check = None if accept else nested.check  # a variant's levels may be others
    search = Refinement(instance, nested, adapt, accept)
    search.incumbent.offer(solution)
    search.refine(solution)
    search.prove()
    estimate = search.estimate
    data = search.data
    yield FormChoice(
        "estimate",
        {
            "squares": [
                [r, k, p, *_points(point + data.supply_share[r, k] for point in points)]
                for (r, k, p), points in estimate.shares.items()
            ],
            "stored": [
                [r, *_points(point + data.capacity_share[r] for point in points)]
                for r, points in estimate.bytes.items()
            ],
            "steps": [[r, k, *_points(points)] for (r, k), points in estimate.steps.items()],
        },
    )


def _points(shares: Iterable[float]) -> list[int]:
    """Return shares as the form has them; one that rounding moved beyond 0 or 1 is there."""
    return sorted(
        {math.floor(min(max(0.0, float(share)), 1.0) * 2**POINT_BITS) for share in shares}
    )

"""Which forms to try for the proof of a level."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from dlsched.problems.placement.definition.schema import Instance, Solution
from dlsched.problems.placement.exact import Refinement
from dlsched.problems.placement.programs.forms import POINT_BITS
from dlsched.proofs.forms.choice import FormChoice
from dlsched.run import Run, Stage

_BELOW = 2.0**-38
"""A step is stated at a load that is this much below the one at which it is."""


def choices(instance: Instance, solution: Solution, level: int, run: Run) -> Iterator[FormChoice]:
    """Yield the form with the points of the estimate with which `milp` proves the optimum."""
    run.announce(Stage.SEARCHING, "the points of the estimate")
    nested = run.nested()
    nested.start = solution
    search = Refinement(instance, nested)
    search.offer(solution)
    search.refine(solution)
    search.prove()
    found, data = search.estimate, search.data
    yield FormChoice(
        "estimate",
        {
            "squares": [
                [r, k, p, *_points(at + data.supply_share[r, k] for at in points)]
                for (r, k, p), points in found.shares.items()
            ],
            "stored": [
                [r, *_points(at + data.capacity_share[r] for at in points)]
                for r, points in found.bytes.items()
            ],
            "steps": [
                [r, k, *_points(at - _BELOW for at in points)]
                for (r, k), points in found.steps.items()
            ],
        },
    )


def _points(shares: Iterable[float]) -> list[int]:
    """Return shares as the form has them; one that rounding moved beyond 0 or 1 is there."""
    return sorted({math.floor(min(max(0.0, float(at)), 1.0) * 2**POINT_BITS) for at in shares})

"""Which forms to try for the proof of a level."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dlsched.forms.choice import FormChoice
from dlsched.problems.interleaving.colgen import Search
from dlsched.problems.interleaving.pool import Pool
from dlsched.problems.interleaving.schema import Instance, Solution
from dlsched.problems.interleaving.sizes import count_groups
from dlsched.run import Run

_FEW = 3000
"""With no more groups, the model is the form."""
_BITS = 36


def choices(instance: Instance, solution: Solution, level: int, run: Run) -> Iterator[FormChoice]:
    """Yield the forms to try for a level, the most promising first."""
    if count_groups(instance) > _FEW:
        found = _prices(instance, solution, run)
        if found is not None:
            yield FormChoice("groups", found)
    yield FormChoice("model")


def _prices(instance: Instance, solution: Solution, run: Run) -> dict[str, Any] | None:
    """Return the prices of the relaxation; None if a limit struck."""
    pool = Pool(instance)
    search, index = Search(pool, run), instance.job_index
    given = ((index[job] for job in group.jobs) for group in solution.groups)
    search.update_incumbent(pool.groups_of_jobs(given))
    search.solve_relaxation(1.0)
    if search.prices is None:
        return None
    unit = 2.0**_BITS
    rounding = 1 + pool.largest + 1  # of the prices of a group's jobs and GPUs, and of the value
    return {
        "bits": _BITS,
        "prices": [int(v) for v in np.rint(search.prices.rows * unit)],
        "gpu": int(np.rint(search.prices.gpu * unit)),
        "highest": [int(v) + rounding for v in np.ceil(search.highest * unit)],
    }

"""Launching as many pending jobs as possible, those with the smallest base demands first."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from typing import NamedTuple

from dlsched.problems.elastic.definition.job_choices import Workers

Demands = Sequence[Sequence[int]]
"""GPUs by capacity of each choice of a job."""


class Launches(NamedTuple):
    """An allocation that launches many pending jobs, and a bound of their number.

    Attributes
    ----------
    chosen
        For each job that it launches the position among the job's choices.
    most
        No allocation launches more jobs.
    """

    chosen: dict[int, int]
    most: int


def smallest_launches(demands: dict[int, Demands], capacity: Workers) -> Launches:
    """Launch the jobs with the smallest choices first, and bound their number.

    The bound lets workers of a job that can use loan be in any pool, even in parts: then the
    smallest base demands of jobs for training alone and of the others are launched. With one
    capacity it is attained.

    Parameters
    ----------
    demands
        By job what each of its choices takes.
    """
    least = {j: min(map(sum, rows)) for j, rows in demands.items()}
    free = list(capacity)
    chosen: dict[int, int] = {}
    training_only: list[int] = []
    anywhere: list[int] = []
    for j in sorted(least, key=least.__getitem__):
        rows = demands[j]
        smallest = [i for i, row in enumerate(rows) if sum(row) == least[j]]
        # Most GPUs on loan first, since other jobs can use training only.
        for i in sorted(smallest, key=lambda i: rows[i][0]):
            if all(n <= left for n, left in zip(rows[i], free, strict=True)):
                free = [left - n for n, left in zip(rows[i], free, strict=True)]
                chosen[j] = i
                break
        on_loan = len(capacity) > 1 and any(row[1] for row in rows)
        (anywhere if on_loan else training_only).append(least[j])
    sums = [0, *itertools.accumulate(anywhere)]
    most = 0
    for count, used in enumerate([0, *itertools.accumulate(training_only)]):
        if used <= capacity[0]:
            most = max(most, count + bisect.bisect_right(sums, sum(capacity) - used) - 1)
    return Launches(chosen, most)

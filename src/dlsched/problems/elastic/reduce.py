"""Choices that some optimum does without, found in whole numbers before a solver sees them."""

from __future__ import annotations

import itertools
from typing import Any

from dlsched.problems.elastic import model
from dlsched.problems.elastic.schema import Instance, Solution


def needless(instance: Instance) -> set[tuple[str, int]]:
    """Return pairs (job, workers) such that an optimum exists that uses none of them.

    Left out are choices that save no more than one of the same job with fewer workers, and those
    that do not fit beside the smallest other base demands, when as many jobs are launched as can
    be. So a solver with tolerances is not asked what whole numbers answer: where nothing is left
    to save, its bound is exactly 0.
    """
    bases = sorted(job.gpus(job.min_workers) for job in instance.jobs if not job.running)
    totals = [0, *itertools.accumulate(bases)]
    launched = sum(total <= instance.capacity for total in totals) - 1
    found: set[tuple[str, int]] = set()
    for job, choices in zip(instance.jobs, instance.choices, strict=True):
        others = totals[launched]
        if not job.running and launched:
            # If this job is launched, the smallest others are one fewer.
            others -= min(job.gpus(job.min_workers), bases[launched - 1])
        free = instance.capacity - others
        best = None
        for item in choices:
            dominated = best is not None and item.reduction <= best
            if dominated or item.gpus > free:
                found.add((item.job, item.workers))
            else:
                best = item.reduction
    return found


class Reduced:
    """The model with needless choices fixed at 0, as a module that `solve_levels` can use."""

    read = staticmethod(model.read)
    assign = staticmethod(model.assign)

    @staticmethod
    def build(instance: Instance) -> Any:
        """Return the model; its sets are the instance's, as on the card."""
        m = model.build(instance)
        for key in needless(instance):
            m.x[key].setub(0)
        return m


def uses(solution: Solution, choices: set[tuple[str, int]]) -> bool:
    """Whether a solution makes one of these choices."""
    return any(pair in choices for pair in solution.workers.items())

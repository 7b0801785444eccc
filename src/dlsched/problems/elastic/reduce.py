"""Choices that some optimum does not use, found in exact arithmetic before a solver is called."""

from __future__ import annotations

import itertools
from typing import Any

from dlsched.problems.elastic import model
from dlsched.problems.elastic.schema import Instance, Solution


def needless(instance: Instance) -> set[tuple[str, int]]:
    """Return pairs (job, workers) such that an optimum exists that uses none of them.

    These are choices that save no more than one of the same job with fewer workers, and choices
    that do not fit beside the smallest other base demands when the most jobs are launched. Without
    them a solver's tolerances cannot add to its bound: if nothing can be saved, the bound is 0.
    """
    bases = sorted(job.gpus(job.min_workers) for job in instance.jobs if not job.running)
    totals = [0, *itertools.accumulate(bases)]
    launched = sum(total <= instance.capacity for total in totals) - 1
    found: set[tuple[str, int]] = set()
    for job, choices in zip(instance.jobs, instance.choices, strict=True):
        others = totals[launched]
        if not job.running and launched:
            # If this job is launched, one other job fewer is.
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
    """The model with needless choices fixed at 0, as `solve_levels` takes it."""

    read = staticmethod(model.read)
    assign = staticmethod(model.assign)

    @staticmethod
    def build(instance: Instance) -> Any:
        """Return the Pyomo model; its sets are the instance's, as on the card."""
        m = model.build(instance)
        for key in needless(instance):
            m.x[key].setub(0)
        return m


def uses(solution: Solution, choices: set[tuple[str, int]]) -> bool:
    """Whether a solution uses one of these choices."""
    return any(pair in choices for pair in solution.workers.items())

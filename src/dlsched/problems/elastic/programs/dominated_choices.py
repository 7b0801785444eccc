"""Choices that some optimum does not use, found in exact arithmetic before a solver is called."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from dlsched.problems.elastic import model
from dlsched.problems.elastic.definition.schema import Instance, Solution
from dlsched.problems.elastic.definition.two_pools_choices import base_of, splits
from dlsched.problems.elastic.structures.two_pools_knapsack import items_of


def needless(instance: Instance) -> set[tuple[Any, ...]]:
    """Return pairs (job, workers) such that an optimum exists that uses none of them.

    With pools these are triples with the workers of both, of choices that do not fit or that
    another one of the job dominates: with no more GPUs of either pool it saves no less.

    These are choices that save no more than one of the same job with fewer workers, and choices
    that do not fit beside the smallest other base demands when the most jobs are launched. Without
    them a solver's tolerances cannot add to its bound: if nothing can be saved, the bound is 0.
    """
    if instance.pools:
        return _needless_with_pools(instance)
    bases = sorted(job.gpus(job.min_workers) for job in instance.jobs if not job.running)
    totals = [0, *itertools.accumulate(bases)]
    launched = sum(total <= instance.gpus for total in totals) - 1
    found: set[tuple[Any, ...]] = set()
    for job, choices in zip(instance.jobs, instance.choices, strict=True):
        others = totals[launched]
        if not job.running and launched:
            # If this job is launched, one other job fewer is.
            others -= min(job.gpus(job.min_workers), bases[launched - 1])
        free = instance.gpus - others
        best = None
        for item in choices:
            dominated = best is not None and item.reduction <= best
            if dominated or item.gpus > free:
                found.add((item.job, item.workers))
            else:
                best = item.reduction
    return found


def _needless_with_pools(instance: Instance) -> set[tuple[Any, ...]]:
    items = items_of(instance)
    kept = {
        (instance.jobs[j].id, a, b)
        for j, (a, b) in zip(items.job.tolist(), items.workers.tolist(), strict=True)
    }
    kept |= {(job.id, *base_of(instance, job)) for job in instance.jobs if job.running}
    return {(job.id, *pair) for job in instance.jobs for pair in splits(instance, job)} - kept


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


def uses(solution: Solution, choices: set[tuple[Any, ...]]) -> bool:
    """Whether a solution uses one of these choices."""
    return any(
        ((job, *solution.split(job)) if isinstance(given, Mapping) else (job, given)) in choices
        for job, given in solution.workers.items()
    )

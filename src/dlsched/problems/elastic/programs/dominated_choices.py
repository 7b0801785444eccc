"""Choices that some optimum does not use, found in exact arithmetic before a solver is called."""

from __future__ import annotations

import itertools
from typing import Any, TypeAlias

from dlsched.problems.elastic import model
from dlsched.problems.elastic.definition.job_choices import held_by, splits, workers_of
from dlsched.problems.elastic.definition.schema import Instance, Solution
from dlsched.problems.elastic.structures.undominated_choices import undominated

Key: TypeAlias = tuple[str | int, ...]
"""A job, and its workers: of an instance with pools those in training and on loan."""


def needless(instance: Instance) -> set[Key]:
    """Return keys of the model's variables such that an optimum exists that uses none of them.

    These are choices that save no more than one of the same job with fewer workers, and choices
    that do not fit beside the smallest other base demands when the most jobs are launched. With
    pools they are choices that do not fit or that another one of the job dominates: with no more
    GPUs of either pool it saves no less. Without them a solver's tolerances cannot add to its
    bound: if nothing can be saved, the bound is 0.
    """
    if instance.pools:
        kept = {(choice.job, *choice.workers) for choice in undominated(instance)}
        return {
            (job.id, *workers)
            for j, job in enumerate(instance.jobs)
            for workers in splits(instance, job)
            if (j, *workers) not in kept and workers != held_by(instance, job)
        }
    bases = sorted(job.gpus(job.min_workers) for job in instance.jobs if not job.running)
    totals = [0, *itertools.accumulate(bases)]
    launched = sum(total <= instance.gpus for total in totals) - 1
    keys: set[Key] = set()
    for job, choices in zip(instance.jobs, instance.choices, strict=True):
        others = totals[launched]
        if not job.running and launched:
            # If this job is launched, one other job fewer is.
            others -= min(job.gpus(job.min_workers), bases[launched - 1])
        best = None
        for item in choices:
            dominated = best is not None and item.reduction <= best
            if dominated or item.gpus > instance.gpus - others:
                keys.add((item.job, item.workers))
            else:
                best = item.reduction
    return keys


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


def uses(instance: Instance, solution: Solution, keys: set[Key]) -> bool:
    """Whether a solution uses one of these choices."""
    return any((job.id, *workers_of(instance, solution, job)) in keys for job in instance.jobs)

"""A round of Muri whose groups grow from the first jobs of the queue (of this library)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dlsched.problems.interleaving.structures.groups import Indices, Vector, unpadded
from dlsched.schema import Id
from dlsched.simulation.engine.state import State
from dlsched.simulation.kernels.seeded_groups import grow
from dlsched.simulation.workload.workload import Workload


class Queue(NamedTuple):
    """Jobs in a queue.

    Attributes
    ----------
    stages
        Jobs x resources, not all 0 for any job; a group has at most as many jobs as there are
        resources.
    gpus, profile
        Of each job; jobs of a profile have equal GPUs and stages. Whole numbers from 0.
    weights
        Of each job, above 0; among jobs of a profile they do not rise along the order.
    order
        The jobs in the order of the queue.
    """

    stages: Vector
    gpus: Indices
    profile: Indices
    weights: Vector
    order: Indices


def seeded_groups(queue: Queue, budget: int, fill: int) -> list[tuple[int, ...]]:
    """Return groups of positions of jobs, on at most as many GPUs as the budget says.

    Parameters
    ----------
    fill
        Jobs for which a group counts when groups are opened, from 1. With as many as a group can
        have, groups are opened as by Muri's Algorithm 1.
    """
    return unpadded(grow(*queue, budget, fill))


FILL = 3
"""Jobs for which a group counts when the first jobs get GPUs: 2 and 3 are alike, 1 and 4 worse, on
the inputs that the exponent was found on (`benchmarks/decisions.py`) **(D)**."""
_LEAST_STAGE = 1e-250
"""Of the longest one; below it sums of products would lose digits."""


class SeededRounds:
    """Groups the jobs present, by `seeded_groups`.

    The order is Muri's, least remaining or attained time times GPUs first, ties by submission,
    unless another one is given.

    Parameters
    ----------
    workload
        Those of its jobs that are present at a decision have stages.
    priority
        ``"srsf"`` or ``"2d-las"``.
    exponent
        A job's speed weighs its remaining time to minus this. In an order that is given the first
        job has the largest of these weights.
    fill
        Jobs for which a group counts when the first jobs get GPUs.
    order
        Ids of all jobs, the first to go first.
    """

    def __init__(
        self,
        workload: Workload,
        priority: str,
        exponent: float,
        fill: int = FILL,
        order: Sequence[Id] | None = None,
    ) -> None:
        self.workload, self.priority = workload, priority
        self.exponent, self.fill = exponent, min(fill, len(workload.jobs))
        place = {name: i for i, name in enumerate(order or ())}
        self.rank = np.array([place[job.id] for job in workload.jobs]) if order else None
        longest = max(Fraction(time) for job in workload.jobs for time in job.stages)
        resources = max(len(job.stages) for job in workload.jobs)
        self.stages = np.zeros((len(workload.jobs), resources))
        for row, job in zip(self.stages, workload.jobs, strict=True):
            for r, time in enumerate(job.stages):
                row[r] = max(float(time / longest), _LEAST_STAGE) if time else 0.0
        kinds = [(job.gpus, job.stages) for job in workload.jobs]
        number = {kind: p for p, kind in enumerate(dict.fromkeys(kinds))}
        self.profile = np.array([number[kind] for kind in kinds], np.int64)

    def groups(self, state: State, gpus: int) -> list[tuple[Id, ...]]:
        """Return the groups that run from now on, on at most `gpus` GPUs."""
        present = state.arrays
        jobs = present.job
        remaining = np.maximum(present.remaining.astype(float), 1.0)
        weights = remaining**-self.exponent
        if self.rank is None:
            service = remaining if self.priority == "srsf" else present.attained.astype(float)
            order = np.argsort(service * present.gpus, kind="stable")
        else:
            order = np.argsort(self.rank[jobs])
            weights[order] = np.sort(weights)[::-1]
        gpus_of_job = present.gpus.astype(np.int64)
        queue = Queue(self.stages[jobs], gpus_of_job, self.profile[jobs], weights, order)
        names = [self.workload.jobs[j].id for j in jobs.tolist()]
        return [tuple(names[i] for i in group) for group in seeded_groups(queue, gpus, self.fill)]

"""A round of Muri whose groups grow from the first jobs of the queue (of this library)."""

from fractions import Fraction

import numpy as np

from dlsched.problems.interleaving.structures.groups import unpadded
from dlsched.schema import Id
from dlsched.simulation.engine.jobs import Arrays
from dlsched.simulation.engine.state import State
from dlsched.simulation.kernels.seeded_groups import grow
from dlsched.simulation.workload.workload import Workload
from dlsched.solvers.arrays import Floats, Ints

EXPONENT = 0.25
"""A job's speed weighs its remaining time to minus this; found on the first 200 and 300 jobs of
traces 1 to 4 **(D)**. Where remaining times are not known, all speeds weigh the same."""
FILL = 3
"""Jobs for which a group counts when the first jobs get GPUs: 2 and 3 are alike, 1 and 4 worse, on
the inputs that the exponent was found on **(D)**. With as many as a group can have, groups are
opened as by Muri's Algorithm 1."""
_LEAST_STAGE = 1e-250
"""Of the longest one; below it sums of products would lose digits."""


class SeededRounds:
    """Groups the jobs present, by the kernel `seeded_groups`.

    The order is Muri's, least remaining or attained time times GPUs first, ties by submission.

    Parameters
    ----------
    workload
        Those of its jobs that are present at a decision have stages.
    priority
        ``"srsf"``, or ``"2d-las"``, which knows no remaining times.
    """

    def __init__(self, workload: Workload, priority: str) -> None:
        self.workload, self.priority = workload, priority
        longest = max(Fraction(time) for job in workload.jobs for time in job.stages)
        resources = max(len(job.stages) for job in workload.jobs)
        self.stages = np.zeros((len(workload.jobs), resources))
        for row, job in zip(self.stages, workload.jobs, strict=True):
            for r, time in enumerate(job.stages):
                row[r] = max(float(time / longest), _LEAST_STAGE) if time else 0.0
        kinds = [(job.gpus, job.stages) for job in workload.jobs]
        number = {kind: p for p, kind in enumerate(dict.fromkeys(kinds))}
        self.profile = np.array([number[kind] for kind in kinds], np.int64)

    def queue(self, present: Arrays) -> tuple[Floats, Ints]:
        """Return the weights of the jobs present, and their positions in the order of the queue."""
        remaining = np.maximum(present.remaining.astype(float), 1.0)
        service = remaining if self.priority == "srsf" else present.attained.astype(float)
        order = np.argsort(service * present.gpus, kind="stable")
        return remaining ** (-EXPONENT if self.priority == "srsf" else 0.0), order

    def groups(self, state: State, gpus: int) -> list[tuple[Id, ...]]:
        """Return the groups that run from now on, on at most `gpus` GPUs."""
        present = state.arrays
        jobs = present.job
        weights, order = self.queue(present)
        grown = grow(
            self.stages[jobs],
            present.gpus.astype(np.int64),
            self.profile[jobs],
            weights,
            order,
            gpus,
            FILL,
        )
        names = [self.workload.jobs[j].id for j in jobs.tolist()]
        return [tuple(names[i] for i in group) for group in unpadded(grown)]

"""Running times that are estimated wrongly."""

from __future__ import annotations

import numpy as np

from dlsched.errors import OptionError
from dlsched.simulation.workload.workload import Workload

MARGIN = 0.25
"""Largest relative error of a wrong estimate (Lyra, Table 9)."""


def with_wrong_estimates(
    workload: Workload, share: float, *, margin: float = MARGIN, seed: int = 0
) -> Workload:
    """Return a workload in which policies are told wrong running times of some jobs.

    Parameters
    ----------
    share
        Share of the jobs, each drawn independently.
    margin
        Largest relative error, which is uniform.
    seed
        Seed of the random numbers. Of the same seed, the jobs that are wrong with a smaller share
        are wrong with a larger one, too, and by as much.

    Raises
    ------
    OptionError
        If `share` or `margin` is not from 0 to 1.
    """
    if not (0 <= share <= 1 and 0 <= margin < 1):
        raise OptionError("the share of wrong estimates is from 0 to 1, the margin below 1")
    rng = np.random.default_rng([seed, 3])
    factor = 1 + margin * rng.uniform(-1, 1, len(workload.jobs))
    mistaken = rng.random(len(workload.jobs)) < share
    jobs = tuple(
        job.model_copy(update={"estimate": max(1e-6, round(float(job.work) * factor[j], 6))})
        if mistaken[j]
        else job
        for j, job in enumerate(workload.jobs)
    )
    return workload.model_copy(update={"jobs": jobs})

"""What the picture of elastic shows of two pools: hatched workers on loan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dlsched.display.drawing.legend import entry
from dlsched.problems.elastic.definition.check import of_job
from dlsched.problems.elastic.definition.job_choices import (
    Workers,
    base_of,
    reduction,
    running_time,
)
from dlsched.problems.elastic.definition.schema import Instance, Job, Solution
from dlsched.schema import Number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HATCH = "//////"


def splits_of(instance: Instance, solution: Solution | None) -> dict[str, Workers]:
    """Return the workers of each job by pool; without a solution the base of running jobs."""
    if not instance.pools:
        return {}
    if solution is None:
        return {job.id: base_of(instance, job) if job.running else (0, 0) for job in instance.jobs}
    return {job.id: solution.split(job.id) for job in instance.jobs}


def outcome(instance: Instance, job: Job, workers: Workers) -> tuple[Number, Number] | None:
    """Return running time and seconds saved; ``None`` of workers that are not allowed."""
    if not any(workers) or any(of_job(instance, job, workers)):
        return None
    return running_time(instance, job, workers), reduction(instance, job, workers)


def hatch_loan(ax: Axes, row: int, instance: Instance, job: Job, workers: Workers) -> bool:
    """Hatch the part of a job's bar that is on loan; return whether there is one.

    It is at the bar's end, or at its beginning if a running job has its base workers there.
    """
    per, (training, loan) = job.gpus_per_worker, workers
    left = 0 if job.running and base_of(instance, job)[1] else training
    look: dict[str, Any] = {"facecolor": "none", "edgecolor": "#333333", "linewidth": 0.0}
    if loan:
        ax.barh(row, loan * per, left=left * per, height=0.7, hatch=_HATCH, clip_on=False, **look)
    return bool(loan)


def loan_entry() -> Any:
    """Return the legend's entry of workers on loan."""
    return entry("on loan", "none", hatch=_HATCH)

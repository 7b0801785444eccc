"""What the picture of elastic shows of the workers of a job: their outcome, and those on loan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dlsched.display.drawing.legend import entry
from dlsched.problems.elastic.definition.check import of_job
from dlsched.problems.elastic.definition.job_choices import (
    Workers,
    base_of,
    held_by,
    reduction,
    running_time,
    workers_of,
)
from dlsched.problems.elastic.definition.schema import Instance, Job, Solution
from dlsched.schema import Number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HATCH = "//////"


def given_to(instance: Instance, solution: Solution | None) -> dict[str, Workers]:
    """Return the workers of each job; without a solution the base of running jobs."""
    if solution is None:
        return {job.id: held_by(instance, job) for job in instance.jobs}
    return {job.id: workers_of(instance, solution, job) for job in instance.jobs}


def outcome(instance: Instance, job: Job, workers: Workers) -> tuple[Number, Number] | None:
    """Return running time and seconds saved; ``None`` of workers that are not allowed."""
    if not any(workers) or any(of_job(instance, job, workers)):
        return None
    return running_time(instance, job, workers), reduction(instance, job, workers)


def hatch_loan(ax: Axes, row: int, instance: Instance, job: Job, workers: Workers) -> bool:
    """Hatch the part of a job's bar that is on loan; return whether there is one.

    It is at the bar's end, or at its beginning if a running job has its base workers there.
    """
    training, loan = workers
    size = job.gpus_per_worker
    begin = 0 if job.running and base_of(instance, job)[1] else training
    look: dict[str, Any] = {"facecolor": "none", "edgecolor": "#333333", "linewidth": 0.0}
    if loan:
        ax.barh(
            row, loan * size, left=begin * size, height=0.7, hatch=_HATCH, clip_on=False, **look
        )
    return bool(loan)


def loan_entry() -> Any:
    """Return the legend's entry of workers on loan."""
    return entry("on loan", "none", hatch=_HATCH)

"""What waiting jobs bear: curves over time, the blocking index, fairness of completion times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
COLUMNS = ["job", "start", "end", "work", "lost"]
SAMPLES = 1000
"""Moments, evenly spaced from 0 to the makespan, at which the blocking index is taken."""


def steps(times: Any, changes: Any) -> tuple[Floats, Floats]:
    """Return a curve that starts at 0 and changes at times: the times, and the value from each on.

    Parameters
    ----------
    times, changes
        When it changes and by how much, in any order; changes at the same time are added up.
    """
    moments, where = np.unique(np.asarray(times, float), return_inverse=True)
    return moments, np.cumsum(np.bincount(where, np.asarray(changes, float)))


def integral(times: Floats, values: Floats, until: Floats) -> Floats:
    """Return the integral of a curve that `steps` returned, up to each of some times."""
    total = np.concatenate(([0.0], np.cumsum(values[:-1] * np.diff(times))))
    return np.interp(until, times, total)


def fairness(jobs: pd.DataFrame, gpus: int) -> pd.Series[float]:
    """Return the finish-time fairness of each job: at most 1 if it is served at least fairly.

    Completion time over the time that the job would take with an equal share of the cluster among
    the jobs present: its time alone, times their mean number while it is there, times its GPUs over
    all GPUs, but no less than its time alone **(D)**.

    Parameters
    ----------
    jobs
        Rows of `dlsched.simulation.measures.metrics.jobs_frame` of jobs that are complete.
    """
    submit = jobs["submit"].to_numpy()
    end = jobs["end"].to_numpy()
    ones = np.ones(len(jobs))
    moments, present = steps(np.concatenate((submit, end)), np.concatenate((ones, -ones)))
    between = integral(moments, present, end) - integral(moments, present, submit)
    mean_present = between / np.maximum(jobs["jct"].to_numpy(), 1e-300)
    slower = np.maximum(mean_present * jobs["gpus"].to_numpy() / gpus, 1.0)
    result: pd.Series[float] = jobs["jct"] / (jobs["work"] * slower)
    return result


def blocking_index(jobs: pd.DataFrame, segments: pd.DataFrame, makespan: float) -> float:
    """Return the mean ratio of pending time to remaining time of the jobs that wait (Muri, 6.1).

    At each of `SAMPLES` moments, evenly spaced **(D)**, the mean over the jobs that wait of the
    time for which they have waited over the work that they have left; then the mean over the
    moments at which a job waits, 0 if there is none.
    """
    moments = np.linspace(0, makespan, SAMPLES)
    total = np.zeros(SAMPLES)
    count = np.zeros(SAMPLES)
    for wait in _waits(jobs, segments):
        first, last = np.searchsorted(moments, (wait.begin, wait.end))
        total[first:last] += (wait.before + moments[first:last] - wait.begin) / wait.work
        count[first:last] += 1
    waiting = count > 0
    return float((total[waiting] / count[waiting]).mean()) if waiting.any() else 0.0


class Wait(NamedTuple):
    """A time in which a job waits, the time for which it waited before, and the work left."""

    begin: float
    end: float
    before: float
    work: float


def _waits(jobs: pd.DataFrame, segments: pd.DataFrame) -> Iterator[Wait]:
    """Yield the times in which the jobs wait, from their submission to their last start."""
    submit = jobs["submit"].tolist()
    work = jobs["work"].tolist()
    # One pass over lists: a data frame for each of thousands of jobs takes most of the time.
    ordered = segments.sort_values(["job", "start"], kind="stable")
    present = -1
    for j, begin, end, done, lost in ordered[COLUMNS].itertuples(index=False, name=None):
        if j != present:
            present = j
            last = submit[j]
            before = 0.0
            left = work[j]
        if begin > last and left > 0:
            yield Wait(last, begin, before, left)
            before += begin - last
        last = end
        left += lost - done

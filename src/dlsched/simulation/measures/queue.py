"""What waiting jobs bear: curves over time, the blocking index, fairness of completion times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("start", "end", "work", "lost")
SAMPLES = 1000
"""Moments, evenly spaced from 0 to the makespan, at which the blocking index is taken."""


def steps(times: Any, changes: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a curve that starts at 0 and changes at times: the times, and the value from each on.

    Parameters
    ----------
    times, changes
        When it changes and by how much, in any order; changes at the same time are added up.
    """
    moments, where = np.unique(np.asarray(times, float), return_inverse=True)
    return moments, np.cumsum(np.bincount(where, np.asarray(changes, float)))


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
    ones = np.ones(len(jobs))
    moments, present = steps(
        np.concatenate((jobs["submit"], jobs["end"])), np.concatenate((ones, -ones))
    )
    area = np.concatenate(([0.0], np.cumsum(present[:-1] * np.diff(moments))))
    between = np.interp(jobs["end"], moments, area) - np.interp(jobs["submit"], moments, area)
    length = np.maximum(jobs["jct"].to_numpy(), 1e-300)
    slower = np.maximum(between / length * jobs["gpus"].to_numpy() / gpus, 1.0)
    result: pd.Series[float] = jobs["jct"] / (jobs["work"] * slower)
    return result


def blocking_index(jobs: pd.DataFrame, segments: pd.DataFrame, makespan: float) -> float:
    """Return the mean ratio of pending time to remaining time of the jobs that wait (Muri, 6.1).

    At each of `SAMPLES` moments, evenly spaced **(D)**, the mean over the jobs that wait of the
    time for which they have waited over the work that they have left; then the mean over the
    moments at which a job waits, 0 if there is none.
    """
    moments = np.linspace(0, makespan, SAMPLES)
    total, count = np.zeros(SAMPLES), np.zeros(SAMPLES)
    waits = np.array(list(_waits(jobs, segments))).reshape(-1, 4)
    first, last = (np.searchsorted(moments, waits[:, i]).tolist() for i in (0, 1))
    for i, (begin, _, waited, left) in enumerate(waits.tolist()):
        at = slice(first[i], last[i])
        total[at] += (waited + moments[at] - begin) / left
        count[at] += 1
    some = count > 0
    return float((total[some] / count[some]).mean()) if some.any() else 0.0


def _waits(
    jobs: pd.DataFrame, segments: pd.DataFrame
) -> Iterator[tuple[float, float, float, float]]:
    """Yield begin and end of each wait, the time waited before it, and the work left."""
    submit, work = jobs["submit"].tolist(), jobs["work"].tolist()
    job, start = segments["job"].to_numpy(), segments["start"].to_numpy(float)
    # One pass over lists: a data frame for each of thousands of jobs takes most of the time.
    order = np.lexsort((start, job))
    numbers = (segments[name].to_numpy(float)[order].tolist() for name in COLUMNS)
    present = -1
    last, waited, left = 0.0, 0.0, 0.0
    for j, begin, end, done, lost in zip(job[order].tolist(), *numbers, strict=True):
        if j != present:
            present, last, waited, left = j, submit[j], 0.0, work[j]
        if begin > last and left > 0:
            yield last, begin, waited, left
            waited += begin - last
        last, left = end, left - done + lost

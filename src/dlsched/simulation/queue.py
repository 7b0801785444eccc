"""What waiting jobs bear: curves over time, the blocking index, fairness of completion times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

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
        Rows of `dlsched.simulation.metrics.jobs_frame` of jobs that are complete.
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
    for begin, end, waited, left in _waits(jobs, segments):
        first, last = np.searchsorted(moments, (begin, end))
        total[first:last] += (waited + moments[first:last] - begin) / left
        count[first:last] += 1
    some = count > 0
    return float((total[some] / count[some]).mean()) if some.any() else 0.0


def _waits(
    jobs: pd.DataFrame, segments: pd.DataFrame
) -> Iterator[tuple[float, float, float, float]]:
    """Yield begin and end of each wait, the time waited before it, and the work left."""
    columns = segments.sort_values("start")[["job", "start", "end", "work", "lost"]]
    submit, work = jobs["submit"].to_numpy(float), jobs["work"].to_numpy(float)
    for _, rows in columns.groupby("job"):
        j = int(rows["job"].iloc[0])
        last, waited, left = submit[j], 0.0, work[j]
        for _, start, end, done, lost in rows.to_numpy(float).tolist():
            if start > last and left > 0:
                yield last, start, waited, left
                waited += start - last
            last, left = end, left - done + lost

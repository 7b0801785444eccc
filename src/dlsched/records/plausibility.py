"""Values that no trace has: a wrong column or a wrong unit, most likely.

Every limit is far from what the published traces hold: their jobs last up to five months and hold
up to a few thousand GPUs.
"""

from datetime import UTC, datetime
from typing import TypeAlias

import numpy as np

from dlsched.records.readers.values import LATEST, Floats

DAY = 86400
LONGEST_DAYS = 366
"""Longest duration of a job."""
SPAN_DAYS = 3 * 366
"""Longest time between the first submission and the last."""
MOST_GPUS = 100_000
"""Most GPUs of one job: the largest clusters have about as many."""
SHARES = (25, 50, 100, 1000)
"""What half a trace's jobs hold if the column counts in percent or thousandths of a GPU."""
ENOUGH_JOBS = 20
"""Fewest jobs from which the columns as a whole are judged."""
_DATES = (631_152_000, 4_102_444_800)
"""The years 1990 to 2100, in seconds since 1970."""

Finding: TypeAlias = tuple[str, str, str]
"""Field of a job, what is wrong, and the remedy."""


def in_jobs(gpus: Floats, submit: Floats, duration: Floats) -> tuple[int | None, Finding | None]:
    """Return the first implausible job, and what is implausible about it, or about all jobs."""
    wrong = (duration > LONGEST_DAYS * DAY) | (submit > LATEST) | (gpus > MOST_GPUS)
    if wrong.any():
        place = int(np.argmax(wrong))
        return place, _in_job(*(float(column[place]) for column in (gpus, submit, duration)))
    return None, _in_all(gpus, submit, duration) if len(gpus) else None


def _in_job(gpus: float, submit: float, duration: float) -> Finding:
    in_ms = "if it is in milliseconds, say so: unit 'ms'"
    if duration > LONGEST_DAYS * DAY:
        problem = f"{_figure(duration)} s are {_years(duration)}, too long for a job"
        for unit, name in ((1, "seconds"), (1000, "milliseconds")):
            if _DATES[0] <= duration / unit < _DATES[1]:
                when = datetime.fromtimestamp(duration / unit, UTC).date()
                problem += f"; as {name} since 1970 it is the day {when}"
                return "duration", problem, "if it is a point in time, name start and end instead"
        return "duration", problem, in_ms
    if submit > LATEST:
        return "submit", f"{_figure(submit)} s since 1970 are after the year 5000", in_ms
    problem = f"{gpus:.0f} GPUs are more than any cluster has"
    return "gpus", problem, "name the column of GPUs"


def _in_all(gpus: Floats, submit: Floats, duration: Floats) -> Finding | None:
    span = float(np.ptp(submit))
    if span > SPAN_DAYS * DAY:
        problem = f"the submissions span {_years(span)}"
        return "submit", problem, "if they are in milliseconds, say so: unit 'ms'"
    if len(gpus) < ENOUGH_JOBS:
        return None
    if _rises(submit, duration):
        problem = "the durations rise with the submissions as points in time do"
        return "duration", problem, "name start and end instead, or the column of durations"
    lengths, held = np.sort(duration[gpus > 0]), gpus[gpus > 0]
    enough = len(lengths) >= ENOUGH_JOBS
    if enough and lengths[9 * len(lengths) // 10] < 60 and span > DAY:
        problem = f"nine of ten jobs last less than a minute (the longest {_figure(lengths[-1])} s)"
        return "duration", problem, "if the times are in seconds, say so: unit 's'"
    sizes, counts = np.unique(held[np.isin(held, SHARES)], return_counts=True)
    if enough and 2 * counts.sum() > len(held):
        most, count = int(sizes[counts.argmax()]), counts.max()
        problem = f"{count} of {len(held)} jobs hold {most} GPUs, as if in parts of a GPU"
        return "gpus", problem, "divide percent by 100, thousandths by 1000"
    return None


def _rises(submits: Floats, durations: Floats) -> bool:
    """Return whether durations are a line of slope one over the submissions."""
    if not submits.std() or not durations.std():
        return False
    slope = float(durations.std() / submits.std())
    return 0.8 < slope < 1.25 and float(np.corrcoef(submits, durations)[0, 1]) > 0.99


def _years(seconds: float) -> str:
    days = seconds / DAY
    return f"{days / 365.25:,.0f} years" if days > 2 * 365 else f"{days:,.0f} days"


def _figure(value: float) -> str:
    return f"{value:,.15g}"

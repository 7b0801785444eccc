"""Values that no trace has: a wrong column or a wrong unit, most likely.

Every limit is far from what the published traces hold: their jobs last up to five months and hold
up to a few thousand GPUs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeAlias

import numpy as np

from dlsched.errors import InstanceError
from dlsched.records.traces.job import TraceJob
from dlsched.schema.quantities import Number, to_json

DAY = 86400
LONGEST_DAYS = 366
"""Longest duration of a job."""
SPAN_DAYS = 3 * 366
"""Longest time between the first submission and the last."""
LATEST = 10**11
"""Latest submission in seconds since 1970, the year 5138; in milliseconds it is 1973."""
MOST_GPUS = 100_000
"""Most GPUs of one job: the largest clusters have about as many."""
SHARES = frozenset({25, 50, 100, 1000})
"""What half a trace's jobs hold if the column counts in percent or thousandths of a GPU."""
ENOUGH_JOBS = 20
"""Fewest jobs from which the columns as a whole are judged."""
_DATES = (631_152_000, 4_102_444_800)
"""The years 1990 to 2100, in seconds since 1970."""

Finding: TypeAlias = tuple[str, str, str]
"""Field of a job, what is wrong, and the remedy."""


def in_job(gpus: int, submit: Number, duration: Number) -> Finding | None:
    """Return what is implausible about one job; None if nothing is."""
    if duration > LONGEST_DAYS * DAY:
        problem = f"{_figure(duration)} s are {_years(duration)}, too long for a job"
        for unit, name in ((1, "seconds"), (1000, "milliseconds")):
            if _DATES[0] <= duration / unit < _DATES[1]:
                when = datetime.fromtimestamp(float(duration / unit), UTC).date()
                problem += f"; as {name} since 1970 it is the day {when}"
                return "duration", problem, "if it is a point in time, name start and end instead"
        return "duration", problem, "if it is in milliseconds, say so: unit 'ms'"
    if submit > LATEST:
        problem = f"{_figure(submit)} s since 1970 are after the year 5000"
        return "submit", problem, "if it is in milliseconds, say so: unit 'ms'"
    if gpus > MOST_GPUS:
        return "gpus", f"{gpus} GPUs are more than any cluster has", "name the column of GPUs"
    return None


def in_jobs(jobs: Sequence[TraceJob]) -> Finding | None:
    """Return what is implausible about jobs as a whole; None if nothing is."""
    submits = [job.submit for job in jobs]
    span = max(submits) - min(submits)
    if span > SPAN_DAYS * DAY:
        problem = f"the submissions span {_years(span)}"
        return "submit", problem, "if they are in milliseconds, say so: unit 'ms'"
    if len(jobs) < ENOUGH_JOBS:
        return None
    if _rises(np.array(submits, float), np.array([job.duration for job in jobs], float)):
        problem = "the durations rise with the submissions as points in time do"
        return "duration", problem, "name start and end instead, or the column of durations"
    lengths = sorted(job.duration for job in jobs if job.gpus)
    if len(lengths) >= ENOUGH_JOBS and lengths[9 * len(lengths) // 10] < 60 and span > DAY:
        problem = f"nine of ten jobs last less than a minute (the longest {_figure(lengths[-1])} s)"
        return "duration", problem, "if the times are in seconds, say so: unit 's'"
    held = Counter(job.gpus for job in jobs if job.gpus)
    odd = sum(count for gpus, count in held.items() if gpus in SHARES)
    if held.total() >= ENOUGH_JOBS and 2 * odd > held.total():
        most = max(SHARES & held.keys(), key=lambda gpus: held[gpus])
        problem = f"{held[most]} of {held.total()} jobs hold {most} GPUs, as if in parts of a GPU"
        return "gpus", problem, "divide percent by 100, thousandths by 1000"
    return None


def refuse(
    found: Finding | None, where: str, names: Mapping[str, str], row: str | None = None
) -> None:
    """Raise the error of a finding, which names the column that holds the field."""
    if found is None:
        return
    field, problem, remedy = found
    column = names.get(field, field)
    path = f"{row}, {column}" if row else f"column {column}"
    override = "if it is right, pass plausibility=False (--no-plausibility)"
    raise InstanceError(where, path, problem, f"{remedy}; {override}")


def _rises(submits: np.ndarray, durations: np.ndarray) -> bool:
    """Return whether durations are a line of slope one over the submissions."""
    if not submits.std() or not durations.std():
        return False
    slope = float(durations.std() / submits.std())
    return 0.8 < slope < 1.25 and float(np.corrcoef(submits, durations)[0, 1]) > 0.99


def _years(seconds: Number) -> str:
    days = float(seconds) / DAY
    return f"{days / 365.25:,.0f} years" if days > 2 * 365 else f"{days:,.0f} days"


def _figure(value: Number) -> str:
    return f"{to_json(value):,}"

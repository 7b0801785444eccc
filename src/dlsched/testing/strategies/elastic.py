"""Random small elastic instances."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from dlsched.problems.elastic.schema import Instance

TIMES = st.one_of(st.integers(1, 60), st.sampled_from([Fraction("0.5"), Fraction("12.25")]))


@st.composite
def elastic(draw: st.DrawFn, max_jobs: int = 5, max_choices: int = 4) -> Instance:
    """Draw an instance with linear and tabulated running times, running and pending jobs.

    Parameters
    ----------
    max_jobs, max_choices
        Upper limits; the brute force enumerates up to (max_choices + 1) ** max_jobs allocations.
    """
    jobs: list[dict[str, Any]] = []
    for j in range(draw(st.integers(0, max_jobs))):
        least = draw(st.integers(1, 3))
        choices = draw(st.integers(1, max_choices))
        job: dict[str, Any] = {
            "id": f"j{j}",
            "gpus_per_worker": draw(st.integers(1, 3)),
            "min_workers": least,
            "max_workers": least + choices - 1,
            "running": draw(st.booleans()),
        }
        if draw(st.booleans()):
            job["min_running_time"] = draw(TIMES)
        else:
            job["running_times"] = draw(st.lists(TIMES, min_size=choices, max_size=choices))
        jobs.append(job)
    return Instance(name="drawn", capacity=draw(st.integers(0, 20)), jobs=jobs)

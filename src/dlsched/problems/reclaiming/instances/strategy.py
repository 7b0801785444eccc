"""Hypothesis strategy for small reclaiming instances."""

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from dlsched.problems.reclaiming.definition.schema import Instance

WEIGHTS = [Fraction(w) for w in ("1", "2", "3", "0", "0.5", "1.25")]
UNITS = [Fraction(10) ** e for e in (0, 3, 9, -3, -9)]
"""Units of weights, the simplest first, as Hypothesis shrinks towards it."""


@st.composite
def instances(
    draw: st.DrawFn,
    max_servers: int = 6,
    max_jobs: int = 6,
    weighted: bool = True,
    mixed: bool = False,
) -> Instance:
    """Draw a feasible instance with servers of up to 8 GPUs, some jobs without any base worker.

    Parameters
    ----------
    max_servers, max_jobs
        Upper limits of the size; the brute force is for at most about 15 servers.
    weighted
        Allow weights other than 1, decimals and 0 among them, in one unit from 1e-9 to 1e9.
    mixed
        Multiply each weight by a unit of its own instead.
    """
    free = draw(st.lists(st.integers(1, 8), min_size=1, max_size=max_servers))
    rows = [{"id": f"s{s}", "gpus": gpus} for s, gpus in enumerate(free)]
    jobs: list[dict[str, Any]] = []
    for j in range(draw(st.integers(0, max_jobs))):
        job: dict[str, Any] = {"id": f"j{j}", "workers": _workers(draw, free)}
        if weighted:
            job["weight"] = draw(st.sampled_from(WEIGHTS))
            if mixed:
                job["weight"] *= draw(st.sampled_from(UNITS))
        jobs.append(job)
    demand = min(draw(st.integers(0, max_servers)), len(free))
    # The common unit is drawn last, so that shrinking can remove it without changing other draws.
    unit = draw(st.sampled_from(UNITS)) if weighted and not mixed else 1
    for job in jobs:
        if "weight" in job:
            job["weight"] *= unit
    return Instance(name="drawn", demand=demand, servers=rows, jobs=jobs)


def _workers(draw: st.DrawFn, free: list[int]) -> list[dict[str, Any]]:
    """Draw the workers of a job, on what is free, which falls."""
    workers = []
    for _ in range(draw(st.integers(0, 4))):
        s = draw(st.integers(0, len(free) - 1))
        if free[s]:
            gpus = draw(st.integers(1, free[s]))
            free[s] -= gpus
            workers.append({"server": f"s{s}", "gpus": gpus, "flexible": draw(st.booleans())})
    return workers


def infeasible() -> list[Instance]:
    """Return an instance that demands more servers than it has."""
    return [Instance(name="infeasible", demand=2, servers=[{"id": "s", "gpus": 8}], jobs=[])]

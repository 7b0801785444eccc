"""Random small sensitivity instances."""

from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from dlsched.problems.sensitivity.definition.schema import Instance

SCALES = (Fraction(1), Fraction(1, 10**9), Fraction(10**9), Fraction(1, 1000), Fraction(1000))
"""Scales of throughputs, CPUs and memory."""


@st.composite
def instances(draw: st.DrawFn, max_jobs: int = 5, max_servers: int = 8) -> Instance:
    """Draw an instance; it may be infeasible.

    Unless jobs may wait, they have at most the cluster's GPUs; a job may have more than a server.
    The proportional share is in the middle of the axes, so that a job may be above it in one
    resource and below it in the other. In some instances throughput is monotone.

    Parameters
    ----------
    max_jobs, max_servers
        Upper limits of the size; the brute force is for about five jobs on eight servers.
    """
    count = draw(st.integers(1, max_servers))
    gpus = draw(st.integers(1, 3))
    allow_split = draw(st.booleans())
    may_wait = draw(st.sampled_from([False, False, True]))
    unit, per_cpu, per_gb = (draw(st.sampled_from(SCALES)) for _ in range(3))
    monotone = draw(st.booleans())
    largest = gpus * min(2, count) if allow_split else gpus
    profiles: dict[str, Any] = {}
    for p in range(draw(st.integers(1, 3))):
        table = np.array(_table(draw, monotone), dtype=object)
        profiles[f"p{p}"] = {
            "gpus": draw(st.integers(1, max(3, largest))),
            "cpus": [per_cpu * c for c in (1, 2, 3)],
            "memory": [per_gb * m for m in (1, Fraction(5, 2), 4)],
            "throughput": (table * unit / 4).tolist(),
        }
    free, jobs = count * gpus, list[dict[str, str]]()
    for _ in range(draw(st.integers(0, max_jobs))):
        fitting = [n for n, p in profiles.items() if p["gpus"] <= free or may_wait]
        if fitting:
            name = draw(st.sampled_from(fitting))
            free -= profiles[name]["gpus"]
            jobs.append({"id": f"j{len(jobs)}", "profile": name})
    cpus, memory = per_cpu * 2 * gpus, per_gb * Fraction(5, 2) * gpus
    return Instance(
        name="drawn",
        servers={"count": count, "gpus": gpus, "cpus": cpus, "memory": memory},
        allow_split=allow_split,
        may_wait=may_wait,
        profiles=profiles,
        jobs=jobs,
    )


def _table(draw: st.DrawFn, monotone: bool) -> list[list[int]]:
    """Draw throughputs by CPUs and memory, above 0 in the middle."""
    table = [[draw(st.integers(0, 8)) for _ in range(3)] for _ in range(3)]
    table[1][1] = draw(st.sampled_from([4, 3, 2]))
    if monotone:
        table = np.maximum.accumulate(np.maximum.accumulate(table), axis=1).tolist()
    return table

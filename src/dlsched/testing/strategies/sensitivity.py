"""Random small sensitivity instances."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from dlsched.problems.sensitivity.schema import Instance


@st.composite
def sensitivity(draw: st.DrawFn, max_jobs: int = 4, max_servers: int = 2) -> Instance:
    """Draw an instance whose jobs have no more GPUs than the servers; it may be infeasible.

    Parameters
    ----------
    max_jobs, max_servers
        Upper limits of the size; the brute force is for about four jobs on three servers.
    """
    count = draw(st.integers(1, max_servers))
    gpus = draw(st.integers(1, 3))
    allow_split = draw(st.booleans())
    speeds = st.sampled_from([Fraction(n, 4) for n in range(9)])
    profiles: dict[str, Any] = {}
    for p in range(draw(st.integers(1, 2))):
        table = [[draw(speeds) for _ in range(2)] for _ in range(3)]
        table[1][0] = draw(st.sampled_from([Fraction(1), Fraction(3, 4), Fraction(1, 2)]))
        profiles[f"p{p}"] = {
            "gpus": draw(st.integers(1, 3)),
            "cpus": [1, 2, 3],
            "memory": [Fraction(5, 2), 4],
            "throughput": table,
        }
    left = count * gpus
    jobs: list[dict[str, str]] = []
    for _ in range(draw(st.integers(0, max_jobs))):
        fitting = [name for name, p in profiles.items() if p["gpus"] <= left]
        if fitting:
            name = draw(st.sampled_from(fitting))
            left -= profiles[name]["gpus"]
            jobs.append({"id": f"j{len(jobs)}", "profile": name})
    servers = {"count": count, "gpus": gpus, "cpus": 2 * gpus, "memory": Fraction(5, 2) * gpus}
    return Instance(
        name="drawn", servers=servers, allow_split=allow_split, profiles=profiles, jobs=jobs
    )

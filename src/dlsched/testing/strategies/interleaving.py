"""Random small interleaving instances."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from dlsched.problems.interleaving.schema import Instance


@st.composite
def interleaving(draw: st.DrawFn, max_jobs: int = 7, max_resources: int = 4) -> Instance:
    """Draw a feasible instance: uniform or a cover, with profiles that repeat.

    Parameters
    ----------
    max_jobs
        Upper limit of the size; the brute force is for about ten jobs.
    max_resources
        Upper limit of the resources, and so of a group.
    """
    k = draw(st.integers(1, max_resources))
    grouping = draw(st.sampled_from(["cover", "uniform"]))
    times = st.sampled_from([0, 1, 2, 3, 5, 8, Fraction("0.5"), Fraction("2.25")])
    profile = st.lists(times, min_size=k, max_size=k).filter(any)
    profiles = draw(st.lists(profile, min_size=1, max_size=4))
    jobs: list[dict[str, Any]] = []
    for gpus in draw(st.sets(st.sampled_from([1, 2, 4]), min_size=1, max_size=2)):
        room = max_jobs - len(jobs)
        count = draw(st.integers(0, room // k)) * k
        if grouping == "cover":
            count = draw(st.integers(0, room))
        for _ in range(count):
            stages = draw(st.sampled_from(profiles))
            jobs.append({"id": f"j{len(jobs)}", "gpus": gpus, "stages": stages})
    instance = Instance(
        name="drawn",
        resources=[f"r{i}" for i in range(k)],
        grouping=grouping,
        weigh_by=draw(st.sampled_from(["groups", "gpus"])),
        max_group_size=draw(st.integers(1, k)) if grouping == "cover" else None,
        jobs=draw(st.permutations(jobs)),
    )
    if grouping == "uniform" or not draw(st.booleans()):
        return instance
    most = sum(job.gpus for job in instance.jobs)
    return instance.model_copy(update={"gpu_budget": draw(st.integers(instance.least_gpus, most))})

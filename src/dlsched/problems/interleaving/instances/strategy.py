"""A Hypothesis strategy for small interleaving instances."""

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from dlsched.problems.interleaving.definition.schema import Instance

_TIMES = [0, 0, 1, 1, 2, 3, 5, 8, Fraction("0.5"), Fraction("2.25")]
_FAR = (-300, -150, -9, 0, 9, 14)
"""Powers of ten as far apart as the numbers of an instance can be."""
VARIATIONS: tuple[dict[str, Any], ...] = ({}, {"scales": True, "max_jobs": 6})
"""Options of `instances` with which the conformance checks draw."""


@st.composite
def instances(
    draw: st.DrawFn, max_jobs: int = 7, max_resources: int = 4, scales: bool = False
) -> Instance:
    """Draw a feasible instance: uniform or a cover, with profiles that repeat.

    Parameters
    ----------
    max_jobs
        Most jobs; brute force is for about ten.
    max_resources
        Most resources, and so the largest group.
    scales
        Whether stage times are scaled by powers of ten, from 1e-9 to 1e9 by one power or one for
        each profile, or from 1e-300 to 1e14, and GPUs are up to 1,024.
    """
    k = draw(st.integers(1, max_resources))
    grouping = draw(st.sampled_from(["cover", "uniform"]))
    times = st.sampled_from(_TIMES)
    if scales:
        times = times | st.integers(1, 999).map(lambda n: Fraction(n, 100))
    profile = st.lists(times, min_size=k, max_size=k).filter(any)
    profiles = draw(st.lists(profile, min_size=1, max_size=max_jobs if scales else 4))
    if scales:
        profiles = _scaled(draw, profiles)
    sizes = st.sampled_from([1, 2, 4, 8, 32, 1024] if scales else [1, 2, 4])
    jobs: list[dict[str, Any]] = []
    for gpus in draw(st.sets(sizes, min_size=1, max_size=2)):
        remaining = max_jobs - len(jobs)
        count = draw(st.integers(0, remaining // k)) * k
        if grouping == "cover":
            count = draw(st.integers(0, remaining))
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


def infeasible() -> list[Instance]:
    """Return instances without a solution: one above the budget, one that does not divide."""
    common = {"resources": ["cpu", "gpu"], "jobs": [{"id": "a", "stages": [1, 2]}]}
    return [
        Instance(name="above-budget", grouping="cover", gpu_budget=0, **common),
        Instance(name="indivisible", grouping="uniform", **common),
    ]


def _scaled(draw: st.DrawFn, profiles: list[list[Any]]) -> list[list[Any]]:
    kind = draw(st.sampled_from(["one", "each", "far"]))
    near = st.integers(-9, 9)
    power = st.sampled_from(_FAR) if kind == "far" else near
    powers = [draw(power)] * len(profiles)
    if kind != "one":
        powers = [draw(power) for _ in profiles]
    return [
        [Fraction(t) * Fraction(10) ** power for t in profile]
        for profile, power in zip(profiles, powers, strict=True)
    ]

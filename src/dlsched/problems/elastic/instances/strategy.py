"""Hypothesis strategy for small elastic instances."""

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from dlsched.problems.elastic.definition.schema import Instance
from dlsched.schema import Number

VALUES = st.one_of(st.integers(1, 60), st.sampled_from([Fraction("0.5"), Fraction("12.25")]))
UNITS = [Fraction(10) ** e for e in (0, 3, 9, -3, -9)]
"""Units of running times, the simplest first, as Hypothesis shrinks towards it."""
SPEEDS = (1, Fraction("0.3333"), Fraction("0.5"), 3)
VARIATIONS: tuple[dict[str, Any], ...] = ({}, {"pools": True, "max_jobs": 4, "max_choices": 3})
"""Options of `instances` with which the conformance checks draw."""


@st.composite
def instances(
    draw: st.DrawFn,
    max_jobs: int = 5,
    max_choices: int = 4,
    mixed: bool = False,
    pools: bool = False,
) -> Instance:
    """Draw an instance with linear and tabulated running times, running and pending jobs.

    Times are from 5e-10 to 6e10 seconds; among the capacities are those that the smallest base
    demands use up exactly, and one above all demands.

    Parameters
    ----------
    max_jobs, max_choices
        Upper limits; the brute force enumerates up to (max_choices + 1) ** max_jobs allocations.
    mixed
        Give each job a unit of its own, so that values differ by more digits than a solver has.
    pools
        Whether there are two pools of GPUs instead of one capacity.
    """
    unit = draw(st.sampled_from(UNITS))
    jobs = [_job(draw, j, max_choices, unit, mixed) for j in range(draw(st.integers(0, max_jobs)))]
    bases = sorted(job["gpus_per_worker"] * job["min_workers"] for job in jobs)
    fitting = [sum(bases[:n]) for n in range(len(bases) + 1)]
    capacities = st.one_of(st.integers(0, 20), st.sampled_from([*fitting, 10**6]))
    if not pools:
        return Instance(name="drawn", capacity=draw(capacities), jobs=jobs)
    return Instance(
        name="drawn",
        jobs=[job | _kind(draw, job["running"]) for job in jobs],
        pools=[
            {"id": name, "capacity": draw(capacities), "speed": draw(st.sampled_from(SPEEDS))}
            for name in draw(st.permutations(["training", "loan"]))
        ],
        mixed_efficiency=draw(st.sampled_from([Fraction("0.7"), 1, Fraction("0.25")])),
    )


def _job(
    draw: st.DrawFn, number: int, max_choices: int, unit: Number, mixed: bool
) -> dict[str, Any]:
    """Draw a job for one capacity."""
    least = draw(st.integers(1, 3))
    choices = draw(st.integers(1, max_choices))
    job: dict[str, Any] = {
        "id": f"j{number}",
        "gpus_per_worker": draw(st.integers(1, 3)),
        "min_workers": least,
        "max_workers": least + choices - 1,
        "running": draw(st.booleans()),
    }
    if mixed:
        unit = draw(st.sampled_from(UNITS))
    if draw(st.booleans()):
        return job | {"min_running_time": draw(VALUES) * unit}
    times = draw(st.lists(VALUES, min_size=choices, max_size=choices))
    return job | {"running_times": [time * unit for time in times]}


def _kind(draw: st.DrawFn, running: bool) -> dict[str, Any]:
    """Draw whether a job can use loan, and where it runs."""
    kind: dict[str, Any] = {"fungible": draw(st.booleans()), "heterogeneous": draw(st.booleans())}
    if running:
        loan = ["loan"] if any(kind.values()) else []
        kind["base_pool"] = draw(st.sampled_from([None, "training", *loan]))
    return kind

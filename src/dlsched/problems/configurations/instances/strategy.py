"""Hypothesis strategy for small instances of configurations."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from dlsched.problems.configurations.definition.schema import Instance

VARIATIONS: tuple[dict[str, Any], ...] = (
    {},
    {"power": 1},
    {"power": Fraction("0.5")},
    {"power": Fraction("-1.25")},
)
"""Powers below and above 0, whole and not."""
UNITS = [Fraction(10) ** e for e in (0, 3, -3, -9, 13)]
"""Units of goodput, the simplest first."""
GOODPUTS = [
    Fraction(n) for n in ("1", "2", "3", "4", "0", "0.5", "7.25", "1.2345678901234567", "100")
]
PENALTIES = [Fraction("1.1"), 1, Fraction("0.5"), 0, 100, Fraction("0.123456789")]


@st.composite
def instances(draw: st.DrawFn, power: Any = Fraction(-1, 2), max_jobs: int = 4) -> Instance:
    """Draw an instance with two types at most, of nodes of 1 to 7 GPUs.

    Parameters
    ----------
    power
        As the field.
    max_jobs
        Upper limit; brute force enumerates six choices of each job.
    """
    types, listed = [], []
    for kind in ("A", "B")[: draw(st.integers(1, 2))]:
        whole, nodes = draw(st.sampled_from([2, 4, 1, 6, 3, 7])), draw(st.integers(0, 3))
        types.append({"id": kind, "nodes": nodes, "gpus_per_node": whole})
        parts = [(1, 2**k) for k in range(whole.bit_length())]
        every = [*parts, *((n, n * whole) for n in (1, 2)), (4, 4 * whole)]
        for nodes, gpus in draw(st.lists(st.sampled_from(every), max_size=3, unique=True)):
            name = f"{kind}{nodes}x{gpus}"
            listed.append({"id": name, "type": kind, "nodes": nodes, "gpus": gpus})
    unit = draw(st.sampled_from(UNITS))
    numbers = [float(unit * value) for value in GOODPUTS]  # the doubles that a file can have
    models: list[dict[str, Any]] = [
        {
            "id": f"m{i}",
            "goodput": {c["id"]: draw(st.sampled_from(numbers)) for c in listed},
            "restart_seconds": draw(st.sampled_from([30, 0, Fraction("7.5"), 10**6])),
        }
        for i in range(draw(st.integers(1, 2)))
    ]
    jobs = [_job(draw, f"j{i}", models) for i in range(draw(st.integers(0, max_jobs)))]
    return Instance(
        name="drawn",
        power=power,
        penalty=draw(st.sampled_from(PENALTIES)),
        types=types,
        configurations=listed,
        models=models,
        jobs=jobs,
    )


def _job(draw: st.DrawFn, name: str, models: list[dict[str, Any]]) -> dict[str, Any]:
    """Draw a job; half of those that can run do."""
    model = draw(st.sampled_from(models))
    job: dict[str, Any] = {"id": name, "model": model["id"]}
    job["age"] = draw(st.sampled_from([0, 60, 3600, Fraction("123456.789"), 10**9]))
    job["restarts"] = draw(st.integers(0, 3))
    runs = draw(st.booleans())
    able = [c for c, value in model["goodput"].items() if value]
    if able and runs:
        job["present"] = draw(st.sampled_from(able))
    return job

"""Hypothesis strategy for small instances of configurations."""

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from dlsched.problems.configurations.definition.schema import Instance

VARIATIONS: tuple[dict[str, Any], ...] = ({}, {"power": 1}, {"power": 0.5}, {"power": -1.25})
UNITS = [1, 1e3, 1e-3, 1e-9, 1e13]
GOODPUTS = [1, 2, 3, 4, 0, 0.5, 7.25, 1.2345678901234567, 100]
PENALTIES = [Fraction("1.1"), 1, Fraction("0.5"), 0, 100, Fraction("0.123456789")]


@st.composite
def instances(draw: st.DrawFn, power: float = -0.5, max_jobs: int = 4) -> Instance:
    """Draw an instance with two types at most, of nodes of 1 to 7 GPUs.

    Parameters
    ----------
    power
        As the field.
    max_jobs
        Upper limit; brute force enumerates up to seven choices of each job.
    """
    parts: dict[str, list[dict[str, Any]]] = {"types": [], "configurations": []}
    for kind in ("A", "B")[: draw(st.integers(1, 2))]:
        whole, count = draw(st.sampled_from([2, 4, 1, 6, 3, 7])), draw(st.integers(0, 3))
        parts["types"].append({"id": kind, "nodes": count, "gpus_per_node": whole})
        every = [(1, 2**k) for k in range(whole.bit_length())]
        every += [(n, n * whole) for n in (1, 2, 4)]
        for nodes, gpus in draw(st.lists(st.sampled_from(every), max_size=3, unique=True)):
            row = {"id": f"{kind}{nodes}x{gpus}", "type": kind, "nodes": nodes, "gpus": gpus}
            parts["configurations"].append(row)
    unit = draw(st.sampled_from(UNITS))
    numbers, seconds = st.sampled_from([unit * g for g in GOODPUTS]), [30, 0, 7.5, 10**6]
    parts["models"] = [
        {
            "id": f"m{i}",
            "goodput": {c["id"]: draw(numbers) for c in parts["configurations"]},
            "restart_seconds": draw(st.sampled_from(seconds)),
        }
        for i in range(draw(st.integers(1, 2)))
    ]
    parts["jobs"] = [
        _job(draw, f"j{i}", parts["models"]) for i in range(draw(st.integers(0, max_jobs)))
    ]
    plain: dict[str, Any] = {"name": "drawn", "power": power}
    return Instance(**plain, **parts, penalty=draw(st.sampled_from(PENALTIES)))


def _job(draw: st.DrawFn, name: str, models: list[dict[str, Any]]) -> dict[str, Any]:
    """Draw a job; half of those that can run do."""
    model = draw(st.sampled_from(models))
    job: dict[str, Any] = {"id": name, "model": model["id"], "restarts": draw(st.integers(0, 3))}
    job["age"] = draw(st.sampled_from([0, 60, 3600, 123456.789, 10**9]))
    runs = draw(st.booleans())
    able = [c for c, value in model["goodput"].items() if value]
    return job | ({"present": draw(st.sampled_from(able))} if able and runs else {})

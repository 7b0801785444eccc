"""Hypothesis strategy for small instances of shares."""

from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

from hypothesis import strategies as st

from dlsched.problems.shares.definition.schema import Instance

VARIATIONS = tuple(
    {"objective": objective} for objective in ("max_min", "makespan", "finish_time", "total")
)
"""Each objective."""
RATES = [Fraction(r) for r in ("1", "2", "0.5", "3.25", "0", "10")]
UNITS = [Fraction(10) ** e for e in (0, 3, -3, 9, -9)]


@st.composite
def instances(
    draw: st.DrawFn, objective: str = "max_min", max_jobs: int = 3, max_models: int = 2
) -> Instance:
    """Draw an instance with two types of GPU at most, with and without pairs.

    Parameters
    ----------
    objective
        As the field.
    max_jobs, max_models
        Upper limits of the size.
    """
    types = ["A", "B"][: draw(st.integers(1, 2))]
    gpus = {kind: draw(st.sampled_from([1, 2, 4, 0])) for kind in types}
    unit = draw(st.sampled_from(UNITS))
    models: list[dict[str, Any]] = [
        {
            "id": f"m{i}",
            "gpus": draw(st.sampled_from([1, 2])),
            "rates": {kind: unit * draw(st.sampled_from(RATES)) for kind in types},
        }
        for i in range(draw(st.integers(1, max_models)))
    ]
    usable = [m for m in models if any(r and gpus[k] >= m["gpus"] for k, r in m["rates"].items())]
    pairs = [
        _pair(draw, a, b, types, unit)
        for a, b in combinations_with_replacement(models, 2)
        if a["gpus"] == b["gpus"] and draw(st.booleans())
    ]
    jobs = [
        {
            "id": f"j{i}",
            "model": draw(st.sampled_from(usable))["id"],
            "weight": draw(st.sampled_from([1, 2, Fraction(1, 2)])),
            "steps": draw(st.sampled_from([100, 1, 7, Fraction(5, 2)])),
            "elapsed": draw(st.sampled_from([0, 10, 1000])),
        }
        for i in range(draw(st.integers(0, max_jobs)) if usable else 0)
    ]
    return Instance(
        name="drawn", objective=objective, gpus=gpus, models=models, pairs=pairs, jobs=jobs
    )


def _pair(
    draw: st.DrawFn, a: dict[str, Any], b: dict[str, Any], types: list[str], unit: Fraction
) -> dict[str, Any]:
    """Draw the rates of jobs of two models on the same GPUs."""
    ours, theirs = (unit * draw(st.sampled_from(RATES[:4])) for _ in range(2))
    both = (ours, ours if a is b else theirs)
    return {"models": (a["id"], b["id"]), "type": draw(st.sampled_from(types)), "rates": both}

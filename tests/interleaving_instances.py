"""Small instances of interleaving, and the simplest way to compute a group's efficiency."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np

from dlsched.problems.interleaving import Instance, iteration_time


def job(name: str, stages: Sequence[Any], gpus: int = 1) -> dict[str, Any]:
    """Return a job with a stage on each resource."""
    return {"id": name, "gpus": gpus, "stages": list(stages)}


def cover(jobs: Sequence[dict[str, Any]], budget: int | None = None, **fields: Any) -> Instance:
    """Return an instance with groups of any size, on as many resources as jobs have stages."""
    resources = list("rstuvwxy")[: len(jobs[0]["stages"])]
    usual = {"name": "hand", "grouping": "cover", "gpu_budget": budget, "resources": resources}
    return Instance(**usual | fields, jobs=jobs)


def gamma(stages: Sequence[Sequence[Any]], offsets: Sequence[int] | None = None) -> Fraction:
    """Return eq. 4 of a group at some offsets, exactly; by default at the best of all."""
    k = len(stages[0])
    every = permutations(range(k), len(stages)) if offsets is None else [offsets]
    time = min(iteration_time(stages, those) for those in every)
    return Fraction(sum(map(sum, stages))) / (k * time)


def gamma_in_doubles(stages: Any) -> float:
    """Return the best of eq. 4 of a group in floats, fast for groups of five."""
    array = np.array(stages, dtype=float)
    size, k = array.shape
    rolled = np.stack([np.roll(array, -o, axis=1) for o in range(k)])
    offsets = np.array([(0, *rest) for rest in permutations(range(1, k), size - 1)])
    least = rolled[offsets, np.arange(size)].max(axis=1).sum(axis=1).min()
    return float(array.sum() / (k * least))

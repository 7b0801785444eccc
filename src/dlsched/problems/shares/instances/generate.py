"""Instances of shares."""

from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from dlsched.problems.shares.definition.schema import Instance

_SPEEDS = {"v100": (1.0, 1.0), "p100": (0.3, 0.9), "k80": (0.08, 0.5)}
"""The least and the largest rate of a model on each type, by that on the fastest."""
_SCALES = {1: 0.7, 2: 0.1, 4: 0.15, 8: 0.05}
"""GPUs of a job, and how often; ours."""


def generate(
    rng: np.random.Generator,
    *,
    jobs: int = 64,
    gpus: int = 20,
    models: int = 8,
    objective: str = "max_min",
    sharing: bool = True,
) -> Instance:
    """Draw models with rates on three types of GPU, and jobs that run them.

    Parameters
    ----------
    jobs
        How many jobs are present.
    gpus
        GPUs of each type.
    models
        How many models there are; each runs on 1, 2, 4 and 8 GPUs.
    objective
        As the field.
    sharing
        Whether jobs of 1 GPU may share it, each at .4 to 1 of its rate alone.
    """
    best = rng.uniform(1, 40, models)
    speeds = {kind: best * rng.uniform(low, high, models) for kind, (low, high) in _SPEEDS.items()}
    rows = [
        {"id": f"m{i} x{scale}", "gpus": scale}
        | {"rates": {k: round(float(s[i] * scale**0.9), 6) for k, s in speeds.items()}}
        for i in range(models)
        for scale in _SCALES
    ]
    alone: list[dict[str, Any]] = rows[:: len(_SCALES)] if sharing else []
    pairs = [
        {"models": (a["id"], b["id"]), "type": kind, "rates": _beside(rng, a, b, kind)}
        for a, b in combinations_with_replacement(alone, 2)
        for kind in speeds
    ]
    scales = rng.choice(list(_SCALES), jobs, p=list(_SCALES.values()))
    chosen = rng.integers(models, size=jobs)
    steps = rng.lognormal(10, 1.5, jobs)
    elapsed = rng.integers(0, 86_400, jobs)
    drawn = zip(chosen, scales, steps, elapsed, strict=True)
    listed = [
        {"id": f"j{j}", "model": f"m{m} x{scale}"}
        | {"steps": max(1, round(needed)), "elapsed": int(since)}
        for j, (m, scale, needed, since) in enumerate(drawn)
        if scale <= gpus
    ]
    plain: dict[str, Any] = {"name": "unnamed", "objective": objective, "models": rows}
    return Instance(**plain, gpus=dict.fromkeys(speeds, gpus), pairs=pairs, jobs=listed)


def _beside(
    rng: np.random.Generator, a: dict[str, Any], b: dict[str, Any], kind: str
) -> tuple[float, float]:
    """Return the rates of two jobs on the same GPUs; equal ones of one model."""
    parts = rng.uniform(0.4, 1, 2).tolist()
    rates = (row["rates"][kind] * part for row, part in zip((a, b), parts, strict=True))
    ours, theirs = (round(rate, 6) for rate in rates)
    return (ours, ours) if a is b else (ours, theirs)


def examples() -> list[Instance]:
    """Return the three jobs of Hadar's section II-A, with one GPU of each type."""
    rates = {"J1": (40, 20, 30), "J2": (5, 15, 5), "J3": (10, 2, 20)}
    kinds = ("V100", "P100", "K80")
    models = [{"id": m, "rates": dict(zip(kinds, row, strict=True))} for m, row in rates.items()]
    jobs = [{"id": name.lower(), "model": name} for name in rates]
    gpus = dict.fromkeys(kinds, 1)
    source = "Hadar (IEEE TC 2026), section II-A: the rates X, one GPU of each type"
    return [Instance(name="shares-three-jobs", source=source, gpus=gpus, models=models, jobs=jobs)]

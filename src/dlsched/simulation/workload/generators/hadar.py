"""The workload and the cluster of Hadar's simulation (section IV)."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from dlsched.errors import InstanceError, OptionError, UnknownName
from dlsched.problems.shares import read_rates
from dlsched.problems.utility.instances.generate import (
    GPU_HOURS,
    MODELS_OF,
    NAMES,
    WORKERS,
    draw_hours,
    draw_rates,
)
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload

TYPES: Final = ("V100", "P100", "K80")
"""Types of GPUs, fastest first for most models."""
RESTART: Final = 10
"""Seconds of a checkpoint and restart, whenever a job gets a new allocation."""
MODELS: Final[Mapping[str, tuple[str, ...]]] = {
    size: tuple(model for model in models if model != "recommendation")
    for size, models in MODELS_OF.items()
}
"""The models of each size in Table III."""
PRESETS: Final[Mapping[str, float]] = {"paper-low": 0.36, "paper": 0.45, "paper-high": 0.65}
"""Factors of the GPU-hours **(D)**, at which baselines have durations of section IV-B.

"paper": 68 hours with `yarn_cs`, the default scheduler of production; "paper-low": 54 hours with
`tiresias`; "paper-high": a lower bound on all policies is Hadar's 40 hours. With 1 it is 61 hours.
No factor has all of the printed durations.
"""
GAIN: Final = 0.9
"""Exponent of the number of GPUs in drawn rates **(D)**."""


def hadar_cluster(machines: int = 15, gpus: int = 4) -> Cluster:
    """Return the machines of section IV, each with GPUs of one type: 20 GPUs of each of three.

    Of other numbers of machines the first types have one more.
    """
    counts = [len(range(i, machines, len(TYPES))) for i in range(len(TYPES))]
    kinds = zip(TYPES, counts, strict=True)
    return Cluster.of([{"gpus": gpus, "gpu_type": kind, "count": n} for kind, n in kinds if n])


def hadar_workload(
    jobs: int = 480,
    *,
    preset: str = "paper",
    measured: str | Path | None = None,
    scale: float | None = None,
    sizes: Mapping[int, float] = WORKERS,
    seed: int = 0,
) -> Workload:
    """Draw the jobs of section IV-A, all submitted at 0.

    A job's group is uniform among the four, its GPU-hours in the group, and its model among those
    of the group in Table III, at one of the batch sizes that Gavel's authors measured: the paper
    states none. GPU-hours are those of K80 **(D)**: with W GPUs of this type a job runs for
    GPU-hours / W.

    Parameters
    ----------
    jobs
        Number of jobs; 480 in section IV-A.
    preset
        ``"paper"``, ``"paper-low"`` or ``"paper-high"``: the factor of the GPU-hours, see
        `PRESETS`.
    measured
        File of iterations per second as `dlsched.problems.shares.read_rates` reads it, as Gavel's;
        without it rates are drawn in the ranges of that file. A job that was not measured with its
        number of GPUs has one GPU **(D)**.
    scale
        Factor of the GPU-hours, instead of the preset's.
    sizes
        Numbers of GPUs and their weights; Gavel's by default.
    seed
        Of the generator.

    Raises
    ------
    InstanceError
        If the file cannot be used, or a model was not measured with one GPU on every type.
    UnknownName
        If there is no such preset.
    OptionError
        If an option is out of range.
    """
    if preset not in PRESETS:
        raise UnknownName("preset", preset, list(PRESETS))
    scale = PRESETS[preset] if scale is None else scale
    if jobs < 1 or not 0 < scale < math.inf or seed < 0 or not sizes or min(sizes) < 1:
        raise OptionError("jobs, scale and the sizes must be above 0, and the seed from 0")
    rng = np.random.default_rng(seed)
    known = None if measured is None else _measured(measured, sizes)
    weights = np.array([float(weight) for weight in sizes.values()])
    rows = []
    for i in range(jobs):
        group = str(rng.choice(list(GPU_HOURS)))
        hours = draw_hours(rng, *GPU_HOURS[group])
        model = str(rng.choice(MODELS[group]))
        gpus = int(rng.choice(list(sizes), p=weights / weights.sum()))
        if known is None:
            rates = {k: round(r * gpus**GAIN, 6) for k, r in draw_rates(rng, model).items()}
        else:
            batch = known[model][int(rng.integers(len(known[model])))]
            gpus = gpus if gpus in batch else 1
            rates = batch[gpus]
        work = round(max(1e-6, scale * hours / gpus * 3600), 6)
        rows.append(
            {
                "id": f"j{i + 1}",
                "submit": 0,
                "gpus": gpus,
                "work": work,
                "model": model,
                "iterations": max(1, round(work * rates[TYPES[-1]])),
                "restart": RESTART,
                "rates": rates,
                "gpu_type": TYPES[-1],
            }
        )
    source = "synthetic" if measured is None else "measured"
    return Workload.parse({"name": f"hadar-{source}-{jobs}-{seed}", "jobs": rows}, "the generator")


def _measured(
    path: str | Path, sizes: Mapping[int, float]
) -> dict[str, list[dict[int, dict[str, float]]]]:
    """Return the rates of each model at each batch size, by the number of GPUs."""
    alone = read_rates(path).alone
    found: dict[str, list[dict[int, dict[str, float]]]] = {}
    for model in (model for models in MODELS.values() for model in models):
        for name in sorted({name for name, _ in alone if name.startswith(NAMES[model])}):
            rows = {
                gpus: {k: float(alone.get((name, gpus), {}).get(k.lower(), 0)) for k in TYPES}
                for gpus in sorted({1, *sizes})
            }
            batch = {gpus: row for gpus, row in rows.items() if all(row.values())}
            if 1 in batch:
                found.setdefault(model, []).append(batch)
        if model not in found:
            problem = f"{NAMES[model]!r} has no rate on every type"
            raise InstanceError(str(path), "", problem, "give rates of one GPU on every type")
    return found

"""The workload and the cluster of Hadar's simulation (section IV)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from dlsched.errors import InstanceError, OptionError
from dlsched.problems.shares import read_rates
from dlsched.problems.utility.instances.generate import MODELS_OF
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload

TYPES: Final = ("V100", "P100", "K80")
"""Types of GPUs, fastest first for most models."""
RESTART: Final = 10
"""Seconds of a checkpoint and restart, whenever a job gets a new allocation."""
GPU_HOURS: Final[Mapping[str, tuple[float, float]]] = {
    "small": (0, 1),
    "medium": (1, 10),
    "large": (10, 50),
    "extra large": (60, 100),
}
"""From and to, in GPU-hours, of the groups of section IV-A; a job's group is uniform among them."""
SCALE: Final = 0.6
"""Factor of the GPU-hours **(D)**. With 1, no schedule with Gavel's rates can be as short as the
paper's 40 hours: a certified bound on the duration is 62 hours."""
SIZES: Final[Mapping[int, float]] = {1: 0.70, 2: 0.10, 4: 0.15, 8: 0.05}
"""Share of the jobs with each number of GPUs **(D)**; the paper takes them from the trace."""
JOB_TYPES: Final[Mapping[str, str]] = {
    "resnet18": "ResNet-18 (batch size 64)",
    "cyclegan": "CycleGAN",
    "lstm": "LM (batch size 20)",
    "transformer": "Transformer (batch size 64)",
    "resnet50": "ResNet-50 (batch size 64)",
}
"""Names in Gavel's files of the models of Table III, with batch sizes **(D)**: none is stated."""
SYNTHETIC: Final[Mapping[str, tuple[float, float, float]]] = {
    "resnet18": (25, 20, 6),
    "cyclegan": (4.5, 2.4, 0.5),
    "lstm": (65, 55, 18),
    "transformer": (9, 5, 1.8),
    "resnet50": (4.5, 2.6, 0.6),
}
"""Iterations per second of one GPU of each type, made up; for when no measured rates are given."""
GAIN: Final = 0.9
"""Exponent of the number of GPUs in synthetic rates **(D)**."""


def hadar_cluster(machines: int = 15, gpus: int = 4, types: Sequence[str] = TYPES) -> Cluster:
    """Return the machines of section IV, each with GPUs of one type: 20 GPUs of each of three.

    Parameters
    ----------
    machines, gpus
        Number of machines, and of GPUs on each.
    types
        Types of GPUs; as many machines of each as of the others, the first ones one more.
    """
    counts = [len(range(i, machines, len(types))) for i in range(len(types))]
    return Cluster.of(
        [
            {"gpus": gpus, "gpu_type": kind, "count": count}
            for kind, count in zip(types, counts, strict=True)
            if count
        ]
    )


def hadar_workload(
    jobs: int = 480,
    *,
    measured: str | Path | None = None,
    scale: float = SCALE,
    sizes: Mapping[int, float] = SIZES,
    seed: int = 0,
) -> Workload:
    """Draw the jobs of section IV-A, all submitted at 0.

    A job's group is uniform among the four, its GPU-hours in the group, and its model among those
    of the group in Table III. GPU-hours are those of K80 **(D)**: with W GPUs of this type a job
    runs for GPU-hours / W.

    Parameters
    ----------
    jobs
        Number of jobs.
    measured
        File of iterations per second as `dlsched.problems.shares.read_rates` reads it;
        without it those of `SYNTHETIC`. A job whose model was not measured with its number of
        GPUs has one GPU **(D)**.
    scale
        Factor of the GPU-hours, see `SCALE`.
    sizes
        Numbers of GPUs and their weights.
    seed
        Of the generator.

    Raises
    ------
    InstanceError
        If the file cannot be used, or a model was not measured with one GPU on every type.
    OptionError
        If an option is out of range.
    """
    if jobs < 1 or scale <= 0 or seed < 0 or not sizes or min(sizes) < 1:
        raise OptionError("jobs, scale and the sizes must be above 0, and the seed from 0")
    rng = np.random.default_rng(seed)
    known = _synthetic(sizes) if measured is None else _measured(measured, sizes)
    weights = np.array([float(weight) for weight in sizes.values()])
    rows = []
    for i in range(jobs):
        group = str(rng.choice(list(GPU_HOURS)))
        low, high = GPU_HOURS[group]
        # The interval is open at its lower end, where a job has no work.
        hours = high - float(rng.random()) * (high - low)
        model = str(rng.choice(MODELS_OF[group]))
        gpus = int(rng.choice(list(sizes), p=weights / weights.sum()))
        gpus = gpus if (model, gpus) in known else 1
        rates = known[model, gpus]
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


def _synthetic(sizes: Mapping[int, float]) -> dict[tuple[str, int], dict[str, float]]:
    """Return rates of W GPUs as W to the power of `GAIN` times those of one, to 6 digits."""
    rates_of: dict[tuple[str, int], dict[str, float]] = {}
    for model, rates in SYNTHETIC.items():
        for gpus in {1, *sizes}:
            row = [round(rate * gpus**GAIN, 6) for rate in rates]
            rates_of[model, gpus] = dict(zip(TYPES, row, strict=True))
    return rates_of


def _measured(
    path: str | Path, sizes: Mapping[int, float]
) -> dict[tuple[str, int], dict[str, float]]:
    rates = read_rates(path)
    rates_of = {}
    for model, name in JOB_TYPES.items():
        for gpus in sorted({1, *sizes}):
            known = rates.alone.get((name, gpus), {})
            row = {kind: float(known.get(kind.lower(), 0)) for kind in TYPES}
            if all(row.values()):
                rates_of[model, gpus] = row
            elif gpus == 1:
                problem = f"{name!r} has no rate on " + ", ".join(
                    k for k, r in row.items() if not r
                )
                raise InstanceError(str(path), "", problem, "give rates of one GPU on every type")
    return rates_of

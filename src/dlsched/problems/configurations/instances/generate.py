"""Instances of configurations: a round of Sia's on its cluster, or on several times its nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.configurations.definition.schema import Instance
from dlsched.problems.configurations.instances.profiles import (
    STAGES,
    TRAININGS,
    WORKLOADS,
    goodput,
)

NODES = {"t4": (6, 4), "rtx": (3, 8), "a100": (2, 8)}
"""Sia's simulated cluster of 64 GPUs: nodes of each type, and the GPUs of each."""
_LARGEST = 64
_AGE = (8.2, 1.3)
"""Logarithm of the age in seconds, ours: an hour in the median."""
_RESTARTS = 3600
"""Seconds of age for a restart, in the mean (ours)."""


def generate(
    rng: np.random.Generator,
    *,
    jobs: int = 40,
    scale: int = 1,
    running: float = 0.6,
    workload: str = "philly",
    power: float = -0.5,
) -> Instance:
    """Draw the jobs of a round, with the applications of Sia's public workloads.

    Parameters
    ----------
    jobs
        How many jobs are present.
    scale
        Times the 64 GPUs of the paper's cluster.
    running
        Share of jobs that have a configuration, as far as there are GPUs.
    workload
        Whose shares of applications are drawn: "philly", "helios" or "newtrace".
    power
        As the field.
    """
    if workload not in WORKLOADS:
        raise OptionError(f"workload={workload!r} must be one of {', '.join(WORKLOADS)}")
    types = [
        {"id": kind, "nodes": scale * nodes, "gpus_per_node": gpus}
        for kind, (nodes, gpus) in NODES.items()
    ]
    listed = configurations(types)
    models = [model(name, stage, listed) for name in TRAININGS for stage in range(STAGES)]
    column = WORKLOADS.index(workload)
    shares = np.array([training.shares[column] for training in TRAININGS.values()], dtype=float)
    drawn = rng.choice(len(TRAININGS), jobs, p=shares / shares.sum()) * STAGES
    chosen = (drawn + rng.integers(STAGES, size=jobs)).tolist()
    ages = np.rint(rng.lognormal(*_AGE, jobs)).astype(int).tolist()
    runs = rng.random(jobs) < running
    done = rng.random(jobs).tolist()
    free = {kind["id"]: kind["nodes"] * kind["gpus_per_node"] for kind in types}
    rows: list[dict[str, Any]] = []
    for j, (m, age) in enumerate(zip(chosen, ages, strict=True)):
        row: dict[str, Any] = {"id": f"j{j}", "model": models[m]["id"], "age": age}
        samples = list(TRAININGS.values())[m // STAGES].samples
        row["remaining"] = round(samples * (1 - (m % STAGES + done[j]) / STAGES))
        fits = [
            c for c in listed if c["id"] in models[m]["goodput"] and c["gpus"] <= free[c["type"]]
        ]
        small = [c for c in fits if c["gpus"] <= 2 * NODES[c["type"]][1]]
        if runs[j] and small:
            one = small[int(rng.integers(len(small)))]
            free[one["type"]] -= one["gpus"]
            row |= {"restarts": int(rng.poisson(age / _RESTARTS)), "present": one["id"]}
        rows.append(row)
    return Instance(
        name="unnamed", power=power, types=types, configurations=listed, models=models, jobs=rows
    )


def configurations(types: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return all configurations of up to 64 GPUs, as Sia's: powers of two, then whole nodes."""
    rows = []
    for kind in types:
        whole = kind["gpus_per_node"]
        parts = [(1, 2**k) for k in range(whole.bit_length()) if kind["nodes"]]
        most = min(kind["nodes"], _LARGEST // whole)
        for nodes, gpus in [*parts, *((n, n * whole) for n in range(2, most + 1))]:
            name = f"{kind['id']} x{gpus}"
            rows.append({"id": name, "type": kind["id"], "nodes": nodes, "gpus": gpus})
    return rows


def model(name: str, stage: int, listed: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a model at a stage of its training, with its goodput by configuration."""
    values = {
        one["id"]: float(f"{goodput(name, one['type'], stage, one['nodes'], one['gpus']):.6g}")
        for one in listed
    }
    return {
        "id": f"{name} {stage + 1}/{STAGES}",
        "goodput": {key: value for key, value in values.items() if value},
        "restart_seconds": TRAININGS[name].restart_seconds,
    }


def examples() -> list[Instance]:
    """Return two jobs on a node of two GPUs and a faster GPU: who restarts pays for it."""
    types = [
        {"id": "a", "nodes": 1, "gpus_per_node": 2},
        {"id": "b", "nodes": 1, "gpus_per_node": 1},
    ]
    listed = [
        {"id": "a1", "type": "a", "gpus": 1},
        {"id": "a2", "type": "a", "gpus": 2},
        {"id": "b1", "type": "b", "gpus": 1},
    ]
    models = [
        {"id": "m", "goodput": {"a1": 1, "a2": 4, "b1": 4}, "restart_seconds": 30},
        {"id": "n", "goodput": {"a1": 9, "a2": 16, "b1": 25}, "restart_seconds": 20},
    ]
    jobs = [
        {"id": "i", "model": "m", "age": 90, "restarts": 0, "present": "a1"},
        {"id": "j", "model": "n"},
    ]
    return [
        Instance(
            name="configurations-two-jobs",
            source="ours: two jobs whose costs are square roots, on the paper's program",
            types=types,
            configurations=listed,
            models=models,
            jobs=jobs,
        )
    ]

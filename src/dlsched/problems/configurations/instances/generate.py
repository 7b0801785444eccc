"""Instances of configurations: a round of Sia's on its cluster, or on several times its nodes."""

from typing import Any

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.configurations.definition.schema import Instance
from dlsched.problems.configurations.instances.profiles import PROFILES, STAGES, WORKLOADS, goodput

NODES = {"t4": (6, 4), "rtx": (3, 8), "a100": (2, 8)}
"""Sia's simulated cluster of 64 GPUs: nodes of each type, and the GPUs of each."""
_AGE, _RESTARTS, _LARGEST = (8.2, 1.3), 3600, 64
"""Ours: the age's logarithm, an hour in the median; seconds of age by restart; most GPUs."""


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
    nodes = {kind: scale * count for kind, (count, _) in NODES.items()}
    types = [{"id": k, "nodes": n, "gpus_per_node": NODES[k][1]} for k, n in nodes.items()]
    listed = [row for kind, n in nodes.items() for row in _of(kind, n, NODES[kind][1])]
    models = [_model(*entry, s, listed) for entry in PROFILES.items() for s in range(STAGES)]
    counts = np.array([profile["jobs"][workload] for profile in PROFILES.values()], dtype=float)
    drawn = rng.choice(len(PROFILES), jobs, p=counts / counts.sum()) * STAGES
    chosen = (drawn + rng.integers(STAGES, size=jobs)).tolist()
    ages = np.rint(rng.lognormal(*_AGE, jobs)).astype(int).tolist()
    runs, done = rng.random(jobs) < running, rng.random(jobs).tolist()
    free = {kind: n * NODES[kind][1] for kind, n in nodes.items()}
    samples = [profile["samples"] for profile in PROFILES.values()]
    rows: list[dict[str, Any]] = []
    for j, (m, age) in enumerate(zip(chosen, ages, strict=True)):
        row: dict[str, Any] = {"id": f"j{j}", "model": models[m]["id"], "age": age}
        row["remaining"] = round(samples[m // STAGES] * (1 - (m % STAGES + done[j]) / STAGES))
        fits = [c for c in listed if c["nodes"] <= 2 and c["gpus"] <= free[c["type"]]]
        fits = [c for c in fits if c["id"] in models[m]["goodput"]]
        if runs[j] and fits:
            one = fits[int(rng.integers(len(fits)))]
            free[one["type"]] -= one["gpus"]
            row |= {"restarts": int(rng.poisson(age / _RESTARTS)), "present": one["id"]}
        rows.append(row)
    parts: dict[str, Any] = {"types": types, "configurations": listed, "models": models}
    return Instance(name="unnamed", power=power, jobs=rows, **parts)


def _of(kind: str, nodes: int, whole: int) -> list[dict[str, Any]]:
    """Return the configurations of a type, as Sia's: powers of two, then whole nodes."""
    sizes = [(1, 2**k) for k in range(whole.bit_length())] if nodes else []
    sizes += [(n, n * whole) for n in range(2, min(nodes, _LARGEST // whole) + 1)]
    return [{"id": f"{kind} x{g}", "type": kind, "nodes": n, "gpus": g} for n, g in sizes]


def _model(name: str, profile: Any, stage: int, listed: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a model at a stage of its training, with its goodput to six digits."""
    values = {c["id"]: goodput(profile, c["type"], stage, c["nodes"], c["gpus"]) for c in listed}
    return {
        "id": f"{name} {stage + 1}/{STAGES}",
        "goodput": {key: float(f"{value:.6g}") for key, value in values.items() if value},
        "restart_seconds": profile["restart_seconds"],
    }


def examples() -> list[Instance]:
    """Return two jobs on a node of two GPUs and a faster GPU: who restarts pays for it."""
    sizes = {"a1": ("a", 1), "a2": ("a", 2), "b1": ("b", 1)}
    listed = [{"id": name, "type": kind, "gpus": gpus} for name, (kind, gpus) in sizes.items()]
    slow, fast = {"a1": 1, "a2": 4, "b1": 4}, {"a1": 9, "a2": 16, "b1": 25}
    parts: dict[str, Any] = {
        "source": "ours: two jobs whose costs are square roots",
        "types": [{"id": t, "nodes": 1, "gpus_per_node": n} for t, n in (("a", 2), ("b", 1))],
        "models": [{"id": name, "goodput": by} for name, by in (("m", slow), ("n", fast))],
        "jobs": [{"id": "i", "model": "m", "age": 90, "present": "a1"}, {"id": "j", "model": "n"}],
    }
    return [Instance(name="configurations-two-jobs", configurations=listed, **parts)]

"""Random utility instances with the paper's statistics, and the paper's own example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.utility.definition.schema import Instance

HEAD: Mapping[str, Any] = {"dlsched": 1, "problem": "utility", "name": "unnamed"}
KINDS = ("V100", "P100", "K80")
MODELS: Mapping[str, tuple[float, float, float]] = {
    "resnet50": (1.0, 0.62, 0.16),
    "resnet18": (1.0, 0.70, 0.20),
    "lstm": (1.0, 0.65, 0.33),
    "cyclegan": (1.0, 0.55, 0.14),
    "transformer": (1.0, 0.72, 0.30),
}
"""Speed on each type relative to the first, for the models of Table III; our numbers."""
MODELS_OF: Mapping[str, tuple[str, ...]] = {
    "small": ("resnet18",),
    "medium": ("cyclegan",),
    "large": ("lstm", "transformer"),
    "extra large": ("resnet50",),
}
"""The models of each size in Table III."""
GPU_HOURS: Mapping[str, tuple[float, float, float]] = {
    "small": (0.1, 1, 0.60),
    "medium": (1, 10, 0.30),
    "large": (10, 50, 0.08),
    "extra large": (60, 100, 0.02),
}
"""From, to (in GPU hours) and weight of the groups of section IV-A; the weights are ours.

The paper's small group begins at 0, where a job has no work; ours at 0.1.
"""
WORKERS = {1: 0.5, 2: 0.25, 4: 0.2, 8: 0.05}
"""Weights of the numbers of workers; our choice."""


def generate(
    rng: np.random.Generator,
    *,
    jobs: int = 20,
    slots: int = 40,
    gpus: int = 12,
    per_machine: int = 4,
    slot_seconds: float = 360,
    mix: str = "groups",
    utilization: float | None = 0.9,
    arrivals: float = 0.0,
    utility: str = "effective_throughput",
    rates: Sequence[Mapping[str, float]]
    | Mapping[str, Sequence[Mapping[str, float]]]
    | None = None,
    forking: bool = False,
) -> Instance:
    """Draw gang jobs for a cluster of three GPU types.

    Parameters
    ----------
    jobs, slots
        Number of each.
    gpus
        GPUs in all, a third of each type; 60 in section IV.
    per_machine
        GPUs of a machine; all of one type, the last one may have fewer.
    slot_seconds
        Six minutes in the paper.
    mix
        ``"groups"``, the GPU-hour groups of section IV-A with our weights; ``"uniform"``, the same
        groups with equal weights, another reading of the section; or ``"even"``, GPU hours within a
        factor of five. In groups a job's model is drawn from those of its size in Table III.
    utilization
        The jobs' GPU hours on the fastest type, as a share of all GPU hours of the horizon; the
        drawn hours are scaled to it. None leaves them as drawn.
    arrivals
        Jobs arrive evenly over this share of the horizon; by default all in the first slot, as in
        section IV-A.
    utility
        ``"effective_throughput"``, ``"linear"``, or ``"table"`` for a step down at a deadline.
    rates
        Measured rates on the three types to draw from, instead of the models'; by size group, or
        the same for all jobs.
    forking
        HadarE: machines of one GPU each, and jobs that may hold many.

    Raises
    ------
    OptionError
        If an option is out of range.
    """
    if utility not in ("effective_throughput", "linear", "table"):
        raise OptionError(f"utility={utility!r} must be effective_throughput, linear or table")
    if mix not in ("groups", "uniform", "even"):
        raise OptionError(f"mix={mix!r} must be 'groups', 'uniform' or 'even'")
    if jobs < 0 or slots < 1 or gpus < 1 or per_machine < 1 or not 0 <= arrivals <= 1:
        raise OptionError("jobs from 0; slots, gpus, per_machine from 1; arrivals from 0 to 1")
    if utilization is not None and utilization <= 0:
        raise OptionError(f"utilization={utilization} must be above 0, or none")
    machines = _machines(gpus, 1 if forking else per_machine)
    fastest = sum(sum(m["gpus"].values()) for m in machines if KINDS[0] in m["gpus"])
    demands = _demands(rng, jobs, mix, 0 if forking else max(1, fastest), rates)
    scale = 1.0
    if utilization is not None and demands:
        available = gpus * slots * slot_seconds / 3600
        scale = utilization * available / sum(demand.gpu_hours for demand in demands)
    rows: list[dict[str, Any]] = []
    for j, demand in enumerate(demands):
        seconds = max(slot_seconds / 4, scale * demand.gpu_hours * 3600 / demand.workers)
        arrival = 1 + int(arrivals * slots * j / jobs)
        row: dict[str, Any] = {
            "id": f"j{j + 1}",
            "arrival": arrival,
            "workers": demand.workers,
            "iterations": max(1, round(seconds * max(demand.rates.values()))),
            "rates": demand.rates,
        }
        if utility == "table":
            row["utilities"] = _deadline(rng, slots - arrival + 1, seconds / slot_seconds)
        rows.append(row)
    time = {"slots": slots, "slot_seconds": slot_seconds, "utility": {"kind": utility}}
    parts = {"forking": forking, "machines": machines, "jobs": rows}
    return Instance.parse({**HEAD, **time, **parts}, "the generator")


class _Demand(NamedTuple):
    """The work of a job in hours of GPUs of the fastest type, its workers, and its rates."""

    gpu_hours: float
    workers: int
    rates: dict[str, float]


def _demands(
    rng: np.random.Generator, jobs: int, mix: str, most_workers: int, measured: Any
) -> list[_Demand]:
    """Draw the jobs' demands: workers from `WORKERS` up to the most, all one if that is 0."""
    groups = {"": (1.0, 5.0, 1.0)} if mix == "even" else GPU_HOURS
    names = list(groups)
    weights = np.array([1.0 if mix == "uniform" else weight for _, _, weight in groups.values()])
    workers = np.array([count for count in WORKERS if count <= most_workers])
    chances = np.array([WORKERS[count] for count in workers.tolist()])
    demands = []
    for _ in range(jobs):
        group = names[int(rng.choice(len(names), p=weights / weights.sum()))]
        low, high, _ = groups[group]
        gpu_hours = float(rng.uniform(low, high))
        count = int(rng.choice(workers, p=chances / chances.sum())) if most_workers else 1
        demands.append(_Demand(gpu_hours, count, _rates(rng, group, measured)))
    return demands


def _machines(gpus: int, per_machine: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for i, kind in enumerate(KINDS):
        left = gpus // 3 + (i < gpus % 3)
        while left:
            count = min(left, per_machine)
            rows.append({"id": f"m{len(rows) + 1}", "gpus": {kind: count}})
            left -= count
    return rows


def _rates(rng: np.random.Generator, group: str, measured: Any) -> dict[str, float]:
    """Return iterations per second on each type, rounded to three decimals."""
    if isinstance(measured, Mapping):
        measured = measured.get(group) or [row for rows in measured.values() for row in rows]
    if measured is not None:
        return dict(measured[int(rng.integers(len(measured)))])
    models = MODELS_OF.get(group, tuple(MODELS))
    shares = MODELS[models[int(rng.integers(len(models)))]]
    base = float(np.exp(rng.uniform(np.log(2), np.log(40))))
    return {kind: round(base * share, 3) for kind, share in zip(KINDS, shares, strict=True)}


def _deadline(rng: np.random.Generator, longest: int, least: float) -> list[float]:
    """Return utilities that fall to a fifth after a deadline of 1.5 to 4 times the least time."""
    worth = int(rng.integers(10, 101))
    deadline = least * float(rng.uniform(1.5, 4))
    return [worth if c <= deadline else worth / 5 for c in range(1, longest + 1)]


def examples() -> list[Instance]:
    """Return the example of Hadar's section II-A, and the counterexample to its Theorem 2.

    The card says what they show. The section's rates are epochs a round: an epoch is 360 iterations
    here, so that a rate in iterations a second is in epochs per slot of six minutes.
    """
    rates = {
        "J1": {"V100": 40, "P100": 20, "K80": 30},
        "J2": {"V100": 5, "P100": 15, "K80": 5},
        "J3": {"V100": 10, "P100": 2, "K80": 20},
    }
    section = {
        "name": "hadar-section2",
        "source": "Hadar (IEEE TC 2026), section II-A, with its rates X",
        "slots": 12,
        "slot_seconds": 360,
        "machines": [
            {"id": "m1", "gpus": {"V100": 2}},
            {"id": "m2", "gpus": {"P100": 3}},
            {"id": "m3", "gpus": {"K80": 1}},
        ],
        "jobs": [
            {"id": job, "arrival": 1, "workers": w, "iterations": 360 * e, "rates": rates[job]}
            for job, w, e in (("J1", 3, 80), ("J2", 2, 30), ("J3", 2, 50))
        ],
    }
    theorem = {
        "name": "hadar-theorem2",
        "source": "a counterexample to Hadar's Theorem 2, see the card",
        "slots": 1,
        "slot_seconds": 1,
        "utility": {"kind": "table"},
        "machines": [{"id": "m1", "gpus": {"V100": 4}}],
        "jobs": [
            {"id": job, "arrival": 1, "workers": 4, "iterations": 1, "rates": {"V100": 1},
             "utilities": [worth]}
            for job, worth in (("J1", 1), ("J2", 8))
        ],
    }  # fmt: skip
    return [Instance.parse({**HEAD, **data}, "the generator") for data in (section, theorem)]

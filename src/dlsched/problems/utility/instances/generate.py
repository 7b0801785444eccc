"""Random utility instances with the paper's statistics, and the paper's own example."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.utility.definition.schema import Instance

HEAD: Mapping[str, Any] = {"dlsched": 1, "problem": "utility", "name": "unnamed"}
KINDS = ("V100", "P100", "K80")
Range: TypeAlias = tuple[float, float]
MODELS: Mapping[str, tuple[Range, Range, Range]] = {
    "resnet18": ((10, 32), (0.65, 1.2), (0.09, 0.29)),
    "cyclegan": ((4.4, 4.4), (0.54, 0.54), (0.11, 0.11)),
    "lstm": ((28, 109), (0.75, 0.94), (0.21, 0.29)),
    "transformer": ((1.6, 11), (0.56, 1.05), (0.18, 0.49)),
    "resnet50": ((2.5, 11.4), (0.6, 0.79), (0.14, 0.2)),
    "recommendation": ((2.8, 23), (1.95, 2.31), (0.95, 1.51)),
}
"""Iterations a second on a V100, and speed on a P100 and a K80 relative to it, of one GPU.

From large to small batches; ranges of what Gavel's authors measured (stanford-futuredata/gavel).
"""
BATCHES = 5
"""Batch sizes of a model, as in Gavel's files of most."""
NAMES: Mapping[str, str] = {
    "resnet18": "ResNet-18",
    "cyclegan": "CycleGAN",
    "lstm": "LM",
    "transformer": "Transformer",
    "resnet50": "ResNet-50",
    "recommendation": "Recommendation",
}
"""What the models are called in Gavel's files, with the batch size after it."""
MODELS_OF: Mapping[str, tuple[str, ...]] = {
    "small": ("resnet18",),
    "medium": ("cyclegan",),
    "large": ("lstm", "transformer"),
    "extra large": ("resnet50", "recommendation"),
}
"""The models of each size in Tables III and IV, but for MiMa's, of which no rates are known."""
GPU_HOURS: Mapping[str, Range] = {
    "small": (0, 1),
    "medium": (1, 10),
    "large": (10, 50),
    "extra large": (60, 100),
}
"""From (open) and to, in GPU hours, of the groups of section IV-A, which are equally likely."""
WORKERS: Mapping[int, float] = {1: 0.70, 2: 0.10, 4: 0.15, 8: 0.05}
"""Share of the jobs with each number of GPUs **(D)**: in Microsoft's trace, by Gavel's code."""
LEAST_SHARE = 0.1
"""Least rate by the largest, where types are in any order: J3's in section II-A, 2 of 20."""


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
    rates: str
    | Sequence[Mapping[str, float]]
    | Mapping[str, Sequence[Mapping[str, float]]] = "models",
    forking: bool = False,
) -> Instance:
    """Draw gang jobs for a cluster of three GPU types.

    Parameters
    ----------
    jobs
        Number of jobs; 480 in section IV-A.
    slots
        Number of slots, ours; the jobs' work is scaled to it, see `utilization`.
    gpus
        GPUs in all, a third of each type; 60 in section IV.
    per_machine
        GPUs of a machine, 4 as on the 15 machines of section IV; all of one type, the last one may
        have fewer.
    slot_seconds
        Seconds of a slot, 360 in section IV.
    mix
        ``"groups"``: each job's group of GPU hours is uniform among the four of section IV-A, and
        its model among those of this size in Tables III and IV. ``"even"``, ours: GPU hours within
        a factor of five, and any of the models.
    utilization
        The jobs' GPU hours on the fastest type, as a share of all GPU hours of the horizon; the
        drawn hours are scaled to it. Ours; None leaves them as drawn.
    arrivals
        Jobs arrive evenly over this share of the horizon; by default all in the first slot, as in
        section IV-A.
    utility
        ``"effective_throughput"`` (section III-A), ``"linear"``, or ``"table"`` for a step down at
        a deadline; the last two are ours.
    rates
        Iterations a second on the three types. ``"models"``: in the ranges that Gavel's authors
        measured of the job's model. ``"any_order"``: any type may be the fastest, by up to ten
        times, as in section II-A. Or measured ones to draw from, by size group or the same for all
        jobs; `dlsched.problems.shares.read_rates` reads files of them. A seed draws the same with
        any files on the machine: measured rates are used where they are given only.
    forking
        HadarE (section V): machines of one GPU each, and jobs that may hold many.

    Raises
    ------
    OptionError
        If an option is out of range.
    """
    if utility not in ("effective_throughput", "linear", "table"):
        raise OptionError(f"utility={utility!r} must be effective_throughput, linear or table")
    if mix not in ("groups", "even"):
        raise OptionError(f"mix={mix!r} must be 'groups' or 'even'")
    if isinstance(rates, str) and rates not in ("models", "any_order"):
        raise OptionError(f"rates={rates!r} must be 'models', 'any_order' or measured rates")
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
        row: dict[str, Any] = {"id": f"j{j + 1}", "arrival": arrival, "workers": demand.workers}
        row["iterations"] = max(1, round(seconds * max(demand.rates.values())))
        row["rates"] = demand.rates
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
    rng: np.random.Generator, jobs: int, mix: str, most_workers: int, rates: Any
) -> list[_Demand]:
    """Draw the jobs' demands: workers from `WORKERS` up to the most, all one if that is 0."""
    groups = {"": (1.0, 5.0)} if mix == "even" else GPU_HOURS
    names = list(groups)
    workers = np.array([count for count in WORKERS if count <= most_workers])
    chances = np.array([WORKERS[count] for count in workers.tolist()])
    demands = []
    for _ in range(jobs):
        group = names[int(rng.integers(len(names)))]
        gpu_hours = draw_hours(rng, *groups[group])
        count = int(rng.choice(workers, p=chances / chances.sum())) if most_workers else 1
        demands.append(_Demand(gpu_hours, count, _rates(rng, group, rates)))
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


def _rates(rng: np.random.Generator, group: str, rates: Any) -> dict[str, float]:
    """Return iterations per second on each type."""
    if isinstance(rates, Mapping):
        rates = rates.get(group) or [row for rows in rates.values() for row in rows]
    if not isinstance(rates, str):
        return dict(rates[int(rng.integers(len(rates)))])
    models = MODELS_OF.get(group, tuple(MODELS))
    model = models[int(rng.integers(len(models)))]
    if rates == "models":
        return draw_rates(rng, model)
    low, high = MODELS[model][0]
    base = _between(low, high, float(rng.random()))
    return {k: round(base * LEAST_SHARE ** float(rng.random()), 3) for k in KINDS}


def draw_hours(rng: np.random.Generator, low: float, high: float) -> float:
    """Return GPU hours above the low end, at most the high one."""
    return high - float(rng.random()) * (high - low)


def draw_rates(rng: np.random.Generator, model: str) -> dict[str, float]:
    """Return iterations per second on one GPU of each type, at one of the batch sizes."""
    batch = int(rng.integers(BATCHES)) / (BATCHES - 1)
    base, *shares = (_between(low, high, batch) for low, high in MODELS[model])
    return {k: round(base * s, 3) for k, s in zip(KINDS, (1.0, *shares), strict=True)}


def _between(low: float, high: float, part: float) -> float:
    return float(low * (high / low) ** part)


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

"""Random interleaving instances with the paper's statistics, and the paper's own examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.interleaving.profiles import BOTTLENECKS, MODELS, RESOURCES
from dlsched.problems.interleaving.schema import Instance

PHILLY_GPUS = {1: 0.36, 2: 0.01, 4: 0.28, 8: 0.31, 16: 0.03, 32: 0.01}
"""Weights of the jobs' GPUs, rounded from the traces that the paper derives from Philly's."""


def generate(
    rng: np.random.Generator,
    *,
    jobs: int = 64,
    resources: int = 4,
    grouping: str = "uniform",
    budget: float | None = None,
    bottlenecks: int = 4,
    noise: float = 0.3,
    distinct: bool = True,
    gpus: Mapping[int, float] | None = None,
    weigh_by: str = "groups",
) -> Instance:
    """Draw jobs of the models in Muri's Table 3.

    Parameters
    ----------
    jobs
        Number of jobs; uniform groups drop those that a class has too many.
    resources
        2 to 4: storage, cpu, gpu, network; 3 without cpu, whose stage joins storage's, 2 for CPU
        and GPU alone.
    grouping
        ``"uniform"`` or ``"cover"``.
    budget
        For a cover: GPUs, as a share of the way from the fewest that any grouping takes (0) to
        those of every job alone (1). None for no budget.
    bottlenecks
        1 to 4 kinds of bottleneck, as in Figure 13: GPU, CPU, storage, network, in this order.
    noise
        Each stage is up to this much longer or shorter than its model's (Figure 14: 0 to 1).
        It is the job's with `distinct`, else the model's.
    distinct
        Every job has stages of its own, and a scale of its own from half to twice its model's.
        Otherwise jobs of one model and number of GPUs are alike: at most 8 x 6 profiles.
    gpus
        ``{GPUs: weight}``; one GPU each for uniform groups, the Philly mix for a cover.
    weigh_by
        ``"groups"`` or ``"gpus"``.
    """
    if grouping not in ("uniform", "cover"):
        raise OptionError(f"grouping={grouping!r} must be 'uniform' or 'cover'")
    if resources not in (2, 3, 4):
        raise OptionError(f"resources={resources} must be 2, 3 or 4")
    if not 1 <= bottlenecks <= len(BOTTLENECKS):
        raise OptionError(f"bottlenecks={bottlenecks} must be from 1 to {len(BOTTLENECKS)}")
    if not 0 <= noise <= 1:
        raise OptionError(f"noise={noise} must be from 0 to 1")
    if budget is not None and not (grouping == "cover" and 0 <= budget <= 1):
        raise OptionError(f"budget={budget} must be a share from 0 to 1, and is for covers only")
    mix = dict(gpus or ({1: 1.0} if grouping == "uniform" else PHILLY_GPUS))
    sizes = np.array(sorted(mix))
    weights = np.array([mix[g] for g in sizes.tolist()], dtype=float)
    kinds = BOTTLENECKS[:bottlenecks]
    models = [m for m in MODELS.values() if m.bottleneck in kinds]
    known: dict[tuple[int, int], list[int]] = {}
    rows: list[dict[str, Any]] = []
    for j in range(jobs):
        m = int(rng.integers(len(models)))
        size = int(rng.choice(sizes, p=weights / weights.sum()))
        if distinct or (m, size) not in known:
            factors = 1 + noise * (2 * rng.random(4) - 1)
            scale = models[m].milliseconds * (2 ** (2 * rng.random() - 1) if distinct else 1)
            known[m, size] = _stages(scale * factors * models[m].shares, resources)
        rows.append({"id": f"j{j + 1}", "gpus": size, "stages": known[m, size]})
    if grouping == "uniform":
        rows = _divisible(rows, resources)
    data = {
        "dlsched": 1,
        "problem": "interleaving",
        "name": "unnamed",
        "resources": _names(resources),
        "grouping": grouping,
        "weigh_by": weigh_by,
        "jobs": rows,
    }
    made = Instance.parse(data, "the generator")
    return made if budget is None else with_budget(made, budget)


def with_budget(instance: Instance, share: float) -> Instance:
    """Return the instance with a budget between the fewest GPUs (0) and every job alone (1)."""
    least, most = instance.least_gpus, sum(job.gpus for job in instance.jobs)
    return instance.model_copy(update={"gpu_budget": least + int(share * (most - least))})


def _stages(times: np.ndarray[Any, np.dtype[np.float64]], resources: int) -> list[int]:
    """Return whole milliseconds, at least 1 in all, of as many resources."""
    storage, cpu, gpu, network = times.tolist()
    kept = {
        2: [storage + cpu, gpu + network],
        3: [storage + cpu, gpu, network],
        4: [storage, cpu, gpu, network],
    }[resources]
    whole = [round(t) for t in kept]
    return whole if any(whole) else [1] * resources


def _names(resources: int) -> list[str]:
    return {2: ["cpu", "gpu"], 3: ["storage", "gpu", "network"], 4: list(RESOURCES)}[resources]


def _divisible(rows: list[dict[str, Any]], k: int) -> list[dict[str, Any]]:
    """Drop the last jobs of each class until its number divides by k."""
    left: dict[int, int] = {}
    for row in rows:
        left[row["gpus"]] = left.get(row["gpus"], 0) + 1
    left = {gpus: count - count % k for gpus, count in left.items()}
    kept = []
    for row in rows:
        if left[row["gpus"]]:
            left[row["gpus"]] -= 1
            kept.append(row)
    return kept


def examples() -> list[Instance]:
    """Return the paper's Figure 4, Figure 6 and Table 2.

    Figure 4: with CPU and GPU, A and B interleave perfectly, as do C and D; A and C, which both
    need the CPU longer, do not (gamma 1, 1, 0.75). Stages of 2 and 1 give the printed numbers.
    Figure 6: four jobs of three resources, two rounds. The stages are ours.
    Table 2: the four models of Table 1 together; the shares are those of `profiles`.
    """
    fig4 = {"A": (2, 1), "B": (1, 2), "C": (2, 1), "D": (1, 2)}
    fig6 = {"A": (4, 1, 1, 1), "B": (1, 4, 1, 1), "C": (1, 1, 4, 1), "D": (1, 1, 1, 4)}
    table2 = {
        name: tuple(round(1000 * share) for share in MODELS[name].shares)
        for name in ("shufflenet", "a2c", "gpt2", "vgg16")
    }
    return [
        _example("muri-fig4", "Figure 4; the stages are ours", ["cpu", "gpu"], fig4),
        _example("muri-fig6", "Figure 6; the stages are ours", list(RESOURCES), fig6),
        _example("muri-table2", "Tables 1 and 2; the shares are ours", list(RESOURCES), table2),
    ]


def _example(
    name: str, where: str, resources: list[str], jobs: Mapping[str, tuple[int, ...]]
) -> Instance:
    data = {
        "dlsched": 1,
        "problem": "interleaving",
        "name": name,
        "source": f"Muri (SIGCOMM'22), {where}",
        "resources": resources,
        "grouping": "uniform",
        "jobs": [{"id": job, "stages": list(stages)} for job, stages in jobs.items()],
    }
    return Instance.parse(data, "the generator")

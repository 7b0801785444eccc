"""Random interleaving instances with the paper's statistics, and the paper's own examples."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dlsched.errors import OptionError, UnknownName
from dlsched.problems.interleaving.definition.schema import Instance
from dlsched.problems.interleaving.structures.profiles import (
    BOTTLENECKS,
    MODELS,
    RESOURCES,
    SHARES,
    TABLE_2,
    Model,
    iteration_milliseconds,
)

PRESETS = ("paper",)
PHILLY_GPUS = {1: 0.36, 2: 0.01, 4: 0.28, 8: 0.31, 16: 0.03, 32: 0.01}
"""Weights of the jobs' GPUs, rounded from the traces that the paper derives from Philly's."""


def generate(
    rng: np.random.Generator,
    *,
    preset: str | None = None,
    jobs: int = 64,
    resources: int = 4,
    grouping: str = "uniform",
    budget: float | None = None,
    cluster: int | None = None,
    bottlenecks: int = 4,
    noise: float = 0.3,
    distinct: bool = True,
    gpus: Mapping[int, float] | None = None,
    weigh_by: str = "groups",
) -> Instance:
    """Draw jobs of the models in Muri's Table 3, in the order of their priority.

    Parameters
    ----------
    preset
        ``"paper"``: jobs of a model have equal stages, as in section 6.1, whatever `noise` and
        `distinct` are. None for jobs that differ (ours).
    jobs
        Number of jobs, 992 to 5,755 in the traces of section 6.1; for uniform groups the last jobs
        of a class are dropped until it divides.
    resources
        2 to 4: storage, cpu, gpu, network (section 2.2); 3 without cpu, whose stage joins
        storage's, as in the authors' traces, 2 for CPU and GPU alone. Stages are in milliseconds.
    grouping
        ``"uniform"``, all groups full (section 4.1), or ``"cover"`` (section 4.2).
    budget
        For a cover: GPUs, as a share of the way from the fewest that any grouping takes (0) to
        those of every job alone (1). None for no budget. In the paper the budget is never far
        above what full groups need; `cluster` makes such covers.
    cluster
        For a cover: GPUs of the cluster, its budget; 64 in section 6.1. Of the jobs, a queue, the
        head is kept that in full groups fills the cluster (Algorithm 1, lines 3-5).
    bottlenecks
        1 to 4 kinds of bottleneck, as in Figure 13: GPU, network, storage, CPU, in this order.
    noise
        Largest relative difference of a stage from its model's, so that jobs of a model differ
        **(D)**; drawn for each job with `distinct`, else for each model and number of GPUs. Errors
        of a profiler, as in Figure 14, are an option of the methods instead.
    distinct
        Every job has stages of its own, scaled by a factor of its own from half to twice its
        model's (ours). Otherwise jobs of one model and number of GPUs have equal stages: at most
        8 x 6 profiles.
    gpus
        ``{GPUs: weight}``; one GPU each for uniform groups, for a cover the mix of the traces that
        the authors derived from Philly's.
    weigh_by
        ``"groups"``, each counts once (section 4.2), or ``"gpus"``, each counts by its GPUs (ours).
    """
    if preset is not None and preset not in PRESETS:
        raise UnknownName("preset", preset, PRESETS)
    noise, distinct = (0.0, False) if preset else (noise, distinct)
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
    if cluster is not None and (grouping != "cover" or budget is not None or cluster < 1):
        raise OptionError(f"cluster={cluster} must be at least 1, and is for covers without budget")
    mix = dict(gpus or ({1: 1.0} if grouping == "uniform" else PHILLY_GPUS))
    sizes = sorted(mix)
    weights = np.array([mix[size] for size in sizes], dtype=float)
    kinds = BOTTLENECKS[:bottlenecks]
    models = [model for model in MODELS.values() if model.bottleneck in kinds]
    known: dict[tuple[int, int], list[float]] = {}
    rows: list[dict[str, Any]] = []
    for j in range(jobs):
        m = int(rng.integers(len(models)))
        size = int(rng.choice(sizes, p=weights / weights.sum()))
        if distinct or (m, size) not in known:
            known[m, size] = _stages(rng, models[m], resources, noise, distinct)
        rows.append({"id": f"j{j + 1}", "gpus": size, "stages": known[m, size]})
    if grouping == "uniform":
        rows = _divisible(rows, resources)
    if cluster is not None:
        rows = [rows[j] for j in queue_head([row["gpus"] for row in rows], resources, cluster)]
    fields = {"resources": _names(resources), "grouping": grouping, "weigh_by": weigh_by}
    limit = {} if cluster is None else {"gpu_budget": cluster}
    instance = instance_of(rows, "the generator", **fields, **limit)
    return instance if budget is None else with_budget(instance, budget)


def instance_of(jobs: Sequence[Mapping[str, Any]], origin: str, **fields: Any) -> Instance:
    """Return the instance of jobs and fields as a document has them."""
    head = {"dlsched": 1, "problem": "interleaving", "name": "unnamed"}
    return Instance.parse(head | fields | {"jobs": jobs}, origin)


def queue_head(gpus: Sequence[int], largest: int, cluster: int) -> list[int]:
    """Return which jobs of a queue Muri groups: those that in full groups fill the cluster.

    Jobs are taken in the order of priority. A job joins an open group of its number of GPUs; if
    there is none it opens one, provided that the cluster has the GPUs left (Algorithm 1, lines
    3-5). A job that does not fit is skipped, and the next one is tried, as in the authors' public
    code; Algorithm 1 takes the first n jobs.

    Parameters
    ----------
    gpus
        GPUs of the jobs, in the order of priority.
    largest
        The most jobs in a group.
    cluster
        GPUs of the cluster.
    """
    head: list[int] = []
    count: dict[int, int] = {}
    capacity = cluster
    for j, needed in enumerate(gpus):
        if count.get(needed, 0) % largest == 0:
            if needed > capacity:
                continue
            capacity -= needed
        count[needed] = count.get(needed, 0) + 1
        head.append(j)
    return head


def with_budget(instance: Instance, share: float) -> Instance:
    """Return the instance with a budget from the fewest GPUs (0) to those of all jobs alone (1)."""
    least = instance.least_gpus
    most = sum(job.gpus for job in instance.jobs)
    return instance.model_copy(update={"gpu_budget": least + int(share * (most - least))})


def _stages(
    rng: np.random.Generator, model: Model, resources: int, noise: float, distinct: bool
) -> list[float]:
    """Draw stages in milliseconds, rounded to hundredths and merged for fewer resources."""
    factors = 1 + noise * (2 * rng.random(4) - 1)
    scale = model.milliseconds * (2 ** (2 * rng.random() - 1) if distinct else 1)
    storage, cpu, gpu, network = (scale * factors * model.shares).tolist()
    kept = {
        2: [storage + cpu, gpu + network],
        3: [storage + cpu, gpu, network],
        4: [storage, cpu, gpu, network],
    }[resources]
    rounded = [round(t, 2) for t in kept]
    return rounded if any(rounded) else [0.01] * resources


def _names(resources: int) -> list[str]:
    return {2: ["cpu", "gpu"], 3: ["storage", "gpu", "network"], 4: list(RESOURCES)}[resources]


def _divisible(rows: list[dict[str, Any]], k: int) -> list[dict[str, Any]]:
    """Return the jobs without the last ones of each class, so that k divides its number."""
    counts = Counter(row["gpus"] for row in rows)
    quota = {gpus: count - count % k for gpus, count in counts.items()}
    kept = []
    for row in rows:
        if quota[row["gpus"]]:
            quota[row["gpus"]] -= 1
            kept.append(row)
    return kept


def examples() -> list[Instance]:
    """Return the paper's Figure 4, Figure 6 and Table 2.

    Figure 4: CPU and GPU; gamma is 1 for A and B, 1 for C and D, and 0.75 for A and C, which both
    use the CPU longer. Stages of 2 and 1 give the printed numbers.
    Figure 6: two jobs of four resources on one GPU; A uses the CPU for two units, B the GPU, and
    each other resource for one. Gamma is 0.5 in the best order (T = 5), and 0.4167 in the worst
    (T = 6).
    Table 2: its four models, with the iteration times of the table and the shares of Table 1.
    """
    fig4 = {"A": (2, 1), "B": (1, 2), "C": (2, 1), "D": (1, 2)}
    fig6 = {"A": (1, 2, 1, 1), "B": (1, 1, 2, 1)}
    table2 = {
        name: tuple(
            round(iteration_milliseconds(batch, alone) * share, 2)
            for share in SHARES["vgg19" if name == "vgg16" else name]
        )
        for name, (batch, alone, _) in TABLE_2.items()
    }
    return [
        _example("muri-fig4", "Figure 4; the stages are ours", ["cpu", "gpu"], fig4),
        _example("muri-fig6", "Figure 6", list(RESOURCES), fig6, gpu_budget=1),
        _example(
            "muri-table2",
            "Tables 1 and 2; VGG16 has the shares of VGG19",
            list(RESOURCES),
            table2,
            notes="Milliseconds on 16 GPUs. Eq. 3 gives the group 918 ms; Table 2's throughputs "
            "imply 1165 ms for all four.",
        ),
    ]


def _example(
    name: str, where: str, resources: list[str], jobs: Mapping[str, Sequence[float]], **more: Any
) -> Instance:
    rows = [{"id": job, "stages": list(stages)} for job, stages in jobs.items()]
    source = f"Muri (SIGCOMM'22), {where}"
    grouping = "cover" if "gpu_budget" in more else "uniform"
    fields = {"name": name, "source": source, "resources": resources, "grouping": grouping}
    return instance_of(rows, "the generator", **fields, **more)

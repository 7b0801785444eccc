"""What MAST (OSDI'24) prints of workloads, as in instances of dispatch."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
from marginal import Marginal

import dlsched


@cache
def full(seed: int) -> Any:
    """Draw clusters that are large enough for the printed sizes as they are."""
    return dlsched.generate(
        "dispatch", seed, regions=3, clusters=3, machines=600, gpu_share=0.2, types=1, pending=1200
    )


@cache
def default(seed: int) -> Any:
    """Draw an instance of the default size."""
    return dlsched.generate("dispatch", seed)


def percentile(share: float, values: Callable[[Any], Iterable[float]]) -> Callable[[Any], float]:
    """Return the measure of a percentile of what an instance has."""
    return lambda made: float(np.quantile(list(values(made)), share))


def gpus(made: Any) -> list[float]:
    """Return the GPUs of the waiting workloads that have some."""
    return [job.tasks * job.gpus for work in made.pending for job in work.jobs if job.gpus]


def machines(made: Any) -> list[float]:
    """Return the machines of the waiting workloads' jobs without GPUs."""
    return [job.tasks for work in made.pending for job in work.jobs if not job.gpus]


def gpu_hours(made: Any) -> list[float]:
    """Return how long the workloads with GPUs have run."""
    return [work.seconds / 3600 for work in made.running if any(job.gpus for job in work.jobs)]


def cpu_hours(made: Any) -> list[float]:
    """Return how long the workloads without GPUs have run."""
    return [work.seconds / 3600 for work in made.running if not any(job.gpus for job in work.jobs)]


def with_gpus(made: Any) -> float:
    """Return the share of the waiting workloads that use GPUs, in per cent."""
    return (
        100 * sum(any(job.gpus for job in work.jobs) for work in made.pending) / len(made.pending)
    )


def allocated(with_gpus: bool) -> Callable[[Any], float]:
    """Return the measure of the allocated part of machines with or without GPUs, in per cent."""
    resource = "gpus" if with_gpus else "cpus"

    def measure(made: Any) -> float:
        groups = [
            group for r in made.regions for c in r.clusters for group in c.machines
            if bool(group.gpus) == with_gpus
        ]  # fmt: skip
        used = sum(
            sum(job.on.values()) * getattr(job, resource)
            for work in made.running for job in work.jobs if bool(job.gpus) == with_gpus
        )  # fmt: skip
        return 100 * float(used / sum(group.count * getattr(group, resource) for group in groups))

    return measure


def of_priority(priority: int) -> Callable[[Any], float]:
    """Return the measure of the share of workloads whose tenant has a priority, in per cent."""

    def measure(made: Any) -> float:
        own = {tenant.id: tenant.priority for tenant in made.tenants}
        works = [*made.pending, *made.running]
        return 100 * sum(own[work.tenant] == priority for work in works) / len(works)

    return measure


def two_regions(made: Any) -> float:
    """Return the share of the waiting workloads whose tables two or more regions have, in %."""
    stored = [set(region.tables) for region in made.regions]
    counts = [sum(tables.issuperset(work.tables) for tables in stored) for work in made.pending]
    return 100 * float(np.mean(np.array(counts) >= 2))


MARGINALS = [
    Marginal("GPUs of a workload with GPUs, P50", 16, 15, 17, "section 5.1", full,
             percentile(0.5, gpus)),
    Marginal("GPUs of a workload with GPUs, P90", 64, 58, 70, "section 5.1", full,
             percentile(0.9, gpus)),
    Marginal("GPUs of a workload with GPUs, P99", 128, 120, 136, "section 5.1", full,
             percentile(0.99, gpus)),
    Marginal("machines of a job without GPUs, P50", 72, 65, 79, "section 5.1", full,
             percentile(0.5, machines)),
    Marginal("machines of a job without GPUs, P90", 180, 174, 186, "section 5.1", full,
             percentile(0.9, machines)),
    Marginal("machines of a job without GPUs, P99", 205, 200, 210, "section 5.1", full,
             percentile(0.99, machines)),
    Marginal("duration of a workload with GPUs, minutes, P50", 20, 15, 26, "section 5.1", full,
             lambda made: 60 * percentile(0.5, gpu_hours)(made)),
    Marginal("duration of a workload with GPUs, hours, P90", 6.7, 5, 10, "section 5.1", full,
             percentile(0.9, gpu_hours)),
    Marginal("duration of a workload without GPUs, minutes, P50", 38, 25, 55, "section 5.1", full,
             lambda made: 60 * percentile(0.5, cpu_hours)(made)),
    Marginal("workloads that use GPUs, %", 70, 67, 73, "section 5.1", full, with_gpus),
    Marginal("allocation of GPUs, %", 98, 97, 99, "section 5.2", default, allocated(True)),
    Marginal("allocation of machines without GPUs, %", 87, 82, 92, "section 5.2", default,
             allocated(False)),
    Marginal("workloads with two or more candidate regions, %, printed as the majority", 50, 50,
             100, "Figure 7", full, two_regions),
    *(
        Marginal(f"workloads of priority {p}, %", printed, low, high, "section 4.2", full,
                 of_priority(p))
        for p, printed, low, high in (
            (1, 3, 0, 7), (2, 20, 15, 25), (3, 16, 12, 21), (4, 54, 49, 59),
        )
    ),
]  # fmt: skip

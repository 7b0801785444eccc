"""What MAST (OSDI'24) prints of workloads, as in instances of dispatch."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from marginal import Marginal, percent, percentile

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


def has_gpus(work: Any) -> bool:
    """Whether a workload uses GPUs."""
    return any(job.gpus for job in work.jobs)


def sizes(with_gpus: bool) -> Callable[[Any], list[float]]:
    """Return the GPUs of the waiting workloads' jobs, or the machines of those without."""
    return lambda made: [
        job.tasks * (job.gpus or 1) for work in made.pending for job in work.jobs
        if bool(job.gpus) == with_gpus
    ]  # fmt: skip


def minutes(with_gpus: bool) -> Callable[[Any], list[float]]:
    """Return how long the workloads with GPUs, or those without, have run."""
    return lambda made: [w.seconds / 60 for w in made.running if has_gpus(w) == with_gpus]


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


def priorities(made: Any) -> Iterator[int]:
    """Return the priorities of the workloads' tenants."""
    own = {tenant.id: tenant.priority for tenant in made.tenants}
    return (own[work.tenant] for work in (*made.pending, *made.running))


def candidates(made: Any) -> Iterator[int]:
    """Return how many regions have the tables of each waiting workload."""
    stored = [set(region.tables) for region in made.regions]
    return (sum(tables.issuperset(work.tables) for tables in stored) for work in made.pending)


GPUS, MACHINES = sizes(True), sizes(False)
MARGINALS = [
    *(
        Marginal(f"{name}, P{100 * share:.0f}", printed, low, high, "section 5.1", full,
                 percentile(share, values))
        for name, share, values, printed, low, high in (
            ("GPUs of a workload with GPUs", 0.5, GPUS, 16, 15, 17),
            ("GPUs of a workload with GPUs", 0.9, GPUS, 64, 58, 70),
            ("GPUs of a workload with GPUs", 0.99, GPUS, 128, 120, 136),
            ("machines of a job without GPUs", 0.5, MACHINES, 72, 65, 79),
            ("machines of a job without GPUs", 0.9, MACHINES, 180, 174, 186),
            ("machines of a job without GPUs", 0.99, MACHINES, 205, 200, 210),
            ("duration of a workload with GPUs, minutes", 0.5, minutes(True), 20, 15, 26),
            ("duration of a workload with GPUs, hours", 0.9,
             lambda made: (time / 60 for time in minutes(True)(made)), 6.7, 5, 10),
            ("duration of a workload without GPUs, minutes", 0.5, minutes(False), 38, 25, 55),
        )
    ),
    Marginal("workloads that use GPUs, %", 70, 67, 73, "section 5.1", full,
             percent(has_gpus, lambda made: made.pending)),
    Marginal("allocation of GPUs, %", 98, 97, 99, "section 5.2", default, allocated(True)),
    Marginal("allocation of machines without GPUs, %", 87, 82, 92, "section 5.2", default,
             allocated(False)),
    Marginal("workloads with two or more candidate regions, %, printed as the majority", 50, 50,
             100, "Figure 7", full, percent(lambda count: count >= 2, candidates)),
    *(
        Marginal(f"workloads of priority {p}, %", printed, low, high, "section 4.2", full,
                 percent(lambda priority, p=p: priority == p, priorities))
        for p, printed, low, high in (
            (1, 3, 0, 7), (2, 20, 15, 25), (3, 16, 12, 21), (4, 54, 49, 59),
        )
    ),
]  # fmt: skip

"""What MAST (OSDI'24) prints of its workloads, as simulations have them."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
from marginal import Marginal

from dlsched.simulation.workload.generators import mast_cluster, mast_workload


@cache
def drawn(seed: int) -> Any:
    """Draw what arrives at clusters that are large enough for the printed sizes as they are."""
    cluster = mast_cluster(4, 1, 40, types=1, cpu_machines=410, seed=seed)
    return [job for job in mast_workload(cluster, 40, seed=seed).jobs if job.submit]


def percentile(
    share: float, cpu: bool, value: Callable[[Any], float]
) -> Callable[[Iterable[Any]], float]:
    """Return the measure of a percentile, of workloads without or with GPUs."""
    return lambda jobs: float(
        np.quantile([value(job) for job in jobs if (job.gpu_type == "cpu") == cpu], share)
    )


def part(true: Callable[[Any], bool]) -> Callable[[Any], float]:
    """Return the measure of a share of the workloads, in per cent."""
    return lambda jobs: 100 * float(np.mean([true(job) for job in jobs]))


def gpus(job: Any) -> float:
    """Return the GPUs, or machines, of a workload."""
    return float(job.gpus)


def hours(job: Any) -> float:
    """Return the duration of a workload."""
    return float(job.work) / 3600


def minutes(job: Any) -> float:
    """Return the duration of a workload."""
    return float(job.work) / 60


def start_up(job: Any) -> float:
    """Return the seconds until a workload's containers are set up."""
    return float(job.restart)


MARGINALS = [
    *(
        Marginal(f"{name}, P{100 * share:.0f}", printed, printed / slack, printed * slack, source,
                 drawn, percentile(share, cpu, value))
        for name, source, cpu, value, printed_at, slack in (
            ("GPUs of a workload with GPUs", "section 5.1", False, gpus, (16, 64, 128), 1.08),
            ("machines of a workload without GPUs", "section 5.1", True, gpus, (72, 180, 205),
             1.15),
            ("duration with GPUs, hours", "section 5.1", False, hours, (1 / 3, 6.7, 66), 1.25),
            ("duration without GPUs, minutes", "section 5.1", True, minutes, (38, 474, 2280),
             1.4),
            ("start-up, seconds", "section 5.5", False, start_up, (150, 278, 449), 1.05),
        )
        for share, printed in zip((0.5, 0.9, 0.99), printed_at, strict=True)
    ),
    *(
        Marginal(f"workloads of priority {p}, %", printed, low, high, "section 4.2", drawn,
                 part(lambda job, p=p: job.priority == p))
        for p, printed, low, high in ((1, 3, 2, 4), (2, 20, 18, 22), (3, 16, 14, 18),
                                      (4, 54, 52, 56))
    ),
    Marginal("workloads with two or more candidate regions, %, printed as the majority", 50, 50,
             100, "Figure 7", drawn, part(lambda job: len(job.regions) >= 2)),
    Marginal("workloads with four or more candidate regions, %", 40, 38, 42, "Figure 7", drawn,
             part(lambda job: len(job.regions) >= 4)),
]  # fmt: skip

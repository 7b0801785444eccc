"""What MAST (OSDI'24) prints of its workloads, as simulations have them."""

from collections.abc import Callable
from functools import cache
from typing import Any

from marginal import Marginal, percent, percentile

from dlsched.simulation.workload.generators import mast_cluster, mast_workload


@cache
def drawn(seed: int) -> Any:
    """Draw what arrives at clusters that are large enough for the printed sizes as they are."""
    cluster = mast_cluster(4, 1, 40, types=1, cpu_machines=410, seed=seed)
    return [job for job in mast_workload(cluster, 40, seed=seed).jobs if job.submit]


def of(cpu: bool, value: Callable[[Any], float]) -> Callable[[Any], list[float]]:
    """Return the values of workloads without GPUs, or of those with some."""
    return lambda jobs: [value(job) for job in jobs if (job.gpu_type == "cpu") == cpu]


def part(holds: Callable[[Any], object]) -> Callable[[Any], float]:
    """Return the measure of a share of the workloads, in per cent."""
    return percent(holds, iter)


MARGINALS = [
    *(
        Marginal(f"{name}, P{100 * share:.0f}", printed, printed / slack, printed * slack, source,
                 drawn, percentile(share, values))
        for name, source, values, printed_at, slack in (
            ("GPUs of a workload with GPUs", "section 5.1", of(False, lambda job: job.gpus),
             (16, 64, 128), 1.08),
            ("machines of a workload without GPUs", "section 5.1", of(True, lambda job: job.gpus),
             (72, 180, 205), 1.15),
            ("duration with GPUs, hours", "section 5.1", of(False, lambda job: job.work / 3600),
             (1 / 3, 6.7, 66), 1.25),
            ("duration without GPUs, minutes", "section 5.1", of(True, lambda job: job.work / 60),
             (38, 474, 2280), 1.4),
            ("start-up, seconds", "section 5.5", of(False, lambda job: job.restart),
             (150, 278, 449), 1.05),
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

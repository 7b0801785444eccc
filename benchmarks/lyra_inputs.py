"""Workloads and clusters of Lyra's simulation: drawn by seed, resampled, and the testbed's."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from dlsched.simulation import Cluster, Workload
from dlsched.simulation.workload.cluster import Loan
from dlsched.simulation.workload.generators import inference_load, lyra_cluster, lyra_workload
from dlsched.simulation.workload.generators.lyra import RESTART, loan_schedule

DAY = 86_400
Size = dict[str, Any]
"""Training and inference servers, days of arrivals, load, and how the jobs are drawn."""
WHOLE = 15
"""Days of the trace whose days are drawn again (section 7.2)."""
JOBS, ELASTIC_JOBS, HOURS = 180, 10, 8
SHORTEST, LONGEST = 120, 7200
"""Seconds of the testbed's jobs (section 7.5)."""
SIZES, CHANCES = (1, 2, 4, 8, 16), (0.70, 0.16, 0.08, 0.04, 0.02)
"""GPUs of jobs, none above 16: small, so that the baseline queues about as long as the paper's."""


class Case(NamedTuple):
    """A scheme: its policy, whether there are servers on loan, and options of all that is drawn."""

    label: str
    policy: str = "lyra"
    loaning: bool = True
    workload: Mapping[str, Any] = {}
    options: Mapping[str, Any] = {}
    cluster: Mapping[str, Any] = {}


def by_seed(case: Case, size: Size, seed: int) -> tuple[Workload, Cluster]:
    """Return what the generators draw."""
    workload = lyra_workload(
        size["training"], days=size["days"], load=size["load"], seed=seed, **case.workload
    )
    return workload, lyra_cluster(
        size["training"], size["inference"], days=size["days"], loaning=case.loaning, seed=seed,
        **case.cluster,
    )  # fmt: skip


def resampled(case: Case, size: Size, seed: int) -> tuple[Workload, Cluster]:
    """Return a trace of whole days drawn with replacement from one of 15 days (Figure 12)."""
    whole = _whole(size["training"], size["load"], tuple(sorted(case.workload.items())))
    rows = []
    for day, source in enumerate(days_of(size, seed)):
        for job in whole.jobs:
            if int(job.submit) // DAY == source:
                shifted = job.submit + (day - source) * DAY
                rows.append(job.model_copy(update={"id": f"d{day}-{job.id}", "submit": shifted}))
    workload = Workload(name=f"{whole.name}-{seed}", jobs=tuple(rows))
    return workload, lyra_cluster(
        size["training"], size["inference"], days=size["days"], loaning=case.loaning, seed=0
    )


def days_of(size: Size, seed: int) -> list[int]:
    """Return the days of the whole trace that a resampled one has, from 0."""
    return np.random.default_rng([0, seed]).integers(0, WHOLE, round(size["days"])).tolist()


@cache
def _whole(training: int, load: float, options: tuple[tuple[str, Any], ...]) -> Workload:
    return lyra_workload(training, days=WHOLE, load=load, seed=0, **dict(options))


def testbed(case: Case, size: Size, seed: int) -> tuple[Workload, Cluster]:
    """Return section 7.5: 180 jobs in 8 hours, 10 of them elastic; inference's day takes 8 hours.

    Running times are log-uniform from 2 minutes to 2 hours; as many jobs are fungible as make 21 %
    of the load.
    """
    rng = np.random.default_rng([seed, 7])
    submit = np.sort(rng.integers(0, HOURS * 3600, JOBS))
    gpus = rng.choice(SIZES, JOBS, p=CHANCES)
    large = np.zeros(JOBS, bool)
    large[rng.permutation(JOBS)[:ELASTIC_JOBS]] = True
    gpus = np.where(large, rng.choice((4, 8), JOBS, p=(1 / 3, 2 / 3)), gpus)
    work = np.round(np.exp(rng.uniform(np.log(SHORTEST), np.log(LONGEST), JOBS)))
    left, fungible = 0.21 * float(gpus @ work), set()
    for j in rng.permutation(JOBS).tolist():
        if gpus[j] * work[j] <= left:
            fungible.add(j)
            left -= float(gpus[j] * work[j])
    rows = []
    for j in range(JOBS):
        row: dict[str, Any] = {
            "id": f"j{j + 1}",
            "submit": int(submit[j]),
            "gpus": int(gpus[j]),
            "work": int(work[j]),
            "restart": RESTART,
            "checkpoints": True,
            "gpus_per_worker": 2 if large[j] else min(int(gpus[j]), 4),
            "fungible": j in fungible,
        }
        if large[j] and case.workload.get("elastic", True):
            row |= {"min_gpus": row["gpus"], "max_gpus": 2 * row["gpus"]}
        rows.append(row)
    workload = Workload.parse({"name": f"lyra-testbed-{seed}", "jobs": rows}, "the generator")
    cluster = lyra_cluster(size["training"], size["inference"], days=1, loaning=case.loaning)
    if case.loaning:
        load = inference_load(6, seed=seed).tolist()
        loans = loan_schedule(size["inference"], load, step=300 * HOURS // 24)
        cluster = cluster.model_copy(update={"loans": tuple(Loan.model_validate(r) for r in loans)})
    return workload, cluster


DRAWN: dict[str, Callable[[Case, Size, int], tuple[Workload, Cluster]]] = {
    "by seed": by_seed,
    "resampled": resampled,
    "testbed": testbed,
}

"""The generator of placement: statistics and options."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import dlsched
from dlsched.problems.placement.instances.generate import PRIORITIES


def test_statistics_are_the_papers() -> None:
    """Priorities as printed; sizes and readers as printed for migrations and for partitions."""
    inst = dlsched.generate(
        "placement", 1, tables=6000, regions=5, jobs=9000, largest=1, clusters=0
    )
    size = np.array([table.size for table in inst.tables])
    assert np.quantile(size, [0.5, 0.9, 0.99]) == pytest.approx([565, 103_000, 7.5e6], rel=0.35)
    readers = {table.id: 0 for table in inst.tables}
    for job in inst.jobs:
        for name in job.tables:
            readers[name] += 1
    counts = np.quantile(list(readers.values()), [0.5, 0.9, 0.99])
    assert counts == pytest.approx([3, 17, 45], rel=0.15)
    shares = np.bincount([job.priority for job in inst.jobs], minlength=8)[1:] / len(inst.jobs)
    assert shares == pytest.approx(np.array(PRIORITIES) / sum(PRIORITIES), abs=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_today_is_feasible(seed: int) -> None:
    """The homes of today are feasible, hardware is uneven, and no table exceeds a tenth."""
    inst = dlsched.generate("placement", seed, tables=80, regions=5, jobs=120)
    result = dlsched.solve(inst, "no_moves")
    assert result.status == "feasible"
    assert result.details["moved"] == 0
    size = [table.size for table in inst.tables]
    assert max(size) <= 0.1 * sum(size) + 1
    supplies = [sum(region.gpu_supply.values()) for region in inst.regions]
    assert max(supplies) > 1.5 * min(supplies)


def test_sizes_and_readers_are_parameters() -> None:
    """Equal quantiles give equal tables; sizes are given in GB, tables have MB."""
    inst = dlsched.generate("placement", 1, tables=50, sizes=(2, 2, 2), readers=(1, 1, 1), jobs=90)
    assert {table.size for table in inst.tables} == {2000}


def test_experiments_read_what_another_job_reads() -> None:
    """With three quarters of experiments, the other jobs have all sets of tables."""
    inst = dlsched.generate("placement", 2, tables=40, jobs=80, experiments=0.75)
    kinds: dict[tuple[str, ...], set[tuple[str, str]]] = {}
    for job in inst.jobs[:20]:
        kinds.setdefault(job.tables, set()).add((job.kind, "".join(job.gpu_hours)))
    for job in inst.jobs[20:]:
        assert (job.kind, "".join(job.gpu_hours)) in kinds[job.tables]


def test_training_without_gpus() -> None:
    """About 30 % of the training jobs need no GPU with `cpu_training` at 0.3."""
    inst = dlsched.generate("placement", 1, tables=50, jobs=600, cpu_training=0.3)
    training = [job for job in inst.jobs if job.kind == "ml"]
    share = sum(not job.gpu_hours for job in training) / len(training)
    assert share == pytest.approx(0.3, abs=0.06)


def test_no_priority_is_rare() -> None:
    """With a minimum of 20, every priority of training jobs has 20; without, some have fewer."""
    for least in (0, 20):
        inst = dlsched.generate("placement", 1, tables=50, jobs=400, min_jobs_per_priority=least)
        count = Counter(job.priority for job in inst.jobs if job.kind == "ml")
        assert (min(count.values()) >= 20) == (least == 20)

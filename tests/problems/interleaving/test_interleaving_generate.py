"""Random interleaving instances: sizes, statistics, options out of range."""

from __future__ import annotations

import numpy as np
import pytest

import dlsched
from dlsched.problems.interleaving.instances.generate import queue_head


@pytest.mark.slow
def test_jobs_that_are_not_distinct_have_few_profiles() -> None:
    """5,755 jobs of eight models and six numbers of GPUs have at most 48 profiles."""
    made = dlsched.generate(
        "interleaving", 1, jobs=5755, grouping="cover", distinct=False, budget=0.25
    )
    assert len(made.jobs) == 5755
    assert len(made.profiles) == 48
    assert made.least_gpus < made.gpu_budget < sum(job.gpus for job in made.jobs)


def test_uniform_classes_divide() -> None:
    """Uniform instances drop jobs until every class divides by k."""
    made = dlsched.generate("interleaving", 1, jobs=50, resources=3, gpus={1: 0.5, 2: 0.5})
    assert 44 <= len(made.jobs) <= 50
    assert all(len(jobs) % 3 == 0 for jobs in made.classes.values())


@pytest.mark.parametrize("kinds", [1, 2, 3, 4])
def test_bottlenecks_are_those_asked_for(kinds: int) -> None:
    """Without noise the longest stages are those of the first kinds in Figure 13's order."""
    made = dlsched.generate("interleaving", 1, jobs=200, bottlenecks=kinds, noise=0.0)
    longest = {made.resources[int(np.argmax(job.stages))] for job in made.jobs}
    assert longest == set(("gpu", "network", "storage", "cpu")[:kinds])


def test_the_head_of_the_queue_by_hand() -> None:
    """Eight GPUs, groups of two: jobs that do not fit are skipped, others join or open groups."""
    # 4 opens, 2 opens, 8 is skipped, 4 joins, 4 is skipped, 2 joins, 2 opens, 1 is skipped.
    assert queue_head([4, 2, 8, 4, 4, 2, 2, 1], 2, 8) == [0, 1, 3, 5, 6]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_cluster_is_given_what_fills_it(seed: int) -> None:
    """Of 200 waiting jobs those are kept that fill 64 GPUs in full groups, and no more fit."""
    made = dlsched.generate("interleaving", seed, jobs=200, grouping="cover", cluster=64)
    assert made.gpu_budget == made.least_gpus == 64
    assert 0 < len(made.jobs) < 200

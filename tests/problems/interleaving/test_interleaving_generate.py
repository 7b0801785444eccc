"""Random interleaving instances: sizes, the head of a queue."""

from __future__ import annotations

from collections import Counter

import pytest

import dlsched


def test_uniform_classes_divide() -> None:
    """Uniform instances drop jobs until every class divides by k; `muri` then fills its pairs."""
    made = dlsched.generate("interleaving", 1, jobs=50, resources=3, gpus={1: 0.5, 2: 0.5})
    assert 44 <= len(made.jobs) <= 50
    assert all(len(jobs) % 3 == 0 for jobs in made.classes.values())
    assert {len(group.jobs) for group in dlsched.solve(made, "muri").solution.groups} == {3}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_cluster_is_given_the_head_of_the_queue(seed: int) -> None:
    """Algorithm 1, lines 3-5: a job joins an open group, or opens one if its GPUs are left."""
    made = dlsched.generate("interleaving", seed, jobs=200, grouping="cover", cluster=64)
    queue = dlsched.generate("interleaving", seed, jobs=200, grouping="cover").jobs
    kept: Counter[int] = Counter()
    head, left = [], 64
    for job in queue:
        opens = kept[job.gpus] % 4 == 0
        if not opens or job.gpus <= left:
            left -= job.gpus * opens
            kept[job.gpus] += 1
            head.append(job)
    assert list(made.jobs) == head and len(head) < 200
    assert made.gpu_budget == made.least_gpus == 64

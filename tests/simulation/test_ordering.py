"""Which jobs of an order run, and where their GPUs are."""

from __future__ import annotations

import random

import numpy as np
import pytest

from dlsched.simulation import Cluster
from dlsched.simulation.policies.ordering import select
from dlsched.simulation.policies.placement import Placement


def one_by_one(gpus: list[int], free: int, strict: bool) -> list[int]:
    """Return what `select` returns, by going through the jobs."""
    chosen = []
    for i, count in enumerate(gpus):
        if count <= free:
            chosen.append(i)
            free -= count
        elif strict:
            break
    return chosen


@pytest.mark.parametrize("strict", [False, True])
def test_jobs_run_in_order_while_they_fit(strict: bool) -> None:
    """Each job in turn, if it fits what is left; a strict order ends at the first that does not."""
    rng = random.Random(1)
    for _ in range(500):
        gpus = [rng.choice([1, 2, 3, 8]) for _ in range(rng.randint(0, 12))]
        free = rng.randint(0, 14)
        chosen = select(np.array(gpus, np.int64), free, strict).tolist()
        assert chosen == one_by_one(gpus, free, strict), (gpus, free)


def test_a_job_is_placed_whenever_its_gpus_are_free() -> None:
    """It gets as many as it asks for, on one server if one has room, and no GPU twice."""
    rng = random.Random(2)
    for _ in range(500):
        sizes = [rng.choice([1, 2, 4, 8]) for _ in range(rng.randint(1, 6))]
        cluster = Cluster.of([{"gpus": size} for size in sizes])
        free = np.array([rng.choice([0, size, rng.randint(0, size)]) for size in sizes])
        before, gpus = free.copy(), rng.randint(1, 12)
        allocation = Placement(cluster, free).place(gpus)
        if gpus > before.sum():
            assert allocation is None
            assert free.tolist() == before.tolist()
            continue
        assert allocation is not None
        taken = dict.fromkeys(cluster.order[0], 0) | {s.server: s.gpus for s in allocation.shares}
        assert len({share.server for share in allocation.shares}) == len(allocation.shares)
        assert sum(taken.values()) == gpus
        assert (before - np.array(list(taken.values()))).tolist() == free.tolist()
        assert free.min() >= 0
        if gpus <= before.max():
            assert len(allocation.shares) == 1
            # Best fit: no server with room had fewer free GPUs.
            room = before[[cluster.order[1][allocation.shares[0].server]]]
            assert room == before[before >= gpus].min()

"""Which jobs of an order run, and where their GPUs are."""

from __future__ import annotations

import random

import numpy as np
import pytest

from dlsched.simulation import Cluster
from dlsched.simulation.policies.choosing import choose
from dlsched.simulation.policies.ordering import NONE, select
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


@pytest.mark.parametrize("strict", [False, True])
def test_jobs_chosen_from_lines_are_those_of_the_whole_order(strict: bool) -> None:
    """They start and stop as `select` says of all jobs in order, also where keys are equal."""
    rng = random.Random(3)
    for _ in range(600):
        count = rng.randint(0, 14)
        gpus = np.array([rng.choice([1, 1, 2, 3, 8]) for _ in range(count)], np.int64)
        keys = np.array([rng.randint(0, rng.choice([2, 30])) for _ in range(count)], np.int64)
        runs = np.array([rng.random() < 0.5 for _ in range(count)], bool)
        room = rng.choice([0, 0, rng.randint(0, 9)])
        order = np.argsort(keys, kind="stable")
        kept = order[select(gpus[order], room + int(gpus[runs].sum()), strict)]
        lines: dict[int, list[tuple[int, int]]] = {}
        for j in order[~runs[order]].tolist():
            lines.setdefault(int(gpus[j]), []).append((int(keys[j]), j))
        index = np.flatnonzero(runs)
        running = NONE._replace(job=index, gpus=gpus[index])
        start, stop = choose(running, keys[index], lines, room, strict)
        assert start == kept[~runs[kept]].tolist()
        assert stop == sorted(set(index.tolist()) - set(kept.tolist()))


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

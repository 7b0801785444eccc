"""Policies that run jobs in the order of a key: long queues, priorities, and where GPUs are."""

import random
from typing import Any

import numpy as np
import pytest
from simulation_cases import tables

from dlsched.simulation import Cluster, Decision, Workload, simulate
from dlsched.simulation.policies.ordering import OrderingPolicy, of_job_alone
from dlsched.simulation.policies.placement import Placement


class InOrder(OrderingPolicy):
    """Shortest remaining GPU time first; every decision looks at the first jobs only."""

    name = "in order"
    seen = 0

    @of_job_alone
    def key(self, jobs: Any) -> Any:
        """Return the GPU time that remains; count the jobs."""
        InOrder.seen += len(jobs.job)
        return jobs.remaining * jobs.gpus


class OfAll(InOrder):
    """The same; the key may be of all jobs, so that all are sorted."""

    def key(self, jobs: Any) -> Any:
        """Return the GPU time that remains."""
        return jobs.remaining * jobs.gpus


def burst(seed: int, count: int = 60) -> tuple[Workload, Cluster]:
    """Return jobs of all sizes that arrive much faster than they run, with many ties."""
    rng = random.Random(seed)
    rows = [
        {
            "id": f"j{i}",
            "submit": rng.choice([0, rng.randint(0, 30), round(rng.uniform(0, 60), 3)]),
            "gpus": rng.choice([1, 1, 2, 3, 4, 8]),
            "work": rng.choice([0, 10, 10, rng.randint(1, 400)]),
            "restart": rng.choice([0, 0, 4]),
            "checkpoints": rng.random() < 0.9,
        }
        for i in range(count)
    ]
    return Workload.parse({"name": "burst", "jobs": rows}, "burst"), Cluster.uniform(2, 4)


@pytest.mark.parametrize(("strict", "preemptive"), [(False, False), (False, True), (True, False)])
def test_the_first_jobs_decide_as_all_do(strict: bool, preemptive: bool) -> None:
    """The log is the same, to the digit, as with a key that is not marked and sorts all jobs.

    The keys computed for a hundred waiting jobs are a few for each decision.
    """
    settings = {"strict": strict, "preemptive": preemptive}
    first, of_all = (type("Made", (kind,), settings)() for kind in (InOrder, OfAll))
    for seed, count in enumerate((60, 60, 200)):
        InOrder.seen = 0
        run = simulate(*burst(seed, count), first)
        assert count < 200 or run.rounds["waiting"].max() > 80
        assert InOrder.seen < 30 * run.summary["decisions"]
        assert tables(run) == tables(simulate(*burst(seed, count), of_all))


def test_views_stay_as_they_were() -> None:
    """What a policy keeps of a state stays as it was when it decided."""
    kept: list[Any] = []

    class Keeping(InOrder):
        def decide(self, state: Any) -> Decision:
            kept.append((state.waiting, state.running, tuple(state.waiting), tuple(state.running)))
            return super().decide(state)

    simulate(*burst(2, 30), Keeping())
    assert any(len(waiting) > 5 for waiting, *_ in kept)
    for waiting, running, first, second in kept:
        assert (tuple(waiting), tuple(running), len(waiting)) == (first, second, len(first))
        assert waiting + running == first + second
        assert waiting[:2] == first[:2]
        assert not first or waiting[0] == first[0]
        assert repr(running) == repr(second)


def test_a_job_is_placed_whenever_its_gpus_are_free() -> None:
    """It gets as many as it asks for, on one server if one has room, and no GPU twice."""
    rng = random.Random(2)
    for _ in range(300):
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
        taken = {server.id: 0 for server in cluster.servers}
        taken |= {s.server: s.gpus for s in allocation.shares}
        assert len({share.server for share in allocation.shares}) == len(allocation.shares)
        assert sum(taken.values()) == gpus
        assert (before - np.array(list(taken.values()))).tolist() == free.tolist()
        assert free.min() >= 0
        if gpus <= before.max():
            # Best fit: no server with room had fewer free GPUs.
            (share,) = allocation.shares
            assert before[list(taken).index(share.server)] == before[before >= gpus].min()

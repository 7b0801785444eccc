"""Orders that are given: of the policy list_order, and of the groups of Muri-S."""

from __future__ import annotations

import random

import pytest
from simulation_cases import by_hand

from dlsched import OptionError
from dlsched.simulation import Cluster, Workload, simulate

CLUSTER = Cluster.uniform(2, 2)


@pytest.mark.parametrize("preemptive", [False, True])
def test_priority_goes_before_gpu_time(preemptive: bool) -> None:
    """The order by name is that of a list sorted by priority, GPU time and submission."""
    rng = random.Random(7)
    rows = [
        {"id": f"j{i}", "submit": rng.randint(0, 60), "gpus": rng.choice((1, 2, 4)),
         "work": rng.randint(5, 50), "priority": rng.choice((None, 0, 1, 2))}
        for i in range(20)
    ]  # fmt: skip
    jobs = Workload.parse(
        {"name": "w", "jobs": [{k: v for k, v in r.items() if v is not None} for r in rows]}, "w"
    )
    listed = sorted(jobs.jobs, key=lambda job: (job.priority or 0, job.work * job.gpus))
    runs = [
        simulate(jobs, CLUSTER, "list_order", order=order, preemptive=preemptive)
        for order in ("priority", [job.id for job in listed])
    ]
    assert runs[0].jobs.equals(runs[1].jobs)


def test_list_order_refuses_what_it_cannot_do() -> None:
    """An order of other jobs, an order that there is not, and a mode that there is not."""
    jobs = by_hand({}, {})
    with pytest.raises(OptionError, match="each once"):
        simulate(jobs, CLUSTER, "list_order", order=["a"])
    with pytest.raises(OptionError, match="order='size'"):
        simulate(jobs, CLUSTER, "list_order", order="size")
    with pytest.raises(OptionError, match="no mode 1"):
        simulate(jobs, CLUSTER, "list_order", modes={"a": 1})


def test_an_order_of_groups_is_of_all_jobs() -> None:
    """An order with a job missing is refused, and one where nothing is seeded."""
    jobs, cluster = by_hand({"stages": [3, 1, 0]}, {"stages": [1, 3, 1]}), Cluster.uniform(1, 2)
    with pytest.raises(OptionError, match="order is not the ids of all jobs"):
        simulate(jobs, cluster, "muri_s", objective="seeded_speeds", order=["a"])
    with pytest.raises(OptionError, match="goes with objective"):
        simulate(jobs, cluster, "muri_s", order=["a", "b"])


def test_what_has_gone_says_where_it_is() -> None:
    """The search that knows all jobs, and the authors' simulators, are not installed."""
    with pytest.raises(OptionError, match="benchmarks/published"):
        simulate(by_hand({}), CLUSTER, "srtf", variant="published")

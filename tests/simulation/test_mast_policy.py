"""MAST's policies, worked out by hand, and audited."""

from __future__ import annotations

from typing import Any

import pytest
from simulation_cases import audited, ends_by_id

from dlsched.simulation import Cluster, Simulation, Workload
from dlsched.simulation.workload.generators import mast_cluster, mast_workload

CLUSTER = Cluster.of(
    [{"gpus": 8, "region": "east"}, {"gpus": 8, "region": "west", "gpu_type": None}]
)


def job(name: str, submit: int, gpus: int, work: int, priority: int, **more: Any) -> dict[str, Any]:
    """Return a job of a tenant of this priority."""
    row = {"id": name, "submit": submit, "gpus": gpus, "work": work, "priority": priority}
    return row | {"tenant": f"t{priority}"} | more


def run(policy: str, *jobs: dict[str, Any], quotas: dict[str, int] | None = None) -> Simulation:
    """Return an audited simulation."""
    data = {"name": "by-hand", "jobs": jobs, "quotas": quotas or {}}
    return audited(Workload.parse(data, "the test"), CLUSTER, policy)


THREE = (
    job("a", 0, 8, 1000, 4),
    job("b", 0, 4, 100, 4),
    job("c", 10, 8, 50, 4, regions=["west"]),
)


def test_a_workload_waits_for_room_where_its_data_is() -> None:
    """East is full with a; c's data is in the west, where b runs until 100, at equal priority."""
    assert ends_by_id(run("mast", *THREE)) == {"a": 1000, "b": 100, "c": 150}


def test_the_lowest_priority_is_preempted() -> None:
    """The new workload of priority 1 stops the one of priority 6, which goes on after it."""
    low, mid = job("low", 0, 8, 100, 6, restart=5), job("mid", 0, 8, 100, 4)
    done = run("mast", low, mid, job("high", 40, 8, 30, 1))
    # 35 seconds are done at 40; the rest begins at 70 with a restart.
    assert ends_by_id(done) == {"low": 70 + 5 + 65, "mid": 100, "high": 70}


def test_a_workload_over_quota_is_preempted_by_one_within() -> None:
    """The tenant's second workload is over its quota: the lowest priority, and so a victim."""
    jobs = (job("one", 0, 8, 100, 2), job("two", 0, 8, 100, 2), job("other", 10, 8, 20, 4))
    done = run("mast", *jobs, quotas={"t2": 8})
    assert ends_by_id(done) == {"one": 100, "two": 120, "other": 30}
    # Within quota both stay, and the other one waits.
    assert ends_by_id(run("mast", *jobs)) == {"one": 100, "two": 100, "other": 120}


@pytest.mark.parametrize("policy", ["federated", "local"])
def test_early_binding_waits_although_there_is_room(policy: str) -> None:
    """The loads are equal when c arrives, so it is bound to the east, where the long one runs."""
    jobs = (job("long", 0, 8, 500, 4), job("short", 0, 8, 100, 4), job("c", 10, 8, 50, 4))
    assert ends_by_id(run(policy, *jobs)) == {"long": 500, "short": 100, "c": 550}
    assert ends_by_id(run("mast", *jobs)) == {"long": 500, "short": 100, "c": 150}


def test_a_simulation_of_a_generated_workload() -> None:
    """Several types, regions and quotas: the audit finds nothing."""
    cluster = mast_cluster(2, 2, 4, cpu_machines=4)
    workload = mast_workload(cluster, 1, load=1.5)
    assert audited(workload, cluster, "mast", interval=300).complete

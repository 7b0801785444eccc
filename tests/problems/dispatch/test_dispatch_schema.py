"""Instances of dispatch that are refused, each with the path of the field."""

from __future__ import annotations

from typing import Any

import pytest

import dlsched

TASK = {"cpus": 8, "memory": 16}


def data() -> dict[str, Any]:
    """Return a valid instance."""
    machine = {"id": "m", "gpu_type": "A", "gpus": 8, "cpus": 64, "memory": 128}
    other = {"id": "n", "cpus": 64, "memory": 128}
    job = {"id": "j", "cluster": "c", "gpus": 4, "on": {"m#0": 1}} | TASK
    return {
        "dlsched": 1,
        "problem": "dispatch",
        "name": "valid",
        "lowest_priority": 2,
        "regions": [
            {"id": "x", "tables": ["t"], "clusters": [{"id": "c", "machines": [machine]}]},
            {"id": "y", "clusters": [{"id": "d", "machines": [other]}]},
        ],
        "tenants": [{"id": "a", "priority": 1, "gpu_quota": 8, "cpu_quota": 100}],
        "running": [{"id": "v", "tenant": "a", "within_quota": True, "seconds": 1, "jobs": [job]}],
        "pending": [{"id": "w", "tenant": "a", "age": 9, "jobs": [{"id": "j", "tasks": 2} | TASK]}],
    }


def test_the_instance_is_valid() -> None:
    """What the other tests change is accepted."""
    assert dlsched.load(data()).kinds[1].machines.id == "n"


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        (("lowest_priority",), 8, "lowest_priority"),
        (("lowest_priority",), 0, "lowest_priority"),
        (("scope",), "all", "scope"),
        (("cpu_weight",), 0, "cpu_weight"),
        (("credit",), {"age_cap": -1}, "credit.age_cap"),
        (("regions", 1, "id"), "x", "regions[1].id"),
        (("regions", 0, "tables"), ["t", "t"], "regions[0].tables[1]"),
        (("regions", 1, "clusters", 0, "id"), "c", "regions[1].clusters[0].id"),
        (("regions", 1, "clusters", 0, "machines", 0, "id"), "m",
         "regions[1].clusters[0].machines[0].id"),
        (("regions", 0, "clusters", 0, "machines", 0, "gpu_type"), None,
         "regions[0].clusters[0].machines[0].gpu_type"),
        (("regions", 1, "clusters", 0, "machines", 0, "gpu_type"), "A",
         "regions[1].clusters[0].machines[0].gpu_type"),
        (("regions", 1, "clusters", 0, "machines", 0, "count"), 0,
         "regions[1].clusters[0].machines[0].count"),
        (("tenants", 0, "priority"), 3, "tenants[0].priority"),
        (("running", 0, "tenant"), "b", "running[0].tenant"),
        (("running", 0, "jobs"), [], "running[0].jobs"),
        (("running", 0, "jobs", 0, "cluster"), "e", "running[0].jobs[0].cluster"),
        (("running", 0, "jobs", 0, "cluster"), "d", "running[0].jobs[0].on.m#0"),
        (("running", 0, "jobs", 0, "on"), {"m#1": 1}, "running[0].jobs[0].on.m#1"),
        (("running", 0, "jobs", 0, "on"), {"m#00": 1}, "running[0].jobs[0].on.m#00"),
        (("running", 0, "jobs", 0, "on"), {}, "running[0].jobs[0].on"),
        (("running", 0, "jobs", 0, "on"), {"m#0": 3}, "running[0].jobs[0].on.m#0"),
        (("running", 0, "jobs", 0, "memory"), 129, "running[0].jobs[0].on.m#0"),
        (("pending", 0, "tenant"), "b", "pending[0].tenant"),
        (("pending", 0, "tables"), ["t", "t"], "pending[0].tables[1]"),
        (("pending", 0, "jobs"), [], "pending[0].jobs"),
        (("pending", 0, "jobs", 0, "gpu_type"), "A", "pending[0].jobs[0].gpu_type"),
        (("pending", 0, "jobs", 0, "gpus"), 1, "pending[0].jobs[0].gpu_type"),
        (("pending", 0, "jobs", 0, "cpus"), 0, "pending[0].jobs[0].cpus"),
        (("pending", 0, "jobs", 0, "tasks"), 0, "pending[0].jobs[0].tasks"),
        (("pending", 0, "age"), -1, "pending[0].age"),
    ],
)  # fmt: skip
def test_bad_fields(path: tuple[str | int, ...], value: Any, where: str) -> None:
    """The error names the field that is wrong."""
    bad = data()
    place: Any = bad
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(dlsched.InstanceError) as caught:
        dlsched.load(bad)
    assert f"{where}:" in str(caught.value) or f"{where} " in str(caught.value)


def test_a_running_workload_in_two_regions() -> None:
    """Its jobs are in clusters of one region."""
    bad = data()
    second = {"id": "k", "cluster": "d", "on": {"n#0": 1}} | TASK
    bad["running"][0]["jobs"].append(second)
    with pytest.raises(dlsched.InstanceError, match=r"running\[0\].jobs\[1\].cluster"):
        dlsched.load(bad)


def test_two_jobs_of_one_name() -> None:
    """Job ids are unique in their workload."""
    bad = data()
    bad["pending"][0]["jobs"] *= 2
    with pytest.raises(dlsched.InstanceError, match=r"pending\[0\].jobs\[1\].id"):
        dlsched.load(bad)

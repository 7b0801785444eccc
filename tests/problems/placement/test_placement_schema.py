"""Fields of placement files, and the errors of invalid ones."""

from __future__ import annotations

from typing import Any

import pytest

import dlsched

JOB: dict[str, Any] = {"id": "j", "kind": "ml", "tables": ["t"], "gpu_hours": {"A": 1}}
GOOD: dict[str, Any] = {
    "dlsched": 1,
    "problem": "placement",
    "name": "good",
    "regions": [{"id": "r", "storage_capacity": 5, "gpu_supply": {"A": 2, "B": 1}}],
    "tables": [{"id": "t", "size": 3, "home": "r"}],
    "jobs": [JOB],
}


def job(**changes: Any) -> dict[str, Any]:
    """Return the list of jobs with changed fields of its only job."""
    return {"jobs": [JOB | changes]}


def test_defaults() -> None:
    """Version 2, all weights 1, slope 5, no threshold, no quota, priority 1."""
    made = dlsched.load(GOOD)
    assert (made.version, made.overload_slope, made.at_home_threshold) == ("v2", 5, 0)
    assert made.move_quota is None
    assert (made.weights.traffic, made.weights.gpu, made.weights.storage) == (1, 1, 1)
    assert made.priority_weight(1) == 1
    assert made.kinds == ("A",)


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"version": "v3"}, "version"),
        ({"weights": {"traffic": -1}}, "weights.traffic"),
        ({"overload_slope": 0}, "overload_slope"),
        ({"move_quota": -1}, "move_quota"),
        ({"at_home_threshold": -1}, "at_home_threshold"),
        ({"priority_weights": {"one": 1}}, "priority_weights.one"),
        ({"priority_weights": {"01": 1}}, "priority_weights.01"),
        ({"regions": GOOD["regions"] * 2}, "regions[1].id"),
        ({"regions": []}, "regions"),
        ({"regions": [{"id": "r", "storage_capacity": -1}]}, "regions[0].storage_capacity"),
        ({"tables": GOOD["tables"] * 2}, "tables[1].id"),
        ({"tables": [{"id": "t", "size": 0}]}, "tables[0].size"),
        ({"tables": [{"id": "t", "size": 1, "home": "x"}]}, "tables[0].home"),
        ({"jobs": [JOB, JOB]}, "jobs[1].id"),
        (job(kind="batch"), "jobs[0].kind"),
        (job(tables=[]), "jobs[0].tables"),
        (job(tables=["t", "t"]), "jobs[0].tables[1]"),
        (job(tables=["x"]), "jobs[0].tables[0]"),
        (job(gpu_hours={"A": -1}), "jobs[0].gpu_hours.A"),
        (job(cpu_hours=1), "jobs[0].app"),
        (job(priority=0), "jobs[0].priority"),
        (job(priority=10**6), "jobs[0].priority"),
        (job(time_sensitive="yes"), "jobs[0].time_sensitive"),
        ({"speed": 1}, "speed"),
    ],
)
def test_errors_name_the_field(changes: dict[str, Any], path: str) -> None:
    """Each flaw is one error with the field's path and a remedy."""
    with pytest.raises(dlsched.InstanceError) as caught:
        dlsched.load(GOOD | changes)
    assert caught.value.path == path
    assert caught.value.remedy

"""Corrupted solutions are refused for what is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest

import dlsched
from dlsched import InstanceError

JOB = {"gpus_per_worker": 2, "min_workers": 2, "max_workers": 3, "min_running_time": 100}
INSTANCE: dict[str, Any] = {
    "dlsched": 1,
    "problem": "elastic",
    "name": "hand",
    "capacity": 6,
    "jobs": [JOB | {"id": "r", "running": True}, JOB | {"id": "p"}],
}
GOOD: dict[str, Any] = {
    "dlsched": 1,
    "problem": "elastic",
    "instance": "hand",
    "workers": {"r": 3, "p": 2},
}


def test_a_good_one() -> None:
    """The base of a running job takes nothing; its extra worker saves 50 seconds."""
    report = dlsched.verify(INSTANCE, GOOD)
    assert report
    assert tuple(report.objective) == (1, 50)
    assert report.details == {"gpus": 6}


@pytest.mark.parametrize(
    ("workers", "kind", "where"),
    [
        ({"r": 3, "x": 2}, "unknown_job", "workers.x"),
        ({"r": 3, "p": 1}, "below_min", "workers.p"),
        ({"r": 4}, "above_max", "workers.r"),
        ({"p": 2}, "running_stopped", "workers.r"),
        ({"r": 0}, "running_stopped", "workers.r"),
        ({"r": 3, "p": 3}, "over_capacity", "workers"),
    ],
)
def test_violations(workers: dict[str, int], kind: str, where: str) -> None:
    """Each has its kind and its place."""
    report = dlsched.verify(INSTANCE, GOOD | {"workers": workers})
    assert [(v.kind, v.where) for v in report.violations] == [(kind, where)]


def test_another_instance() -> None:
    """The name of another instance is a violation."""
    report = dlsched.verify(INSTANCE, GOOD | {"instance": "foot"})
    assert [v.kind for v in report.violations] == ["instance"]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"problem": "reclaiming"}, "problem"),
        ({"instance_sha256": "0" * 64}, "instance_sha256"),
        ({"workers": {"r": -1}}, "workers.r"),
        ({"workers": {"r": 2.0}}, "workers.r"),
        ({"workers": {"r": True}}, "workers.r"),
        ({"workers": {"r": "2"}}, "workers.r"),
        ({"workers": ["r"]}, "workers"),
        ({"colour": 1}, "colour"),
        ({"dlsched": 2}, "dlsched"),
    ],
)
def test_unusable_solutions(changes: dict[str, Any], path: str) -> None:
    """What is no solution of this instance is refused with the path of the flaw."""
    with pytest.raises(InstanceError) as refused:
        dlsched.verify(INSTANCE, GOOD | changes)
    assert refused.value.path == path

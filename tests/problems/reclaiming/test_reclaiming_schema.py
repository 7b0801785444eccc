"""Instances: defaults, derived arrays, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings

from dlsched import InstanceError
from dlsched.problems.reclaiming.schema import Instance
from dlsched.testing.strategies import reclaiming


def data(**changes: Any) -> dict[str, Any]:
    """Return a small instance with some fields changed."""
    servers = [{"id": "s1", "gpus": 8}, {"id": "s2", "gpus": 4}]
    workers = [
        {"server": "s1", "gpus": 4},
        {"server": "s1", "gpus": 2, "flexible": True},
        {"server": "s2", "gpus": 4, "flexible": True},
    ]
    base = {"dlsched": 1, "problem": "reclaiming", "name": "x", "demand": 1}
    return base | {"servers": servers, "jobs": [{"id": "a", "workers": workers}]} | changes


def test_defaults_and_derived_arrays() -> None:
    """Weight is 1, workers are base workers; GPUs add up by server."""
    instance = Instance.parse(data(), "test")
    assert instance.jobs[0].weight == 1
    assert not instance.jobs[0].workers[0].flexible
    assert instance.base_servers == (frozenset({0}),)
    assert instance.held == ({0: 6, 1: 4},)


def test_weights_are_the_decimals_of_the_file() -> None:
    """0.1 is a tenth, not the double near it."""
    jobs = [{"id": "a", "weight": 0.1, "workers": []}]
    assert Instance.parse(data(jobs=jobs), "test").jobs[0].weight == Fraction(1, 10)


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"demand": -1}, "demand"),
        ({"demand": 1.5}, "demand"),
        ({"demand": True}, "demand"),
        ({"servers": [{"id": "s1", "gpus": 0}]}, "servers[0].gpus"),
        ({"servers": [{"id": "s1", "gpus": 8}, {"id": "s1", "gpus": 8}]}, "servers[1].id"),
        ({"jobs": [{"id": "a", "workers": []}, {"id": "a", "workers": []}]}, "jobs[1].id"),
        ({"jobs": [{"id": "a", "weight": -1, "workers": []}]}, "jobs[0].weight"),
        ({"jobs": [{"id": "a"}]}, "jobs[0].workers"),
        (
            {"jobs": [{"id": "a", "workers": [{"server": "s3", "gpus": 1}]}]},
            "jobs[0].workers[0].server",
        ),
        (
            {"jobs": [{"id": "a", "workers": [{"server": "s2", "gpus": 5}]}]},
            "jobs[0].workers[0].gpus",
        ),
        (
            {"jobs": [{"id": "a", "workers": [{"server": "s2", "gpus": 1, "flexible": 1}]}]},
            "jobs[0].workers[0].flexible",
        ),
    ],
)
def test_unusable_instances_are_refused(changes: dict[str, Any], path: str) -> None:
    """Each flaw is found at its path."""
    with pytest.raises(InstanceError) as refused:
        Instance.parse(data(**changes), "test")
    assert refused.value.path == path


@settings(max_examples=100, derandomize=True, deadline=None)
@given(reclaiming())
def test_writing_and_reading_lose_nothing(instance: Instance) -> None:
    """Data written and read back is the same instance, with the same digest."""
    again = Instance.parse(instance.to_data(), "test")
    assert again == instance
    assert again.sha256 == instance.sha256

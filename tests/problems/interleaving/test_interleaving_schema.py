"""The schema of interleaving: what is refused, where, and with which remedy."""

from __future__ import annotations

from typing import Any

import pytest

import dlsched

GOOD: dict[str, Any] = {
    "dlsched": 1,
    "problem": "interleaving",
    "name": "good",
    "resources": ["cpu", "gpu"],
    "grouping": "cover",
    "gpu_budget": 2,
    "jobs": [{"id": "a", "stages": [1, 2]}, {"id": "b", "stages": [2, 1.5]}],
}


def test_defaults() -> None:
    """A job has one GPU, groups hold as many jobs as there are resources, and count one each."""
    instance = dlsched.load(GOOD)
    assert (instance.jobs[0].gpus, instance.group_limit, instance.weigh_by) == (1, 2, "groups")


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"resources": []}, "resources"),
        ({"resources": ["a"] * 9}, "resources"),
        ({"resources": ["cpu", "cpu"]}, "resources[1]"),
        ({"grouping": "any"}, "grouping"),
        ({"gpu_budget": -1}, "gpu_budget"),
        ({"max_group_size": 3}, "max_group_size"),
        ({"max_group_size": 0}, "max_group_size"),
        ({"grouping": "uniform"}, "gpu_budget"),
        ({"grouping": "uniform", "gpu_budget": None, "max_group_size": 1}, "max_group_size"),
        ({"weigh_by": "jobs"}, "weigh_by"),
        ({"jobs": [{"id": "a", "stages": [1]}]}, "jobs[0].stages"),
        ({"jobs": [{"id": "a", "stages": [0, 0]}]}, "jobs[0].stages"),
        ({"jobs": [{"id": "a", "stages": [1, -1]}]}, "jobs[0].stages[1]"),
        ({"jobs": [{"id": "a", "gpus": 0, "stages": [1, 1]}]}, "jobs[0].gpus"),
        ({"jobs": [GOOD["jobs"][0], GOOD["jobs"][0]]}, "jobs[1].id"),
        ({"job": []}, "job"),
    ],
)
def test_unusable_instances_are_refused_by_field(changes: dict[str, Any], path: str) -> None:
    """What contradicts itself is refused with the field's path."""
    with pytest.raises(dlsched.InstanceError) as caught:
        dlsched.load(GOOD | changes)
    assert caught.value.path == path
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"gpu_budget": 0}, "gpu_budget 0, the fullest groups of up to 2 take 1"),
        (
            {"grouping": "uniform", "gpu_budget": None, "jobs": GOOD["jobs"][:1]},
            "1 jobs of 1 GPUs do not divide into uniform groups of 2",
        ),
    ],
)
def test_infeasible_instances_say_why(changes: dict[str, Any], words: str) -> None:
    """The reason names the requirement that cannot be met, in the instance's terms."""
    result = dlsched.solve(GOOD | changes)
    assert (result.termination, result.reason) == ("infeasible", words)

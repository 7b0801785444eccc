"""The checker of elastic: what it rejects, and what an allocation is worth by hand."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import dlsched
from dlsched.problems.elastic import Instance

JOBS: list[dict[str, Any]] = [
    {"id": "r", "gpus_per_worker": 2, "min_workers": 2, "max_workers": 4, "min_running_time": 60,
     "running": True},
    {"id": "p", "gpus_per_worker": 1, "min_workers": 2, "max_workers": 3,
     "running_times": [90, 70.5]},
    {"id": "q", "gpus_per_worker": 4, "min_workers": 1, "max_workers": 1, "min_running_time": 10},
]  # fmt: skip
INSTANCE = Instance(name="three", capacity=7, jobs=JOBS)
GOOD = {"r": 3, "p": 3}


def solution(**changes: Any) -> dict[str, Any]:
    """Return a solution file of the instance with some fields changed."""
    base = {"dlsched": 1, "problem": "elastic", "instance": "three", "workers": GOOD}
    return base | changes


def test_worth_by_hand() -> None:
    """Job r gains 120 - 80 s with a third worker for 2 GPUs, p 19.5 s with 3 GPUs in all."""
    report = dlsched.verify(INSTANCE, solution())
    assert report.feasible
    assert tuple(report.objective) == (1, 40 + Fraction("19.5"))
    assert report.details["gpus"] == 5


@pytest.mark.parametrize(
    ("workers", "kind", "amount"),
    [
        ({"r": 3, "p": 3, "z": 1}, "unknown_job", 1),
        ({"r": 3, "p": 1}, "below_min", 1),
        ({"r": 1, "p": 2}, "below_min", 1),
        ({"r": 5, "p": 0}, "above_max", 1),
        ({"r": 2, "p": 5}, "above_max", 2),
        ({"r": 2, "q": 2}, "above_max", 1),
        ({"p": 3}, "running_stopped", 2),
        ({"r": 0, "p": 3}, "running_stopped", 2),
        ({"r": 4, "p": 2, "q": 1}, "over_capacity", 3),
        ({"r": 1, "p": 3, "q": 1, "z": 0}, "unknown_job", 1),
    ],
)
def test_corrupted_allocations_are_rejected(
    workers: dict[str, int], kind: str, amount: int
) -> None:
    """Each corrupted allocation breaks the requirement that was corrupted, by the right amount."""
    report = dlsched.verify(INSTANCE, solution(workers=workers))
    assert (kind, amount) in {(v.kind, v.amount) for v in report.violations}


def test_a_stopped_job_hides_no_overuse() -> None:
    """A running job below its least number of workers gives no GPUs to the others."""
    report = dlsched.verify(INSTANCE, solution(workers={"r": 1, "p": 3, "q": 1}))
    assert {v.kind for v in report.violations} == {"below_min"}
    report = dlsched.verify(INSTANCE, solution(workers={"r": 1, "p": 3, "q": 2}))
    assert "over_capacity" in {v.kind for v in report.violations}


def test_solution_of_another_instance_is_rejected() -> None:
    """The name in the solution must be the instance's."""
    report = dlsched.verify(INSTANCE, solution(instance="four"))
    assert [v.kind for v in report.violations] == ["instance"]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"workers": {"r": -1}}, "workers.r"),
        ({"workers": {"r": 2.0}}, "workers.r"),
        ({"workers": {"r": True}}, "workers.r"),
        ({"workers": {"r": "3"}}, "workers.r"),
        ({"workers": ["r"]}, "workers"),
        ({"workers": None}, "workers"),
        ({"worker": {}}, "worker"),
        ({"problem": "reclaiming"}, "problem"),
        ({"dlsched": 2}, "dlsched"),
        ({"instance": ""}, "instance"),
        ({"instance_sha256": "0" * 64}, "instance_sha256"),
    ],
)
def test_unusable_solutions_are_refused_by_field(changes: dict[str, Any], path: str) -> None:
    """What is no allocation at all is refused with the field's path."""
    with pytest.raises(dlsched.InstanceError) as caught:
        dlsched.verify(INSTANCE, solution(**changes))
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"max_workers": 1}, "jobs[0].max_workers"),
        ({"min_running_time": None}, "jobs[0]"),
        ({"running_times": [3, 2, 1]}, "jobs[0]"),
        ({"min_running_time": 0}, "jobs[0].min_running_time"),
        ({"gpus_per_worker": 0}, "jobs[0].gpus_per_worker"),
        ({"running": "yes"}, "jobs[0].running"),
        ({"max_workers": 10**9}, "jobs[0].max_workers"),
        ({"id": "p"}, "jobs[1].id"),
    ],
)
def test_unusable_instances_are_refused_by_field(changes: dict[str, Any], path: str) -> None:
    """A job that contradicts itself, or is beyond what a model can hold, is named."""
    data = {"dlsched": 1, "problem": "elastic", "name": "bad", "capacity": 7}
    with pytest.raises(dlsched.InstanceError) as caught:
        dlsched.load(data | {"jobs": [JOBS[0] | changes, *JOBS[1:]]})
    assert caught.value.path == path


def test_running_times_need_one_entry_per_choice() -> None:
    """A list of running times of the wrong length is refused."""
    jobs = [JOBS[1] | {"running_times": [90]}]
    with pytest.raises(dlsched.InstanceError, match="has 1 entries"):
        dlsched.load({"dlsched": 1, "problem": "elastic", "name": "b", "capacity": 1, "jobs": jobs})

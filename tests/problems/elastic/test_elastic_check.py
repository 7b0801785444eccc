"""The definition and the files: objectives by hand, violations, and unusable fields."""

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


def solution(workers: Any) -> dict[str, Any]:
    """Return a solution file of the instance."""
    return {"dlsched": 1, "problem": "elastic", "instance": "three", "workers": workers}


def test_worth_by_hand() -> None:
    """Job r gains 120 - 80 s with a third worker for 2 GPUs, p 19.5 s with 3 GPUs in all."""
    report = dlsched.verify(INSTANCE, solution({"r": 3, "p": 3}))
    assert report.feasible
    assert tuple(report.objective) == (1, 40 + Fraction("19.5"))
    assert report.details == {"gpus": 5}


@pytest.mark.parametrize(
    ("workers", "expected"),
    [
        ({"r": 3, "p": 3, "z": 1}, [("unknown_job", "workers.z", 1)]),
        ({"r": 3, "p": 1}, [("below_min", "workers.p", 1)]),
        ({"r": 1, "p": 2}, [("below_min", "workers.r", 1)]),
        ({"r": 5, "p": 0}, [("above_max", "workers.r", 1)]),
        ({"r": 2, "p": 5}, [("above_max", "workers.p", 2)]),
        ({"r": 2, "q": 2}, [("above_max", "workers.q", 1), ("over_capacity", "workers", 1)]),
        ({"p": 3}, [("running_stopped", "workers.r", 2)]),
        ({"r": 0, "p": 3}, [("running_stopped", "workers.r", 2)]),
        ({"r": 4, "p": 2, "q": 1}, [("over_capacity", "workers", 3)]),
        ({"r": 1, "q": 1, "z": 0}, [("unknown_job", "workers.z", 1),
                                    ("below_min", "workers.r", 1)]),
        # A running job below its least number of workers adds no GPUs to the capacity.
        ({"r": 1, "p": 3, "q": 1}, [("below_min", "workers.r", 1)]),
        ({"r": 1, "p": 2, "q": 2}, [("below_min", "workers.r", 1), ("above_max", "workers.q", 1),
                                    ("over_capacity", "workers", 3)]),
    ],
)  # fmt: skip
def test_violations(workers: dict[str, int], expected: list[tuple[str, str, int]]) -> None:
    """Every violation has its kind, place and amount, and there is no other."""
    report = dlsched.verify(INSTANCE, solution(workers))
    assert [(v.kind, v.where, v.amount) for v in report.violations] == expected


@pytest.mark.parametrize(
    ("workers", "path"),
    [
        ({"r": -1}, "workers.r"),
        ({"r": 2.0}, "workers.r"),
        ({"r": True}, "workers.r"),
        ({"r": "3"}, "workers.r"),
        (["r"], "workers"),
        (None, "workers"),
    ],
)
def test_unusable_solutions_are_refused(workers: Any, path: str) -> None:
    """What is no allocation is refused with the field's path."""
    with pytest.raises(dlsched.InstanceError) as caught:
        dlsched.verify(INSTANCE, solution(workers))
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"max_workers": 1}, "jobs[0].max_workers"),
        ({"min_running_time": None}, "jobs[0]"),
        ({"running_times": [3, 2, 1]}, "jobs[0]"),
        ({"min_running_time": None, "running_times": [3]}, "jobs[0].running_times"),
        ({"min_running_time": 0}, "jobs[0].min_running_time"),
        ({"gpus_per_worker": 0}, "jobs[0].gpus_per_worker"),
        ({"running": "yes"}, "jobs[0].running"),
        ({"max_workers": 10**9}, "jobs[0].max_workers"),
        ({"id": "p"}, "jobs[1].id"),
    ],
)
def test_unusable_instances_are_refused(changes: dict[str, Any], path: str) -> None:
    """A job that contradicts itself, or has more choices than a model can hold, is named."""
    data = {"dlsched": 1, "problem": "elastic", "name": "bad", "capacity": 7}
    with pytest.raises(dlsched.InstanceError) as caught:
        dlsched.load(data | {"jobs": [JOBS[0] | changes, *JOBS[1:]]})
    assert caught.value.path == path

"""The checker of dispatch: the violations it finds, and objectives computed by hand."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import pytest

import dlsched

TASK = {"cpus": 8, "memory": 16}
GPU = {"gpu_type": "A", "gpus": 8, "cpus": 64, "memory": 128}
DATA: dict[str, Any] = {
    "dlsched": 1,
    "problem": "dispatch",
    "name": "two-regions",
    "scope": "one",
    "lowest_priority": 3,
    "cpu_weight": 0.5,
    "regions": [
        {
            "id": "x",
            "tables": ["t"],
            "clusters": [
                {"id": "c1", "machines": [{"id": "m", "count": 2, "rack": 1} | GPU]},
                {"id": "c2", "machines": [{"id": "n", "rack": 1, "cpus": 64, "memory": 128}]},
            ],
        },
        {
            "id": "y",
            "clusters": [{"id": "c3", "machines": [{"id": "o"} | GPU | {"gpu_type": "B"}]}],
        },
    ],
    "tenants": [
        {"id": "a", "priority": 1, "gpu_quota": 8, "cpu_quota": 100, "window_use": 1},
        {"id": "b", "priority": 2, "gpu_quota": 8, "cpu_quota": 100, "window_use": 3},
    ],
    "running": [
        {
            "id": "v",
            "tenant": "b",
            "within_quota": False,
            "seconds": 6400.5,
            "jobs": [{"id": "j", "cluster": "c1", "gpus": 6, "on": {"m#0": 1, "m#1": 1}} | TASK],
        },
        {
            "id": "u",
            "tenant": "b",
            "within_quota": True,
            "seconds": 100000,
            "jobs": [{"id": "j", "cluster": "c2", "on": {"n#0": 1}} | TASK],
        },
    ],
    "pending": [
        {
            "id": "w",
            "tenant": "a",
            "age": 9,
            "tables": ["t"],
            "jobs": [
                {"id": "train", "gpu_type": "A", "tasks": 2, "gpus": 4} | TASK,
                {"id": "read", "tasks": 2} | TASK,
            ],
        },
        {"id": "z", "tenant": "b", "age": 1, "jobs": [{"id": "read", "tasks": 1} | TASK]},
    ],
}
TRAIN: dict[str, Any] = {"cluster": "c1", "on": {"m#0": 2}}
READ: dict[str, Any] = {"cluster": "c2", "on": {"n#0": 2}}


def solution(region: str = "x", preempt: Any = ("v",), **jobs: Any) -> dict[str, Any]:
    """Return a solution that starts w, with some jobs changed; ``None`` leaves one out."""
    placed = {k: v for k, v in ({"train": TRAIN, "read": READ} | jobs).items() if v is not None}
    start = {"w": {"region": region, "jobs": placed}}
    head = {"dlsched": 1, "problem": "dispatch", "instance": "two-regions"}
    return head | {"start": start, "preempt": list(preempt)}


def test_objective_by_hand() -> None:
    """W has 8 GPUs and 16 CPUs at 0.5 each; v has one job and lacks 79,999.5 seconds of a day."""
    report = dlsched.verify(DATA, solution())
    assert report.feasible, report.violations
    assert report.objective.started_1 == 16
    assert report.objective.preempted_3 == 1
    assert report.objective.young == Fraction(159999, 2)
    assert report.objective.spread == 4  # two machines, and rack 1 of two clusters
    assert sum(report.objective) == 16 + 1 + Fraction(159999, 2) + 4
    assert (
        report.details["started"] == report.details["waiting"] == report.details["preempted"] == 1
    )
    assert report.details["gpus"] == 8 / 24


def test_a_victim_may_be_on_a_machine_of_the_other_job() -> None:
    """U has priority 2 and makes room for w's CPU job, whose priority is 1."""
    report = dlsched.verify(DATA, solution(preempt=["v", "u"]))
    assert report.feasible
    assert (report.objective.preempted_2, report.objective.preempted_3) == (1, 1)
    assert report.objective.young == Fraction(159999, 2)  # u has run for more than a day


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        (solution() | {"start": {"q": {"region": "x", "jobs": {}}}, "preempt": []},
         "unknown_workload"),
        (solution() | {"start": {"z": {"region": "x", "jobs": {"read": READ | {"on": {"n#0": 1}}}}},
                       "preempt": []}, "not_first"),
        (solution("r"), "unknown_region"),
        (solution(train=None, preempt=[]), "missing_job"),
        (solution(other=READ), "unknown_job"),
        (solution(train=TRAIN | {"cluster": "c9"}), "unknown_cluster"),
        (solution(read={"cluster": "c3", "on": {"o#0": 2}}), "cluster_elsewhere"),
        (solution(read=READ | {"on": {"n#1": 2}}), "unknown_machine"),
        (solution(read=READ | {"on": {"n": 2}}), "unknown_machine"),
        (solution(train={"cluster": "c2", "on": {"n#0": 2}}, preempt=[]), "wrong_type"),
        (solution(read=READ | {"on": {"n#0": 1}}), "too_few_tasks"),
        (solution(read=READ | {"on": {"n#0": 3}}), "too_many_tasks"),
        (solution(preempt=["v", "q"]), "unknown_victim"),
        (solution(preempt=["v", "v"]), "repeated_victim"),
        (solution(train={"cluster": "c2", "on": {"n#0": 2}}), "unjustified_victim"),
        (solution(preempt=[]), "gpus_exceeded"),
    ],
)  # fmt: skip
def test_corrupted_solutions(changed: dict[str, Any], kind: str) -> None:
    """Each is refused under its own kind of violation."""
    assert kind in {violation.kind for violation in dlsched.verify(DATA, changed).violations}


def test_a_region_without_the_table() -> None:
    """Region y does not store t; nor are w's clusters there."""
    kinds = {violation.kind for violation in dlsched.verify(DATA, solution("y")).violations}
    assert kinds == {"missing_table", "cluster_elsewhere"}


@pytest.mark.parametrize(("resource", "limit"), [("cpus", 23), ("memory", 47)])
def test_other_resources(resource: str, limit: int) -> None:
    """With three tasks on n#0, one of u, CPUs and memory may be exceeded by one."""
    data = copy.deepcopy(DATA)
    data["regions"][0]["clusters"][1]["machines"][0][resource] = limit
    report = dlsched.verify(data, solution())
    assert [(v.kind, v.amount) for v in report.violations] == [(f"{resource}_exceeded", 1)]


def test_a_victim_needs_a_higher_priority() -> None:
    """A running workload of priority 1 cannot make room for one of priority 1."""
    data = copy.deepcopy(DATA)
    data["running"][0] |= {"tenant": "a", "within_quota": True}
    data["tenants"][0] |= {"gpu_quota": 20}
    report = dlsched.verify(data, solution())
    assert [violation.kind for violation in report.violations] == ["unjustified_victim"]

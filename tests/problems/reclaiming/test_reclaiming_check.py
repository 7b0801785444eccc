"""The definition and the files: objectives by hand, violations, and unusable fields."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from reclaiming_instances import hand, workers
from refusals import changed, refused_path

import dlsched
from dlsched.problems.reclaiming import Instance

INSTANCE = hand(2, {"a": "1:4 2:3", "b": "2:1 3:2f 3:1f", "c": "3:1f"}, b=2.5)
GOOD = {"dlsched": 1, "problem": "reclaiming", "instance": "hand", "returned": ["s1", "s2"]}


@pytest.mark.parametrize(
    ("returned", "preempted", "collateral"),
    [
        (["s3", "s4"], 0, 0),  # only flexible workers stop
        (["s1", "s4"], 1, 3),  # a is preempted, with 3 GPUs on s2
        (["s1", "s3"], 1, 3),
        (["s2", "s4"], 3.5, 7),  # a and b: 4 GPUs on s1, 3 flexible ones on s3
        (["s1", "s2"], 3.5, 3),
        (["s2", "s3"], 3.5, 4),
    ],
)
def test_objectives_by_hand(returned: list[str], preempted: float, collateral: int) -> None:
    """Level 1 adds weights; level 2 adds GPUs on other servers, of flexible workers too."""
    report = dlsched.verify(INSTANCE, GOOD | {"returned": returned})
    assert report.feasible
    assert tuple(report.objective) == (preempted, collateral)
    assert report.details == {"gpus_returned": 16, "collateral_fraction": collateral / 16}


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (["s1", "x"], [("unknown_server", "returned[1]", 1), ("too_few_servers", "returned", 1)]),
        (["s1", "s1"], [("repeated_server", "returned[1]", 1), ("too_few_servers", "returned", 1)]),
        (["s1", "s2", "s1"], [("repeated_server", "returned[2]", 1)]),
        (["s1"], [("too_few_servers", "returned", 1)]),
        ([], [("too_few_servers", "returned", 2)]),
        (["s1", "s2", "s3"], [("too_many_servers", "returned", 1)]),
        (["s1", "s2", "S3"], [("unknown_server", "returned[2]", 1)]),
    ],
)
def test_corrupted_solutions_are_rejected(
    returned: list[str], expected: list[tuple[str, str, int]]
) -> None:
    """Every violation has its kind, its place, and how many servers are wrong."""
    report = dlsched.verify(INSTANCE, GOOD | {"returned": returned})
    assert [(v.kind, v.where, v.amount) for v in report.violations] == expected
    assert not report


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"returned": ["s1", 2]}, "returned[1]"),
        ({"returned": ["", "s2"]}, "returned[0]"),
        ({"returned": None}, "returned"),
        ({"returned": "s1"}, "returned"),
        ({}, "returned"),
    ],
)
def test_unusable_solutions_are_refused(changes: dict[str, Any], path: str) -> None:
    """What is not a list of ids is refused with the path of the flaw; so is a missing list."""
    without = {name: value for name, value in GOOD.items() if name != "returned"}
    assert refused_path(INSTANCE, without | changes) == path


def test_an_impossible_demand_is_explained() -> None:
    """The reason has the instance's numbers."""
    result = dlsched.solve(INSTANCE | {"demand": 9})
    assert (result.status, result.termination) == ("infeasible", "infeasible")
    assert result.reason == "demand 9 servers, 4 exist"


def test_defaults_and_derived_arrays() -> None:
    """Weight is 1, workers are base workers; GPUs add up by server."""
    plain = {"server": "s1", "gpus": 4}
    job = {"id": "a", "workers": [plain, *workers("1:2f 2:4f")]}
    instance = Instance.parse(INSTANCE | {"jobs": [job]}, "test")
    assert instance.jobs[0].weight == 1
    assert not instance.jobs[0].workers[0].flexible
    assert instance.base_servers == (frozenset({0}),)
    assert instance.held == ({0: 6, 1: 4},)


def test_weights_are_the_decimals_of_the_file() -> None:
    """0.1 is a tenth, not the double near it."""
    assert Instance.parse(hand(1, {"a": ""}, a=0.1), "test").jobs[0].weight == Fraction(1, 10)


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        ("demand", -1, ""),
        ("demand", 1.5, ""),
        ("demand", True, ""),
        ("servers[0].gpus", 0, ""),
        ("servers[1].id", "s1", ""),
        ("jobs[1].id", "a", ""),
        ("jobs[0].weight", -1, ""),
        ("jobs[0]", {"id": "a"}, "jobs[0].workers"),
        ("jobs[0].workers[0].server", "s9", ""),
        ("jobs[0].workers[0].gpus", 9, ""),
        ("jobs[0].workers[0].flexible", 1, ""),
    ],
)
def test_unusable_instances_are_refused(path: str, value: Any, where: str) -> None:
    """Each flaw is reported at its path."""
    assert refused_path(changed(INSTANCE, path, value)) == (where or path)

"""The definition and the files: objectives by hand, violations, and unusable fields."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import dlsched
from dlsched import InstanceError
from dlsched.problems.reclaiming.definition.schema import Instance

INSTANCE: dict[str, Any] = {
    "dlsched": 1,
    "problem": "reclaiming",
    "name": "hand",
    "demand": 2,
    "servers": [{"id": f"s{i}", "gpus": 8} for i in range(1, 5)],
    "jobs": [
        {"id": "a", "workers": [{"server": "s1", "gpus": 4}, {"server": "s2", "gpus": 3}]},
        {
            "id": "b",
            "weight": 2.5,
            "workers": [
                {"server": "s2", "gpus": 1},
                {"server": "s3", "gpus": 2, "flexible": True},
                {"server": "s3", "gpus": 1, "flexible": True},
            ],
        },
        {"id": "c", "workers": [{"server": "s3", "gpus": 1, "flexible": True}]},
    ],
}
GOOD: dict[str, Any] = {
    "dlsched": 1,
    "problem": "reclaiming",
    "instance": "hand",
    "returned": ["s1", "s2"],
}


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


VIOLATIONS: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "unknown server": (
        {"returned": ["s1", "x"]},
        [("unknown_server", "returned[1]"), ("too_few_servers", "returned")],
    ),
    "repeated server": (
        {"returned": ["s1", "s1"]},
        [("repeated_server", "returned[1]"), ("too_few_servers", "returned")],
    ),
    "repeated beside enough": (
        {"returned": ["s1", "s2", "s1"]},
        [("repeated_server", "returned[2]")],
    ),
    "too few": ({"returned": ["s1"]}, [("too_few_servers", "returned")]),
    "none": ({"returned": []}, [("too_few_servers", "returned")]),
    "too many": ({"returned": ["s1", "s2", "s3"]}, [("too_many_servers", "returned")]),
    "unknown beside enough": (
        {"returned": ["s1", "s2", "S3"]},
        [("unknown_server", "returned[2]")],
    ),
}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_corrupted_solutions_are_rejected(name: str) -> None:
    """Every violation has its kind and place."""
    changes, expected = VIOLATIONS[name]
    report = dlsched.verify(INSTANCE, GOOD | changes)
    assert [(v.kind, v.where) for v in report.violations] == expected
    assert not report


@pytest.mark.parametrize(("returned", "amount"), [([], 2), (["s1"], 1), (["s1", "s2", "s3"], 1)])
def test_amounts_are_servers(returned: list[str], amount: int) -> None:
    """The amount of a wrong number of servers is the difference."""
    report = dlsched.verify(INSTANCE, GOOD | {"returned": returned})
    assert report.violations[0].amount == amount


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"returned": ["s1", 2]}, "returned[1]"),
        ({"returned": ["", "s2"]}, "returned[0]"),
        ({"returned": None}, "returned"),
        ({"returned": "s1"}, "returned"),
    ],
)
def test_unusable_solutions_are_refused(changes: dict[str, Any], path: str) -> None:
    """What is not a list of ids is refused with the path of the flaw; so is a missing list."""
    for data in (GOOD | changes, {k: v for k, v in GOOD.items() if k != "returned"}):
        with pytest.raises(InstanceError) as refused:
            dlsched.verify(INSTANCE, data)
        assert refused.value.path == (path if "returned" in data else "returned")
        assert refused.value.remedy


def test_an_impossible_demand_is_explained() -> None:
    """The reason has the instance's numbers."""
    result = dlsched.solve(INSTANCE | {"demand": 9})
    assert (result.status, result.termination) == ("infeasible", "infeasible")
    assert result.reason == "demand 9 servers, 4 exist"


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
    """Each flaw is reported at its path."""
    with pytest.raises(InstanceError) as refused:
        Instance.parse(data(**changes), "test")
    assert refused.value.path == path

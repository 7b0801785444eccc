"""The definition: what is preempted, what is collateral, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import dlsched
from dlsched import InstanceError
from dlsched.problems.reclaiming.schema import Instance

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
        (["s1", "s4"], 1, 3),  # a goes, and its 3 GPUs on s2 with it
        (["s1", "s3"], 1, 3),
        (["s2", "s4"], 3.5, 7),  # a and b go: 4 on s1, 3 flexible on s3
        (["s1", "s2"], 3.5, 3),
        (["s2", "s3"], 3.5, 4),
    ],
)
def test_objectives_by_hand(returned: list[str], preempted: float, collateral: int) -> None:
    """Weights count on level 1; level 2 counts GPUs on servers that stay, flexible ones too."""
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
    "another instance": ({"instance": "foot"}, [("instance", "instance")]),
}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_corrupted_solutions_are_rejected(name: str) -> None:
    """Every corruption is named by its kind and place."""
    changes, expected = VIOLATIONS[name]
    report = dlsched.verify(INSTANCE, GOOD | changes)
    assert [(v.kind, v.where) for v in report.violations] == expected
    assert not report


@pytest.mark.parametrize(("returned", "amount"), [([], 2), (["s1"], 1), (["s1", "s2", "s3"], 1)])
def test_amounts_are_servers(returned: list[str], amount: int) -> None:
    """A wrong number of servers is off by the difference."""
    report = dlsched.verify(INSTANCE, GOOD | {"returned": returned})
    assert report.violations[0].amount == amount


UNUSABLE: dict[str, tuple[dict[str, Any], str]] = {
    "wrong problem": ({"problem": "elastic"}, "problem"),
    "unknown problem": ({"problem": "tetris"}, "problem"),
    "wrong digest": ({"instance_sha256": "0" * 64}, "instance_sha256"),
    "unknown field": ({"colour": 1}, "colour"),
    "id that is a number": ({"returned": ["s1", 2]}, "returned[1]"),
    "empty id": ({"returned": ["", "s2"]}, "returned[0]"),
    "null list": ({"returned": None}, "returned"),
    "string for a list": ({"returned": "s1"}, "returned"),
    "version 2": ({"dlsched": 2}, "dlsched"),
    "no name": ({"instance": ""}, "instance"),
    "null name": ({"instance": None}, "instance"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_unusable_solutions_are_refused(name: str) -> None:
    """What is not a solution of this instance is refused with the path of the flaw."""
    changes, path = UNUSABLE[name]
    with pytest.raises(InstanceError) as refused:
        dlsched.verify(INSTANCE, GOOD | changes)
    assert refused.value.path == path
    assert refused.value.remedy


def test_a_solution_without_its_servers_is_refused() -> None:
    """The list is required: nothing returned must be said."""
    with pytest.raises(InstanceError) as refused:
        dlsched.verify(INSTANCE, {k: v for k, v in GOOD.items() if k != "returned"})
    assert refused.value.path == "returned"


def test_the_right_digest_is_accepted() -> None:
    """The digest of the instance itself is no obstacle."""
    digest = Instance.parse(INSTANCE, "test").sha256
    assert dlsched.verify(INSTANCE, GOOD | {"instance_sha256": digest})


@pytest.mark.parametrize("method", ["exact", "components", "lyra", "random"])
def test_an_impossible_demand_is_explained(method: str) -> None:
    """Every method says infeasible, and why, in the instance's words."""
    servers = [{"id": f"s{i}", "gpus": 8} for i in range(1, 7)]
    result = dlsched.solve(INSTANCE | {"demand": 9, "servers": servers}, method)
    assert result.status == "infeasible"
    assert result.reason == "demand 9 servers, 6 exist"

"""The definition and the files: objectives by hand, violations, and what this problem refuses."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from reclaiming_instances import hand
from refusals import changed, refused_path

import dlsched

INSTANCE = hand(2, {"a": "1:4 2:3", "b": "2:1 3:2f 3:1f", "c": "3:1f"}, b=2.5)
HEAD = {"dlsched": 1, "problem": "reclaiming", "instance": "hand"}


@pytest.mark.parametrize(
    ("returned", "preempted", "collateral"),
    [
        (["s3", "s4"], 0, 0),  # only flexible workers stop
        (["s1", "s4"], 1, 3),  # a is preempted, with 3 GPUs on s2
        (["s1", "s3"], 1, 3),
        (["s2", "s4"], 3.5, 7),  # a and b: 4 GPUs on s1, 3 flexible ones on s3
        (["s1", "s2"], 3.5, 3),
    ],
)
def test_objectives_by_hand(returned: list[str], preempted: float, collateral: int) -> None:
    """Level 1 adds weights; level 2 adds GPUs on other servers, of flexible workers too."""
    report = dlsched.verify(INSTANCE, HEAD | {"returned": returned})
    assert report.feasible
    assert tuple(report.objective) == (preempted, collateral)
    assert report.details == {"gpus_returned": 16, "collateral_fraction": collateral / 16}


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (["s1", "x"], [("unknown_server", "returned[1]", 1), ("too_few_servers", "returned", 1)]),
        (["s1", "s2", "s1"], [("repeated_server", "returned[2]", 1)]),
        ([], [("too_few_servers", "returned", 2)]),
        (["s1", "s2", "s3"], [("too_many_servers", "returned", 1)]),
        (["s1", "s2", "S3"], [("unknown_server", "returned[2]", 1)]),
    ],
)
def test_corrupted_solutions_are_rejected(
    returned: list[str], expected: list[tuple[str, str, int]]
) -> None:
    """Every violation has its kind, its place, and how many servers are wrong."""
    report = dlsched.verify(INSTANCE, HEAD | {"returned": returned})
    assert [(v.kind, v.where, v.amount) for v in report.violations] == expected
    assert not report


def test_weights_are_the_decimals_of_the_file() -> None:
    """0.1 is a tenth, not the double near it; without a weight it is 1."""
    made = dlsched.load(hand(1, {"a": "", "b": ""}, a=0.1))
    assert [job.weight for job in made.jobs] == [Fraction(1, 10), 1]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("demand", -1),
        ("servers[0].gpus", 0),
        ("jobs[0].weight", -1),
        ("jobs[0].workers[0].gpus", 9),
    ],
)
def test_unusable_instances_are_refused(path: str, value: Any) -> None:
    """Each flaw is reported at its path; a server cannot hold more GPUs than it has."""
    assert refused_path(changed(INSTANCE, path, value)) == path

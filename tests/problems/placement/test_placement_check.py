"""The checker of placement: violations, and costs computed by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from dlsched.problems.placement.definition.check import (
    check,
    details,
    evaluate,
    explain,
    gpu,
    sigmoid,
)
from dlsched.problems.placement.definition.schema import Instance, Solution
from dlsched.results.result import Report

DATA: dict[str, Any] = {
    "name": "two",
    "move_quota": 10,
    "at_home_threshold": 4,
    "regions": [
        {"id": "r", "storage_capacity": 30, "gpu_supply": {"A": 6}, "cpu_quota": {"ads": 5}},
        {"id": "s", "storage_capacity": 10, "gpu_supply": {"A": 2}, "cpu_quota": {"ads": 5}},
    ],
    "tables": [
        {"id": "t", "size": 10, "home": "r"},
        {"id": "u", "size": 6, "home": "r"},
        {"id": "v", "size": 4},
    ],
    "jobs": [
        {"id": "j", "kind": "ml", "tables": ["t"], "gpu_hours": {"A": 4}, "time_sensitive": True},
        {"id": "k", "kind": "ml", "tables": ["t", "u"], "gpu_hours": {"A": 4}, "priority": 2},
        {"id": "l", "kind": "spark", "tables": ["u", "v"], "cpu_hours": 4, "app": "ads"},
        {"id": "m", "kind": "presto", "tables": ["v"], "cpu_hours": 2, "app": "ads"},
    ],
}
INSTANCE = Instance(**DATA)
HOME = {"t": "r", "u": "r", "v": "s"}


def report_on(home: dict[str, str]) -> Report:
    """Return the report on a placement."""
    return check(INSTANCE, Solution(home=home))


def test_cost_by_hand() -> None:
    """Job l, whose tie goes to r, reads v from s: 4 of 10 + 16 + 10 + 4 bytes cross.

    Both ML jobs are in r: shares of demand 1 and 0 for each priority, of supply 3/4 and 1/4. The
    load of r is 8, 2 above its supply, half the mean of 4: the sigmoid at 5/2; that of s is 1/2.
    Bytes are 16 and 4 of 20, capacities 30 and 10 of 40.
    """
    report = report_on(HOME)
    assert report.feasible
    expected_gpu = 2 * (1 / 16) * (1 / (1 + math.exp(-2.5)) + 0.5)
    assert report.details["gpu"] == pytest.approx(expected_gpu, rel=1e-12)
    assert report.details["traffic"] == pytest.approx(4 / 40)
    assert report.details["storage"] == pytest.approx(2 * (1 / 20) ** 2)
    assert float(report.objective.cost) == pytest.approx(0.1 + expected_gpu + 0.005)
    assert (report.details["moved"], report.details["overload"]) == (0, 2)


def test_version_1_has_neither_overload_nor_storage() -> None:
    """In v1 the sigmoid is 1/2 and (3) is off."""
    first = INSTANCE.model_copy(update={"version": "v1"})
    home = {"t": 0, "u": 0, "v": 1}
    assert gpu(first, home) == pytest.approx(2 * (1 / 16) * (0.5 + 0.5))
    assert float(evaluate(first, home).cost) == pytest.approx(0.1 + 0.125)


def test_priorities_and_parts_weigh() -> None:
    """With priority 2 at weight 0, traffic at 2: half the imbalance and twice the traffic."""
    weighted = INSTANCE.model_copy(
        update={
            "priority_weights": {"2": 0},
            "weights": INSTANCE.weights.model_copy(update={"traffic": 2, "storage": 0}),
        }
    )
    home = {"t": 0, "u": 0, "v": 1}
    half = (1 / 16) * (1 / (1 + math.exp(-2.5)) + 0.5)
    assert float(evaluate(weighted, home).cost) == pytest.approx(0.2 + half)


def test_a_split_ml_job_has_no_region() -> None:
    """With t and u apart, k has no region: its bytes are traffic, its GPU hours are not counted."""
    found = details(INSTANCE, {"t": 0, "u": 1, "v": 1})
    assert found["placed"] == 0.5
    # k reads 16 bytes from other regions; l is at home with u and v.
    assert found["traffic"] == pytest.approx(16 / 40)


def test_a_spark_job_runs_where_most_tables_are() -> None:
    """It is the home of two of three tables; with a tie the earlier region in the file."""
    job = INSTANCE.jobs[2].model_copy(update={"tables": ("t", "u", "v")})
    assert INSTANCE.region_of(job, {"t": 0, "u": 1, "v": 1}) == 1
    assert INSTANCE.region_of(INSTANCE.jobs[2], {"t": 0, "u": 1, "v": 0}) == 0
    assert INSTANCE.region_of(job, {"t": 0}) is None


MUTATIONS = [
    (HOME | {"x": "r"}, "unknown_table", 1),
    (HOME | {"v": "x"}, "unknown_region", 1),
    ({"t": "r", "u": "r"}, "missing_table", 1),
    (HOME | {"u": "s", "v": "s", "t": "s"}, "storage_exceeded", 10),
    (HOME | {"u": "s", "v": "s", "t": "s"}, "quota_exceeded", 6),
    (HOME | {"v": "r"}, "cpu_exceeded", 1),
    ({"u": "r", "v": "s"}, "off_home", 4),
    ({}, "missing_table", 1),
    ({}, "off_home", 4),
    (HOME | {"t": "R"}, "unknown_region", 1),
    (HOME | {"T": "s"}, "unknown_table", 1),
    ({"t": "s", "u": "r", "v": "s"}, "storage_exceeded", 4),
    ({"t": "x", "u": "x", "v": "x"}, "off_home", 4),
]


@pytest.mark.parametrize(("home", "kind", "amount"), MUTATIONS)
def test_corrupted_placements_are_rejected(home: dict[str, str], kind: str, amount: int) -> None:
    """Each corruption is reported under its own kind, with its size."""
    report = report_on(home)
    assert not report.feasible
    assert {v.kind: v.amount for v in report.violations}[kind] == amount


def test_time_sensitive_jobs_need_their_type() -> None:
    """In a region without their GPU type they violate (6)."""
    regions = [dict(DATA["regions"][0]), dict(DATA["regions"][1]) | {"gpu_supply": {}}]
    made = Instance(**DATA | {"regions": regions, "move_quota": None})
    report = check(made, Solution(home={"t": "s", "u": "r", "v": "r"}))
    assert "off_home" in {v.kind for v in report.violations}


def test_sigmoid() -> None:
    """A half at 0, within 0 and 1 anywhere, without overflow."""
    assert sigmoid(0) == 0.5
    assert sigmoid(1e6) == 1
    assert sigmoid(-1e6) == 0
    assert sigmoid(5) + sigmoid(-5) == pytest.approx(1)


def test_infeasible_instances_say_why() -> None:
    """More bytes than all regions store, a table too large for any, too few GPU hours for (6)."""
    small = [dict(r) | {"storage_capacity": 9} for r in DATA["regions"]]
    assert "the tables have 20 bytes" in explain(Instance(**DATA | {"regions": small}))
    even = [dict(r) | {"storage_capacity": Fraction(19, 2)} for r in DATA["regions"]] + [
        {"id": "z", "storage_capacity": 9}
    ]
    assert "table t has 10 bytes" in explain(Instance(**DATA | {"regions": even}))
    assert "9 GPU hours" in explain(INSTANCE.model_copy(update={"at_home_threshold": 9}))
    assert explain(INSTANCE) == ""

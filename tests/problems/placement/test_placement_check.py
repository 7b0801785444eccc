"""The definition of placement: costs by hand, violations, and unusable fields."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from placement_instances import job, region, table
from refusals import refused_path

import dlsched
from dlsched.problems.placement import Instance, Solution
from dlsched.problems.placement.definition.check import (
    check,
    details,
    evaluate,
    explain,
    gpu,
    sigmoid,
)
from dlsched.results.result import Report

REGIONS = [
    region("r", 30, 6, cpu_quota={"ads": 5}), region("s", 10, 2, cpu_quota={"ads": 5})
]  # fmt: skip
DATA: dict[str, Any] = {
    "name": "two",
    "move_quota": 10,
    "at_home_threshold": 4,
    "regions": REGIONS,
    "tables": [table("t", 10, "r"), table("u", 6, "r"), table("v", 4)],
    "jobs": [
        job("j", "t", 4, time_sensitive=True),
        job("k", "tu", 4, priority=2),
        job("l", "uv", kind="spark", cpu_hours=4, app="ads"),
        job("m", "v", kind="presto", cpu_hours=2, app="ads"),
    ],
}
INSTANCE = Instance(**DATA)
HOME = {"t": "r", "u": "r", "v": "s"}


def report_on(home: dict[str, str]) -> Report:
    """Return the report on a placement."""
    return check(INSTANCE, Solution(home=home))


def test_cost_by_hand() -> None:
    """Job l, whose tie goes to r, reads v from s: 4 of 10 + 16 + 10 + 4 bytes cross."""
    # Both ML jobs are in r: shares of demand 1 and 0 for each priority, of supply 3/4 and 1/4. The
    # load of r is 8, 2 above its supply, half the mean of 4: the sigmoid at 5/2; that of s is 1/2.
    # Bytes are 16 and 4 of 20, capacities 30 and 10 of 40.
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
    weights = {"traffic": 2, "storage": 0}
    weighted = Instance(**DATA | {"priority_weights": {"2": 0}, "weights": weights})
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
    regions = [REGIONS[0], REGIONS[1] | {"gpu_supply": {}}]
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
    small = [r | {"storage_capacity": 9} for r in REGIONS]
    assert "the tables have 20 bytes" in explain(Instance(**DATA | {"regions": small}))
    even = [r | {"storage_capacity": Fraction(19, 2)} for r in REGIONS] + [region("z", 9)]
    assert "table t has 10 bytes" in explain(Instance(**DATA | {"regions": even}))
    assert "9 GPU hours" in explain(INSTANCE.model_copy(update={"at_home_threshold": 9}))
    assert explain(INSTANCE) == ""


JOB = job("j", "t", 1)
GOOD: dict[str, Any] = {"dlsched": 1, "problem": "placement", "name": "good"} | {
    "regions": [region("r", 5, {"A": 2, "B": 1})], "tables": [table("t", 3, "r")], "jobs": [JOB],
}  # fmt: skip


def only(**changes: Any) -> dict[str, Any]:
    """Return the list of jobs with changed fields of its only job."""
    return {"jobs": [JOB | changes]}


def test_defaults() -> None:
    """Version 2, all weights 1, slope 5, no threshold, no quota, priority 1."""
    made = dlsched.load(GOOD)
    assert (made.version, made.overload_slope, made.at_home_threshold) == ("v2", 5, 0)
    assert made.move_quota is None
    assert (made.weights.traffic, made.weights.gpu, made.weights.storage) == (1, 1, 1)
    assert made.priority_weight(1) == 1
    assert made.kinds == ("A",)


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"version": "v3"}, "version"),
        ({"weights": {"traffic": -1}}, "weights.traffic"),
        ({"overload_slope": 0}, "overload_slope"),
        ({"move_quota": -1}, "move_quota"),
        ({"at_home_threshold": -1}, "at_home_threshold"),
        ({"priority_weights": {"one": 1}}, "priority_weights.one"),
        ({"priority_weights": {"01": 1}}, "priority_weights.01"),
        ({"regions": GOOD["regions"] * 2}, "regions[1].id"),
        ({"regions": []}, "regions"),
        ({"regions": [{"id": "r", "storage_capacity": -1}]}, "regions[0].storage_capacity"),
        ({"tables": GOOD["tables"] * 2}, "tables[1].id"),
        ({"tables": [{"id": "t", "size": 0}]}, "tables[0].size"),
        ({"tables": [{"id": "t", "size": 1, "home": "x"}]}, "tables[0].home"),
        ({"jobs": [JOB, JOB]}, "jobs[1].id"),
        (only(kind="batch"), "jobs[0].kind"),
        (only(tables=[]), "jobs[0].tables"),
        (only(tables=["t", "t"]), "jobs[0].tables[1]"),
        (only(tables=["x"]), "jobs[0].tables[0]"),
        (only(gpu_hours={"A": -1}), "jobs[0].gpu_hours.A"),
        (only(cpu_hours=1), "jobs[0].app"),
        (only(priority=0), "jobs[0].priority"),
        (only(priority=10**6), "jobs[0].priority"),
        (only(time_sensitive="yes"), "jobs[0].time_sensitive"),
        ({"speed": 1}, "speed"),
    ],
)
def test_errors_name_the_field(changes: dict[str, Any], path: str) -> None:
    """Each flaw is one error with the field's path and a remedy."""
    assert refused_path(GOOD | changes) == path

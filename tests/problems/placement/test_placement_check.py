"""The definition of placement: costs by hand, violations, and unusable fields."""

import math
from typing import Any

import pytest
from changed_documents import documents
from placement_instances import job, region

import dlsched
from dlsched.problems.placement import Instance

DATA: dict[str, Any] = documents("placement")["instance"]
HOME = {"t": "r", "u": "r", "v": "s"}


def report_on(home: dict[str, str], **changes: Any) -> dlsched.Report:
    """Return the report on a placement, of the instance with some fields changed."""
    solution = {"dlsched": 1, "problem": "placement", "instance": "two", "home": home}
    return dlsched.verify(DATA | changes, solution)


SIGMOIDS = 1 / (1 + math.exp(-2.5)) + 0.5
"""The load of r is 8, 2 above its supply, half the mean of 4; that of s is not above."""


@pytest.mark.parametrize(
    ("changes", "traffic", "gpu", "storage"),
    [
        # Both ML jobs are in r: shares of demand 1 and 0 for each priority, of supply 3/4 and 1/4.
        # Bytes are 16 and 4 of 20, capacities 30 and 10 of 40. Job l, whose tie goes to r, reads
        # v from s: 4 of 10 + 16 + 10 + 4 bytes.
        ({}, 4 / 40, 2 / 16 * SIGMOIDS, 2 / 400),
        # In v1 the sigmoid is 1/2 and (3) is off.
        ({"version": "v1"}, 4 / 40, 2 / 16, 0),
        # With priority 2 at weight 0, traffic at 2: half the imbalance and twice the traffic.
        ({"priority_weights": {"2": 0}, "weights": {"traffic": 2, "storage": 0}}, 8 / 40,
         1 / 16 * SIGMOIDS, 0),
    ],
)  # fmt: skip
def test_cost_by_hand(changes: Any, traffic: float, gpu: float, storage: float) -> None:
    """The cost is the weighted sum of its three parts."""
    report = report_on(HOME, **changes)
    assert report.feasible
    assert (report.details["moved"], report.details["overload"]) == (0, 2)
    assert float(report.objective.cost) == pytest.approx(traffic + gpu + storage, rel=1e-12)


def test_without_room_storage_costs_nothing() -> None:
    """Shares of nothing are no cost; a priority of 1000 is the last one."""
    none = [region(name, 0, 6, cpu_quota={"ads": 5}) for name in "rs"]
    assert report_on(HOME, regions=none).details["storage"] == 0
    assert Instance(**DATA | {"jobs": [job("j", "t", 4, priority=1000)]}).jobs[0].priority == 1000


def test_a_split_ml_job_has_no_region() -> None:
    """With t and u apart, k has no region: its bytes are traffic, its GPU hours are not counted."""
    found = report_on({"t": "r", "u": "s", "v": "s"}).details
    assert found["placed"] == 0.5
    # k reads 16 bytes from other regions; l is at home with u and v.
    assert found["traffic"] == pytest.approx(16 / 40)


@pytest.mark.parametrize(
    ("homes", "bytes_across"), [("rss", 10), ("rsr", 6), ("sss", 0), ("rrr", 0)]
)
def test_a_spark_job_runs_where_most_tables_are(homes: str, bytes_across: int) -> None:
    """It is the home of two of three tables; the bytes of the third cross."""
    spark = job("l", "tuv", kind="spark")
    found = report_on(dict(zip("tuv", homes, strict=True)), jobs=[spark]).details
    assert found["traffic"] == pytest.approx(bytes_across / 20)

"""The definition of dispatch: objectives by hand, violations, unusable fields, the ranking."""

from fractions import Fraction
from typing import Any

import pytest

import dlsched
from dispatch_instances import held, instance, job, machines, region, running, tenant, waiting
from dlsched.problems.dispatch import Instance, rank

TASK = {"cpus": 8, "memory": 16}
HEAD = {"dlsched": 1, "problem": "dispatch"}
DATA: dict[str, Any] = HEAD | {
    "name": "two-regions",
    "scope": "one",
    "lowest_priority": 3,
    "cpu_weight": 0.5,
    "regions": [
        region(
            {"c1": [machines("m", 8, 64, 128, count=2, rack=1)],
             "c2": [machines("n", 0, 64, 128, rack=1)]},
            "x", tables=["t"],
        ),
        region({"c3": [machines("o", 8, 64, 128, gpu_type="B")]}, "y"),
    ],
    "tenants": [tenant("a", 1, 8, 100, use=1), tenant("b", 2, 8, 100, use=3)],
    "running": [
        running("v", held({"m#0": 1, "m#1": 1}, 6, cluster="c1", **TASK), tenant="b",
                seconds=6400.5),
        running("u", held({"n#0": 1}, cluster="c2", **TASK), tenant="b", seconds=100000,
                within_quota=True),
    ],
    "pending": [
        waiting("w", job("train", 4, 2, **TASK), job("read", tasks=2, **TASK), tenant="a", age=9,
                tables=["t"]),
        waiting("z", job("read", **TASK), tenant="b", age=1),
    ],
}  # fmt: skip
TRAIN: dict[str, Any] = {"cluster": "c1", "on": {"m#0": 2}}
READ: dict[str, Any] = {"cluster": "c2", "on": {"n#0": 2}}


def solution(region: str = "x", preempt: Any = ("v",), **jobs: Any) -> dict[str, Any]:
    """Return a solution that starts w, with some jobs changed; ``None`` leaves one out."""
    placed = {k: v for k, v in ({"train": TRAIN, "read": READ} | jobs).items() if v is not None}
    start = {"w": {"region": region, "jobs": placed}}
    return HEAD | {"instance": "two-regions", "start": start, "preempt": list(preempt)}


def test_objective_by_hand() -> None:
    """W has 8 GPUs and 16 CPUs at 0.5 each; v has one job and lacks 79,999.5 seconds of a day."""
    report = dlsched.verify(DATA, solution())
    assert report.feasible, report.violations
    assert report.objective.started_1 == 16
    assert report.objective.preempted_3 == 1
    assert report.objective.young == Fraction(159999, 2)
    assert report.objective.spread == 4  # two machines, and rack 1 of two clusters
    assert sum(report.objective) == 16 + 1 + Fraction(159999, 2) + 4
    assert [report.details[name] for name in ("started", "waiting", "preempted")] == [1, 1, 1]
    assert report.details["gpus"] == 8 / 24


def test_a_victim_may_be_on_a_machine_of_the_other_job() -> None:
    """U has priority 2 and makes room for w's CPU job, whose priority is 1."""
    report = dlsched.verify(DATA, solution(preempt=["v", "u"]))
    assert report.feasible
    assert (report.objective.preempted_2, report.objective.preempted_3) == (1, 1)
    assert report.objective.young == Fraction(159999, 2)  # u has run for more than a day


def ranked(pending: list[Any], *tenants: Any, **more: Any) -> Instance:
    """Return an instance to rank, without machines that matter."""
    return instance([machines("m", 8, 64, 64)], pending=pending, tenants=tenants,
                    **{"lowest_priority": 5} | more)  # fmt: skip


def wait(name: str, owner: str, age: Any, tasks: int = 2) -> dict[str, Any]:
    """Return a workload of 4 GPUs and 8 CPUs, or of another number of tasks."""
    return waiting(name, job(gpus=2, tasks=tasks, cpus=4), tenant=owner, age=age)


def test_credit_by_hand() -> None:
    """Expressions 10 and 11: ages are capped, and use 1 of a mean of 1.5 gives a third."""
    pending = [wait("a", "n", 50), wait("b", "m", 200.5)]
    credit = {"age_weight": 0.5, "age_cap": 200, "fair_weight": 3}
    found = rank(ranked(pending, tenant("n", use=1), tenant("m", use=2), credit=credit))
    assert [(row.workload, row.credit) for row in found] == [("b", 99), ("a", 26)]


def test_decimals_are_exact() -> None:
    """Ages that differ in the last digit of a double are not equal; nor are sums of tenths."""
    pending = [wait("a", "n", 0.3), wait("b", "n", 0.30000000000000004)]
    found = rank(ranked(pending, tenant(), credit={"age_weight": 0.1}))
    assert [row.workload for row in found] == ["b", "a"]
    assert found[1].credit == 1 + Fraction(3, 100)


THREE = [("new", 1, 2), ("old", 9, 2), ("mid", 5, 2)]


@pytest.mark.parametrize(
    ("pending", "quota", "priorities"),
    [
        # Two of three fit a quota of 9, the oldest ones; the third is lowest.
        (THREE, {"gpus": 9}, {"old": 2, "mid": 2, "new": 5}),
        # Also of CPUs, of which each needs 8.
        (THREE, {"cpus": 16}, {"old": 2, "mid": 2, "new": 5}),
        # A workload over quota does not use the quota up: the smaller s fits.
        ([("a", 9, 2), ("b", 8, 2), ("s", 0, 1)], {"gpus": 6}, {"a": 2, "s": 2, "b": 5}),
    ],
)
def test_quota_is_scanned_by_credit(
    pending: list[tuple[str, int, int]], quota: dict[str, int], priorities: dict[str, int]
) -> None:
    """Workloads have the tenant's priority as long as they fit its quota, then the lowest."""
    rows = [wait(name, "n", age, tasks) for name, age, tasks in pending]
    found = rank(ranked(rows, tenant("n", 2, **quota)))
    assert [(row.workload, row.priority) for row in found] == [*priorities.items()]
    assert all(row.within_quota == (row.priority == 2) for row in found)


@pytest.mark.parametrize(("quota", "priority"), [(8, 1), (7, 5)])
def test_running_workloads_use_quota_only_within_it(quota: int, priority: int) -> None:
    """Four GPUs run within quota; the four over quota do not count."""
    runs = [running(f"v{k}", held({"m#0": 1}, 4, 1, 1), within_quota=k) for k in (True, False)]
    found = rank(ranked([wait("w", "n", 0)], tenant(gpus=quota), running=runs))
    assert found[0].priority == priority


def test_priority_before_credit_and_ties_in_file_order() -> None:
    """The oldest waits behind higher priorities; equal credits keep the file's order."""
    pending = [wait("old", "low", 99), wait("b", "high", 5), wait("a", "high", 5)]
    found = rank(ranked(pending, tenant("low", 3), tenant("high", 1)))
    assert [(row.workload, row.credit) for row in found] == [("b", 6), ("a", 6), ("old", 100)]


def test_scope_one_starts_the_first_only() -> None:
    """The first of the ranking starts, not the first in the file."""
    best = dlsched.solve(ranked([wait("a", "n", 1), wait("b", "n", 2)], tenant(), scope="one"))
    assert list(best.solution.start) == ["b"]

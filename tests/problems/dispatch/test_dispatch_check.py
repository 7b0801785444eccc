"""The ranking of dispatch; reports.txt has the rest of the definition."""

from fractions import Fraction
from typing import Any

import pytest

import dlsched
from dispatch_instances import held, instance, job, machines, running, tenant, waiting
from dlsched.problems.dispatch import Instance, rank


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

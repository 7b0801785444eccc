"""The ranking of pending workloads: credit, quotas, ties (MAST, section 4.2)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import dlsched
from dlsched.problems.dispatch import Instance, rank

JOB = {"id": "j", "gpu_type": "A", "tasks": 2, "gpus": 2, "cpus": 4, "memory": 1}


def instance(pending: list[Any], tenants: list[Any], **more: Any) -> Instance:
    """Return an instance without machines that matter."""
    cluster = {"id": "c", "machines": [{"id": "m", "gpu_type": "A", "gpus": 8, "cpus": 64,
                                        "memory": 64}]}  # fmt: skip
    return Instance(
        name="ranking",
        lowest_priority=5,
        regions=[{"id": "r", "clusters": [cluster]}],
        tenants=tenants,
        pending=pending,
        **more,
    )


def tenant(name: str, priority: int, gpus: int = 100, use: Any = 0) -> dict[str, Any]:
    """Return a tenant without a limit of CPUs."""
    quotas = {"gpu_quota": gpus, "cpu_quota": 1000}
    return {"id": name, "priority": priority, "window_use": use} | quotas


def waiting(name: str, owner: str, age: Any) -> dict[str, Any]:
    """Return a workload of 4 GPUs and 8 CPUs."""
    return {"id": name, "tenant": owner, "age": age, "jobs": [JOB]}


def test_credit_by_hand() -> None:
    """Expressions 10 and 11: ages are capped, and use 1 of a mean of 1.5 gives a third."""
    found = rank(
        instance(
            [waiting("a", "n", 50), waiting("b", "m", 200.5)],
            [tenant("n", 1, use=1), tenant("m", 1, use=2)],
            credit={"age_weight": 0.5, "age_cap": 200, "fair_weight": 3},
        )
    )
    assert [(row.workload, row.credit) for row in found] == [("b", 99), ("a", 26)]


def test_decimals_are_exact() -> None:
    """Ages that differ in the last digit of a double are not equal; nor are sums of tenths."""
    found = rank(
        instance(
            [waiting("a", "n", 0.3), waiting("b", "n", 0.30000000000000004)],
            [tenant("n", 1)],
            credit={"age_weight": 0.1},
        )
    )
    assert [row.workload for row in found] == ["b", "a"]
    assert found[1].credit == 1 + Fraction(3, 100)


def test_quota_is_scanned_by_credit() -> None:
    """Of three workloads of 4 GPUs two fit a quota of 9, the oldest ones; the third is lowest."""
    pending = [waiting("new", "n", 1), waiting("old", "n", 9), waiting("mid", "n", 5)]
    found = rank(instance(pending, [tenant("n", 2, gpus=9)]))
    assert [(row.workload, row.priority, row.within_quota) for row in found] == [
        ("old", 2, True), ("mid", 2, True), ("new", 5, False)
    ]  # fmt: skip


def test_a_smaller_one_may_still_fit() -> None:
    """A workload over quota does not use the quota up."""
    small = {"id": "s", "tenant": "n", "age": 0, "jobs": [JOB | {"tasks": 1}]}
    pending = [waiting("a", "n", 9), waiting("b", "n", 8), small]
    found = rank(instance(pending, [tenant("n", 2, gpus=6)]))
    assert [(row.workload, row.priority) for row in found] == [("a", 2), ("s", 2), ("b", 5)]


def test_running_workloads_use_quota_only_within_it() -> None:
    """Four GPUs run within quota; the four over quota do not count."""
    on = {"id": "j", "cluster": "c", "cpus": 1, "memory": 1, "on": {"m#0": 1}}
    more = {"tenant": "n", "seconds": 0, "jobs": [on | {"gpus": 4}]}
    running = [more | {"id": f"v{within}", "within_quota": within} for within in (True, False)]
    for quota, priority in ((8, 1), (7, 5)):
        found = rank(
            instance([waiting("w", "n", 0)], [tenant("n", 1, gpus=quota)], running=running)
        )
        assert found[0].priority == priority


def test_priority_before_credit_and_ties_in_file_order() -> None:
    """The oldest workload waits behind higher priorities; equal credits keep the file's order."""
    pending = [waiting("old", "low", 99), waiting("b", "high", 5), waiting("a", "high", 5)]
    found = rank(instance(pending, [tenant("low", 3), tenant("high", 1)]))
    assert [row.workload for row in found] == ["b", "a", "old"]


def test_scope_one_starts_the_first_only() -> None:
    """The first of the ranking starts, not the first in the file."""
    pending = [waiting("a", "n", 1), waiting("b", "n", 2)]
    best = dlsched.solve(instance(pending, [tenant("n", 1)], scope="one"))
    assert list(best.solution.start) == ["b"]

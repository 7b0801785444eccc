"""Examples of dispatch worked out by hand."""

from __future__ import annotations

from typing import Any

from dlsched.problems.dispatch.definition.schema import Instance


def _machines(name: str, count: int, gpus: int = 8, rack: int = 0) -> dict[str, Any]:
    return {"id": name, "count": count, "rack": rack, "gpu_type": "A100", "gpus": gpus,
            "cpus": 12 * gpus, "memory": 96 * gpus}  # fmt: skip


def _region(name: str, tables: list[str], *machines: dict[str, Any]) -> dict[str, Any]:
    clusters = [{"id": f"{name}-c", "machines": list(machines)}]
    return {"id": name, "tables": tables, "clusters": clusters}


def _job(tasks: int, gpus: int) -> dict[str, Any]:
    return {"id": "train", "gpu_type": "A100", "tasks": tasks, "gpus": gpus, "cpus": gpus,
            "memory": gpus}  # fmt: skip


def _victim(name: str, seconds: int, gpus: int, on: dict[str, int]) -> dict[str, Any]:
    job = {"id": "train", "cluster": "x-c", "gpus": gpus, "cpus": gpus, "memory": gpus, "on": on}
    return {"id": name, "tenant": "low", "within_quota": False, "seconds": seconds, "jobs": [job]}


_TENANTS = [
    {"id": "high", "priority": 1, "gpu_quota": 100, "cpu_quota": 1000, "window_use": 1},
    {"id": "low", "priority": 2, "gpu_quota": 0, "cpu_quota": 0, "window_use": 1},
]


def _waiting(name: str, age: int, tables: list[str], tasks: int, gpus: int) -> dict[str, Any]:
    return {"id": name, "tenant": "high", "age": age, "tables": tables, "jobs": [_job(tasks, gpus)]}


def examples() -> list[Instance]:
    """Return instances worked out by hand.

    Section 4.1's workloads 1 and 2; section 4.3's choice of 12 GPUs among 4, 5 and 12; the smallest
    list of victims on which the paper's rule does not find the fewest.
    """
    two = Instance(
        name="mast-two-workloads",
        source="MAST, section 4.1",
        scope="batch",
        lowest_priority=2,
        regions=[
            _region("x", ["t", "s"], _machines("a", 1)),
            _region("y", ["t"], _machines("b", 1)),
        ],
        tenants=_TENANTS,
        pending=[_waiting("1", 20, ["t"], 1, 8), _waiting("2", 10, ["s"], 1, 8)],
    )
    ten = Instance(
        name="mast-ten-gpus",
        source="MAST, section 4.3",
        scope="one",
        lowest_priority=2,
        regions=[_region("x", ["t"], _machines("a", 1, 4), _machines("b", 1, 5, 1),
                         _machines("c", 1, 12, 2))],
        tenants=_TENANTS,
        running=[_victim("job1", 900, 4, {"a#0": 1}), _victim("job2", 800, 5, {"b#0": 1}),
                 _victim("job3", 700, 12, {"c#0": 1})],
        pending=[_waiting("new", 20, ["t"], 10, 1)],
    )  # fmt: skip
    missed = Instance(
        name="mast-missed-victim",
        source="worked out by hand, for MAST, section 4.3",
        scope="one",
        lowest_priority=2,
        regions=[_region("x", ["t"], _machines("a", 1, 1), _machines("b", 1, 1, 1),
                         _machines("c", 1, 2, 2))],
        tenants=_TENANTS,
        running=[_victim("first", 900, 1, {"a#0": 1}), _victim("second", 800, 1, {"b#0": 1}),
                 _victim("third", 700, 2, {"c#0": 1})],
        pending=[_waiting("new", 20, ["t"], 2, 1)],
    )  # fmt: skip
    return [two, ten, missed]

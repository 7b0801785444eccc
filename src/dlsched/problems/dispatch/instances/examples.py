"""Examples of dispatch worked out by hand."""

from __future__ import annotations

from typing import Any

from dlsched.problems.dispatch.definition.schema import Instance


def _region(name: str, tables: list[str], gpus_of_racks: dict[str, int]) -> dict[str, Any]:
    """Return a region of one cluster, with a machine in each rack."""
    machines = [
        {
            "id": machine,
            "count": 1,
            "rack": rack,
            "gpu_type": "A100",
            "gpus": gpus,
            "cpus": 12 * gpus,
            "memory": 96 * gpus,
        }
        for rack, (machine, gpus) in enumerate(gpus_of_racks.items())
    ]
    return {"id": name, "tables": tables, "clusters": [{"id": f"{name}-c", "machines": machines}]}


def _needs(gpus: int) -> dict[str, Any]:
    return {"id": "train", "gpus": gpus, "cpus": gpus, "memory": gpus}


def _victim(name: str, seconds: int, gpus: int, machine: str) -> dict[str, Any]:
    job = _needs(gpus) | {"cluster": "x-c", "on": {f"{machine}#0": 1}}
    return {"id": name, "tenant": "low", "within_quota": False, "seconds": seconds, "jobs": [job]}


_TENANTS = [
    {"id": "high", "priority": 1, "gpu_quota": 100, "cpu_quota": 1000, "window_use": 1},
    {"id": "low", "priority": 2, "gpu_quota": 0, "cpu_quota": 0, "window_use": 1},
]


def _waiting(name: str, age: int, tables: list[str], tasks: int, gpus: int) -> dict[str, Any]:
    job = _needs(gpus) | {"gpu_type": "A100", "tasks": tasks}
    return {"id": name, "tenant": "high", "age": age, "tables": tables, "jobs": [job]}


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
        regions=[_region("x", ["t", "s"], {"a": 8}), _region("y", ["t"], {"b": 8})],
        tenants=_TENANTS,
        pending=[_waiting("1", 20, ["t"], 1, 8), _waiting("2", 10, ["s"], 1, 8)],
    )
    ten = Instance(
        name="mast-ten-gpus",
        source="MAST, section 4.3",
        scope="one",
        lowest_priority=2,
        regions=[_region("x", ["t"], {"a": 4, "b": 5, "c": 12})],
        tenants=_TENANTS,
        running=[
            _victim("job1", 900, 4, "a"),
            _victim("job2", 800, 5, "b"),
            _victim("job3", 700, 12, "c"),
        ],
        pending=[_waiting("new", 20, ["t"], 10, 1)],
    )
    missed = Instance(
        name="mast-missed-victim",
        source="worked out by hand, for MAST, section 4.3",
        scope="one",
        lowest_priority=2,
        regions=[_region("x", ["t"], {"a": 1, "b": 1, "c": 2})],
        tenants=_TENANTS,
        running=[
            _victim("first", 900, 1, "a"),
            _victim("second", 800, 1, "b"),
            _victim("third", 700, 2, "c"),
        ],
        pending=[_waiting("new", 20, ["t"], 2, 1)],
    )
    return [two, ten, missed]

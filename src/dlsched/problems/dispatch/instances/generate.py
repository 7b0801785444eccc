"""Random instances of dispatch with the paper's distributions, and examples worked out by hand."""

from typing import Any

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.dispatch.definition.schema import Instance
from dlsched.problems.dispatch.instances.distributions import LOWEST, TABLES, TYPES, World


def generate(
    rng: np.random.Generator,
    *,
    scope: str = "batch",
    regions: int = 3,
    clusters: int = 2,
    machines: int = 20,
    gpu_share: float = 0.7,
    types: int = 2,
    rack: int = 8,
    tenants: int = 12,
    pending: int = 15,
    allocation: float = 0.98,
    cpu_only: float = 0.3,
    copies: int = 2,
) -> Instance:
    """Draw clusters full of running workloads, and workloads that wait.

    The clusters of a region are filled; then whole workloads leave while this brings the part that
    is allocated nearer to what it should be, that of CPU machines to 87 % (section 5.2). GPUs,
    machines of CPU jobs and hours have the paper's 50th, 90th and 99th percentiles (section 5.1),
    the first two as they are where the 99th takes at most half a cluster's machines of the type,
    and else scaled to that **(D)**. Tenants have the paper's priorities (section 4.2). Other
    numbers are ours **(D)**.

    Parameters
    ----------
    scope
        What is decided: ``"one"`` workload or a ``"batch"``.
    regions
        Number of regions; the paper has tens (section 2).
    clusters
        Clusters of each region; the paper's largest region has 20 (section 4.3.1).
    machines
        Machines of each cluster; 600 with `gpu_share` 0.2 and one type have the paper's sizes.
    gpu_share
        Part of the machines that have 8 GPUs; the others have CPUs only. Ours; the paper's largest
        region has 4 %, of machines with 8 GPUs (section 4.3.1).
    types
        GPU types, at most 3; ours.
    rack
        Machines in a rack, which are of one type; ours.
    tenants
        Number of tenants; ours.
    pending
        Number of pending workloads; ours.
    allocation
        Part of the GPUs in use, 98 % in the paper (section 5.2); 0.95 to 0.995 decides how often
        someone is preempted.
    cpu_only
        Part of the workloads that have no GPU job, 30 % in the paper (section 5.1).
    copies
        Regions that have a copy of each table; ours. With 2 most workloads have at least two
        regions to run in, as in Figure 7.

    Raises
    ------
    OptionError
        If an option is out of its range.
    """
    if scope not in ("one", "batch"):
        raise OptionError(f"scope={scope!r} must be one or batch")
    counts = {"regions": regions, "clusters": clusters, "machines": machines, "rack": rack}
    for name, value in counts.items():
        if value < 1:
            raise OptionError(f"{name}={value} must be at least 1")
    if not 1 <= types <= len(TYPES):
        raise OptionError(f"types={types} must be from 1 to {len(TYPES)}")
    for name, part in {"gpu_share": gpu_share, "allocation": allocation}.items():
        if not 0 <= part <= 1:
            raise OptionError(f"{name}={part} must be from 0 to 1")
    world = World(rng, types, tenants, cpu_only)
    fleet: list[dict[str, Any]] = []
    running: list[dict[str, Any]] = []
    for r in range(regions):
        own = [
            world.cluster(f"r{r}c{c}", machines, round(gpu_share * machines), rack)
            for c in range(clusters)
        ]
        running += world.fill(own, allocation)
        fleet.append(
            {
                "id": f"r{r}",
                "tables": [],
                "clusters": [{"id": c["id"], "machines": c["groups"]} for c in own],
            }
        )
    for t in range(TABLES):
        for r in rng.permutation(regions)[:copies]:
            fleet[r]["tables"].append(f"t{t}")
    waiting = [world.pending(w) for w in range(pending)]
    return Instance(
        name="unnamed",
        scope=scope,
        lowest_priority=LOWEST,
        credit={"fair_weight": 1000},
        regions=fleet,
        tenants=world.quotas(running, waiting),
        running=running,
        pending=waiting,
    )


def _region(name: str, tables: list[str], gpus_of_racks: dict[str, int]) -> dict[str, Any]:
    """Return a region of one cluster, with a machine in each rack."""
    machines = [
        {"id": machine, "count": 1, "rack": rack, "gpu_type": "A100"}
        | {"gpus": gpus, "cpus": 12 * gpus, "memory": 96 * gpus}
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
    scanned = {"job1": 4, "job2": 5, "job3": 12}
    ten = _one("mast-ten-gpus", "MAST, section 4.3", scanned, _waiting("new", 20, ["t"], 10, 1))
    worked_out = "worked out by hand, for MAST, section 4.3"
    fewest = {"first": 1, "second": 1, "third": 2}
    missed = _one("mast-missed-victim", worked_out, fewest, _waiting("new", 20, ["t"], 2, 1))
    return [two, ten, missed]


def _one(name: str, source: str, victims: dict[str, int], waiting: dict[str, Any]) -> Instance:
    """Return an instance in which each victim holds the GPUs of a machine: a, b, c, by age."""
    machines = dict(zip("abc", victims.values(), strict=True))
    return Instance(
        name=name,
        source=source,
        scope="one",
        lowest_priority=2,
        regions=[_region("x", ["t"], machines)],
        tenants=_TENANTS,
        running=[
            _victim(victim, seconds, gpus, machine)
            for (victim, gpus), seconds, machine in zip(
                victims.items(), (900, 800, 700), "abc", strict=True
            )
        ],
        pending=[waiting],
    )

"""Random instances of dispatch with the paper's distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.dispatch.definition.schema import Instance
from dlsched.problems.dispatch.instances.distributions import LOWEST, TABLES, TYPES, World
from dlsched.problems.dispatch.instances.examples import examples

__all__ = ["examples", "generate"]


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
    allocation: float = 0.97,
    over_quota: float = 0.27,
    cpu_only: float = 0.3,
    copies: int = 2,
) -> Instance:
    """Draw clusters full of running workloads, and workloads that wait.

    Clusters are filled; then whole workloads leave until the given part is allocated. GPUs,
    machines of CPU jobs and seconds are log-normal with the paper's median and 90th percentile
    (section 5.1): machines with those of all workloads **(D)**, seconds of all workloads with those
    of GPU workloads **(D)**. A workload takes at most half a cluster **(D)**; without that the 99th
    percentiles of GPUs and machines are 197 and 380, those of the paper 128 and 205. A part of the
    CPU machines stays free, as in section 5.2.

    Parameters
    ----------
    scope
        ``"one"`` or ``"batch"``.
    regions, clusters, machines
        Regions, clusters of each, machines of each cluster.
    gpu_share
        Part of the machines that have 8 GPUs; the others have CPUs only.
    types, rack
        GPU types, at most 3; a rack has machines of one type. Machines in a rack.
    tenants, pending
        Tenants, and pending workloads.
    allocation
        Part of the GPUs in use; 0.95 to 0.995 decides how often someone is preempted.
    over_quota
        Part of running and pending workloads over quota, roughly.
    cpu_only
        Part of the workloads that have no GPU job.
    copies
        Regions that have a copy of each table.

    Raises
    ------
    OptionError
        If an option is out of its range.
    """
    _validate(scope, regions, clusters, machines, gpu_share, types, rack, allocation)
    world = World(rng, types, tenants, over_quota, cpu_only)
    fleet: list[dict[str, Any]] = []
    running: list[dict[str, Any]] = []
    for r in range(regions):
        own = [
            world.cluster(f"r{r}c{c}", machines, round(gpu_share * machines), rack)
            for c in range(clusters)
        ]
        for machines_of in own:
            running += world.fill(machines_of, allocation)
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
    largest = max(8, 4 * round(gpu_share * machines))
    waiting = [world.pending(w, largest, machines) for w in range(pending)]
    return Instance(
        name="unnamed",
        scope=scope,
        lowest_priority=LOWEST,
        credit={"fair_weight": 1000},
        regions=fleet,
        tenants=world.quotas(running, waiting),
        running=[{k: v for k, v in w.items() if k != "left"} for w in running],
        pending=waiting,
    )


def _validate(
    scope: str,
    regions: int,
    clusters: int,
    machines: int,
    gpu_share: float,
    types: int,
    rack: int,
    allocation: float,
) -> None:
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

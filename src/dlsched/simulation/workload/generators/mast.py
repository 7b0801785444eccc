"""Workloads and clusters like MAST's (sections 2, 4.2 and 5.1): sizes, durations, priorities."""

import math
from collections import Counter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError, UnknownName
from dlsched.problems.dispatch.instances.distributions import (
    CPU_HOURS,
    GPUS,
    HOURS,
    MACHINES,
    PRIORITIES,
    TYPES,
)
from dlsched.registry.generators import quantiles
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload

CPU: Final = "cpu"
"""Type of a machine without GPUs, which a simulation has as a server with one unit of it **(D)**.

A workload without GPUs takes whole machines."""
START_UP: Final = ((0.0, 60.0), (0.5, 150.0), (0.9, 278.0), (0.99, 449.0))
"""Percentiles of seconds until containers are set up (section 5.5); the least is ours **(D)**."""
CANDIDATES: Final = (0.2, 0.2, 0.2, 0.4)
"""Shares of the workloads whose data is in 1, 2, 3, and 4 regions **(D)**; Figure 7 has a majority
with two or more and about 40 % with four or more."""
PRESETS: Final = {"paper-low": 2.0, "paper": 3.5, "paper-high": 5.0}
"""Loads. In a simulation of eight hours with `mast` on the default cluster, seed 0, 97.6 % of the
GPUs were allocated at "paper", 98.5 after two hours, of the printed 98 (section 5.2); about 96 at
"paper-low". The printed preemption of each workload does not come out: there were .3 and .2."""
MACHINE_GPUS: Final = 8
TENANTS: Final = 12
SAMPLE: Final = 20_000
"""Workloads that are drawn to estimate means, and of which those that run at 0 are drawn."""
MOST_RUNNING: Final = 2000
"""Workloads that run at 0, at most."""


def mast_cluster(
    regions: int = 4,
    clusters: int = 2,
    machines: int = 20,
    *,
    types: int = 2,
    cpu_machines: int = 0,
    seed: int = 0,
) -> Cluster:
    """Draw regions of clusters of machines with 8 GPUs each, and of machines without GPUs.

    The types of GPU are unevenly distributed over the clusters, as in Figure 2 **(D)**: the part of
    each is its mean times 0.7 to 1.3, uniform.

    Parameters
    ----------
    regions, clusters, machines
        Regions, clusters of each, machines with GPUs of each cluster.
    types
        GPU types, at most 3.
    cpu_machines
        Machines without GPUs of each cluster; 0 for workloads with GPUs only. With as many as GPUs
        about 70 % of the workloads use GPUs, as in section 5.1.
    seed
        Seed of the random numbers.

    Raises
    ------
    OptionError
        If an option is out of its range.
    """
    if min(regions, clusters, machines) < 1 or cpu_machines < 0:
        raise OptionError("regions, clusters, machines are at least 1, cpu_machines at least 0")
    if not 1 <= types <= min(len(TYPES), machines):
        raise OptionError(f"types={types} must be from 1 to {min(len(TYPES), machines)}")
    rng = np.random.default_rng(seed)
    kinds: list[dict[str, Any]] = []
    for r in range(regions):
        for c in range(clusters):
            place = {"region": f"r{r + 1}", "cluster": f"c{c + 1}"}
            parts = rng.uniform(0.7, 1.3, types)
            edges = np.rint(np.cumsum(parts) / parts.sum() * machines).astype(int).tolist()
            for kind, start, end in zip(TYPES, [0, *edges], edges, strict=False):
                row = {"gpus": MACHINE_GPUS, "gpu_type": kind, "count": end - start}
                kinds.append(row | place)
            kinds.append({"gpus": 1, "gpu_type": CPU, "count": cpu_machines} | place)
    return Cluster.of(kinds)


def mast_workload(
    cluster: Cluster,
    hours: float = 8,
    *,
    preset: str = "paper",
    load: float | None = None,
    scale: float = 1.0,
    quota: float = 0.9,
    seed: int = 0,
) -> Workload:
    """Draw the workloads of some hours for a cluster, and those that run at the beginning.

    Arrivals are a Poisson process for each type of GPU, by which the mean of GPUs times duration
    that arrives is `load` times the supply **(D)**; section 2 says no more than that training
    clusters are always fully utilised. Duration and size are independent **(D)**; the paper's
    durations end with a preemption, these are what a workload needs **(D)**. At 0 workloads are
    submitted that would run in steady state, until they fill the cluster: drawn in proportion to
    GPUs times duration, with a uniform part of their duration left. They are named ``r1``, ``r2``
    and so on, the others ``w1``, ``w2``.

    A priority has as many of the tenants as of the workloads, at least one, and a workload is of
    each of them alike **(D)**. The quotas are in proportion to what the tenant's workloads need,
    together `quota` of the supply, but at least what the largest workload needs, up to 128 GPUs,
    the 99th percentile **(D)**.

    Where the 99th percentile of GPUs or machines is more than half the largest cluster of a type,
    sizes are scaled down to that **(D)**.

    Parameters
    ----------
    cluster
        Whose servers have a region, a cluster and a type, as from `mast_cluster`.
    hours
        Length of the time in which workloads arrive.
    preset
        ``"paper"``, ``"paper-low"`` or ``"paper-high"``: the load at which about as many GPUs are
        allocated as in the paper (section 5.2), and those around it.
    load
        What arrives over what the cluster can do, above 0, instead of the preset's.
    scale
        Factor of the durations; start-up times stay.
    quota
        Sum of the quotas over the cluster's GPUs, but for their least value.
    seed
        Seed of the random numbers.

    Raises
    ------
    UnknownName
        If there is no such preset.
    OptionError
        If an option is out of its range, or the servers have no regions, clusters or types.
    """
    if preset not in PRESETS:
        raise UnknownName("preset", preset, list(PRESETS))
    load = PRESETS[preset] if load is None else load
    positive = all(0 < value < math.inf for value in (hours, load, scale))
    if not positive or not quota >= 0:
        raise OptionError("hours, load and scale are above 0, quota is from 0")
    if any(None in (s.region, s.cluster, s.gpu_type) for s in cluster.servers):
        raise OptionError("a server has no region, cluster or gpu_type; take mast_cluster")
    rng = np.random.default_rng(seed)
    draw = _Draw(rng, cluster, scale)
    rows = [row for kind in draw.supply for row in draw.running(kind)]
    for kind in draw.supply:
        rows += draw.arriving(kind, load, hours)
    rows.sort(key=lambda row: row["submit"])
    count: Counter[str] = Counter()
    for row in rows:
        letter = "w" if row["submit"] else "r"
        count[letter] += 1
        row["id"] = f"{letter}{count[letter]}"
    least = min(GPUS[-1][1], max(draw.most.values()))
    total = sum(draw.supply.values())
    quotas = {
        tenant: max(least, round(quota * total * share)) for tenant, share in draw.shares.items()
    }
    data = {"name": f"mast-{hours:g}h-{load:g}", "jobs": rows, "quotas": quotas}
    return Workload.parse(data, "the generator")


class _Draw:
    def __init__(self, rng: np.random.Generator, cluster: Cluster, scale: float) -> None:
        self.rng = rng
        self.scale = scale
        self.supply: Counter[str] = Counter()
        gpus_of_cluster: Counter[tuple[str, str, str]] = Counter()
        for server in cluster.servers:
            kind = str(server.gpu_type)
            self.supply[kind] += server.gpus
            gpus_of_cluster[kind, str(server.region), str(server.cluster)] += server.gpus
        # Of each type, the GPUs of the largest cluster of each region.
        self.rooms: dict[str, dict[str, int]] = {kind: {} for kind in self.supply}
        for (kind, region, _), gpus in gpus_of_cluster.items():
            rooms = self.rooms[kind]
            rooms[region] = max(gpus, rooms.get(region, 0))
        self.most = {kind: max(1, max(r.values()) // 2) for kind, r in self.rooms.items()}
        shares = np.array(PRIORITIES) / sum(PRIORITIES)
        self.owners: list[list[str]] = []
        self.shares: dict[str, float] = {}
        for p, share in enumerate(shares.tolist(), 1):
            count = max(1, round(share * TENANTS))
            names = [f"p{p}t{t + 1}" for t in range(count)]
            self.owners.append(names)
            self.shares |= dict.fromkeys(names, share / len(names))
        self.priorities = shares

    def size(self, kind: str, n: int) -> NDArray[np.int64]:
        """Draw GPUs: powers of two below a machine, then whole machines; or machines."""
        points = MACHINES if kind == CPU else GPUS
        exact = quantiles(points, self.rng.random(n))
        exact *= min(1.0, self.most[kind] / points[-1][1])
        if kind == CPU:
            return np.maximum(1, np.rint(exact)).astype(np.int64)
        small = 2.0 ** np.rint(np.log2(np.maximum(1, exact)))
        whole = np.maximum(1, np.rint(exact / MACHINE_GPUS)) * MACHINE_GPUS
        return np.where(exact < 0.75 * MACHINE_GPUS, small, whole).astype(np.int64)

    def seconds(self, kind: str, n: int) -> NDArray[np.float64]:
        hours = quantiles(CPU_HOURS if kind == CPU else HOURS, self.rng.random(n))
        return np.maximum(1.0, np.rint(3600 * self.scale * hours))

    def arriving(self, kind: str, load: float, hours: float) -> list[dict[str, Any]]:
        """Return the workloads of one type that arrive, in order."""
        mean_size = self.size(kind, SAMPLE).mean()
        mean_area = mean_size * self.seconds(kind, SAMPLE).mean()
        capacity = self.supply[kind] * 3600 * hours
        count = int(self.rng.poisson(load * capacity / mean_area))
        times = np.sort(self.rng.uniform(1, 3600 * hours, count))
        size = self.size(kind, count)
        return self._rows(kind, times, size, self.seconds(kind, count))

    def running(self, kind: str) -> list[dict[str, Any]]:
        """Return the workloads of one type that are there at the beginning."""
        size = self.size(kind, SAMPLE)
        seconds = self.seconds(kind, SAMPLE)
        area = size * seconds
        chosen = self.rng.choice(SAMPLE, MOST_RUNNING, p=area / area.sum())
        fits = np.cumsum(size[chosen]) <= self.supply[kind]
        chosen = chosen[fits]
        part = self.rng.random(len(chosen))
        remaining = np.maximum(1.0, np.rint(seconds[chosen] * part))
        return self._rows(kind, np.zeros(len(chosen)), size[chosen], remaining)

    def _rows(
        self, kind: str, times: NDArray[np.float64], size: Any, seconds: Any
    ) -> list[dict[str, Any]]:
        priority = self.rng.choice(len(self.owners), len(times), p=self.priorities)
        start_up = np.rint(quantiles(START_UP, self.rng.random(len(times))))
        rows = []
        for i, time in enumerate(times.tolist()):
            gpus = int(size[i])
            row = {
                "submit": round(time, 3),
                "gpus": gpus,
                "work": int(seconds[i]),
                "restart": int(start_up[i]),
                "gpu_type": kind,
                "rates": {kind: 1},
                "tenant": str(self.rng.choice(self.owners[priority[i]])),
                "priority": int(priority[i]) + 1,
                "regions": self._regions(kind, gpus),
            }
            rows.append(row)
        return rows

    def _regions(self, kind: str, gpus: int) -> list[str]:
        able = [region for region, room in self.rooms[kind].items() if room >= gpus]
        count = 1 + int(self.rng.choice(len(CANDIDATES), p=CANDIDATES))
        chosen = self.rng.permutation(len(able))[:count]
        return [able[i] for i in sorted(chosen.tolist())]

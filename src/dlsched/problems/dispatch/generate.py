"""Random instances of dispatch with the paper's distributions, and examples worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.dispatch.schema import Instance

GPU_MACHINE = {"gpus": 8, "cpus": 96, "memory": 768}
CPU_MACHINE = {"cpus": 64, "memory": 256}
TYPES = ("A100", "V100", "H100")
PRIORITIES = (0.03, 0.20, 0.16, 0.54, 0.002, 0.005, 0.0602)
"""Shares of the priorities, the highest first (section 4.2); the last one includes none."""
LOWEST = len(PRIORITIES)
CPU_ALLOCATION = 0.87
"""Share of the CPU machines' CPUs that is in use (section 5.2)."""
TABLES = 12


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
    (section 5.1), seconds of all workloads with those of GPU workloads. A workload takes at most
    half a cluster; without that the 99th percentiles of GPUs and machines are 197 and 380, those of
    the paper 128 and 205.

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
    world = _World(rng, types, tenants, over_quota, cpu_only)
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


class _World:
    """What all clusters share: random numbers, GPU types, tenants."""

    def __init__(
        self, rng: np.random.Generator, types: int, tenants: int, over: float, cpu_only: float
    ) -> None:
        self.rng, self.types, self.over, self.cpu_only = rng, TYPES[:types], over, cpu_only
        shares = np.array(PRIORITIES) / sum(PRIORITIES)
        self.priority = sorted(rng.choice(np.arange(1, LOWEST + 1), tenants, p=shares).tolist())
        self.names = [f"n{t}" for t in range(tenants)]
        self.count = 0

    def tenant(self) -> str:
        return self.names[int(self.rng.integers(len(self.names)))]

    def cluster(self, name: str, machines: int, with_gpus: int, rack: int) -> dict[str, Any]:
        """Return a cluster: groups for the file, and free machines by GPU type and for CPUs."""
        groups: list[dict[str, Any]] = []
        free: dict[str, list[str]] = {}
        placed = 0
        while placed < machines:
            gpus = placed < with_gpus
            count = min(rack, (with_gpus if gpus else machines) - placed)
            k = placed // rack
            kind = self.types[len(groups) % len(self.types)] if gpus else "cpu"
            group = {"id": f"{name}m{placed}", "count": count, "rack": k}
            groups.append(group | (GPU_MACHINE | {"gpu_type": kind} if gpus else CPU_MACHINE))
            free.setdefault(kind, []).extend(f"{group['id']}#{i}" for i in range(count))
            placed += count
        return {"id": name, "groups": groups, "free": free}

    def gpus(self, most: int) -> tuple[int, int]:
        """Draw (tasks, GPUs of each) of a GPU job: whole machines from 8 GPUs on."""
        n = float(np.exp(self.rng.normal(np.log(16), 1.08)))
        n = min(n, most)
        if n < 6:
            return 1, int(2 ** round(np.log2(max(1.0, n))))
        return max(1, round(n / 8)), 8

    def cpu_tasks(self, machines: int) -> int:
        """Draw the machines of a CPU job, at most half a cluster's."""
        n = round(float(np.exp(self.rng.normal(np.log(72), 0.715))))
        return max(1, min(n, machines // 2))

    def seconds(self) -> int:
        return round(float(np.exp(self.rng.normal(np.log(1200), 2.35))))

    def fill(self, cluster: dict[str, Any], allocation: float) -> list[dict[str, Any]]:
        """Return running workloads that fill a cluster; some have left it again."""
        running: list[dict[str, Any]] = []
        for kind, names in cluster["free"].items():
            if kind != "cpu":
                found = self._fill_gpus(cluster["id"], names)
                self._leave(found, 8 * len(names), allocation)
                running += found
        names = cluster["free"].get("cpu", [])
        found = self._fill_cpus(cluster["id"], names, running)
        self._leave(found, len(names), CPU_ALLOCATION)
        return running + found

    def _workload(self, jobs: list[dict[str, Any]], left: int) -> dict[str, Any]:
        self.count += 1
        return {
            "id": f"v{self.count}",
            "tenant": self.tenant(),
            "within_quota": bool(self.rng.random() >= self.over),
            "seconds": self.seconds(),
            "jobs": jobs,
            "left": left,
        }

    def _fill_gpus(self, cluster: str, names: list[str]) -> list[dict[str, Any]]:
        free = dict.fromkeys(names, 8)
        running = []
        for _ in range(40 * len(names)):
            tasks, gpus = self.gpus(4 * len(names))
            on: dict[str, int] = {}
            if gpus == 8:
                on = {m: 1 for m in [m for m, f in free.items() if f == 8][:tasks]}
            else:
                fitting = [m for m, f in free.items() if f >= gpus]
                if fitting:  # best fit: the machine with the least left
                    on = {min(fitting, key=lambda m: free[m]): 1}
            if sum(on.values()) < tasks:
                if not any(free.values()):
                    break
                continue
            for m in on:
                free[m] -= gpus
            job = {"id": "gpu", "cluster": cluster, "gpus": gpus, "cpus": 10 * gpus, "memory":
                   80 * gpus, "on": on}  # fmt: skip
            running.append(self._workload([job], tasks * gpus))
        return running

    def _fill_cpus(
        self, cluster: str, names: list[str], others: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Fill CPU machines; a third of the workloads with GPUs get a CPU job beside."""
        free, running = list(names), []
        beside = [w for w in others if self.rng.random() < 1 / 3]
        while free:
            tasks = min(self.cpu_tasks(len(names)), len(free))
            on = dict.fromkeys(free[:tasks], 1)
            free = free[tasks:]
            job = {"id": "cpu", "cluster": cluster, "cpus": 64, "memory": 256, "on": on}
            if beside and self.rng.random() < 0.5:
                beside.pop()["jobs"].append(job)
            else:
                running.append(self._workload([job], tasks))
        return running

    def _leave(self, running: list[dict[str, Any]], total: int, part: float) -> None:
        used = sum(w["left"] for w in running)
        while running and used > part * total:
            used -= running.pop(int(self.rng.integers(len(running))))["left"]

    def pending(self, w: int, largest: int, machines: int) -> dict[str, Any]:
        """Draw a pending workload."""
        rng = self.rng
        jobs: list[dict[str, Any]] = []
        if rng.random() >= self.cpu_only:
            tasks, gpus = self.gpus(largest)
            kind = str(rng.choice(self.types))
            jobs.append({"id": "gpu", "gpu_type": kind, "tasks": tasks, "gpus": gpus,
                         "cpus": 10 * gpus, "memory": 80 * gpus})  # fmt: skip
        if not jobs or rng.random() < 1 / 3:
            tasks = self.cpu_tasks(machines // 3)
            jobs.append({"id": "cpu", "tasks": tasks, "cpus": 64, "memory": 256})
        tables = rng.choice(TABLES, int(rng.integers(1, 3)), replace=False)
        return {
            "id": f"w{w}",
            "tenant": self.tenant(),
            "age": round(float(rng.exponential(1800))),
            "tables": sorted(f"t{t}" for t in tables),
            "jobs": jobs,
        }

    def quotas(
        self, running: list[dict[str, Any]], waiting: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Return the tenants; their quotas hold what runs within quota and part of what waits."""
        rows = []
        for name, priority in zip(self.names, self.priority, strict=True):
            use = {"gpus": 0.0, "cpus": 0.0}
            for workload in running:
                if workload["tenant"] == name and workload["within_quota"]:
                    for job in workload["jobs"]:
                        for key in use:
                            use[key] += sum(job["on"].values()) * job.get(key, 0)
            window = use["gpus"] + 0.01 * use["cpus"]
            for workload in waiting:
                if workload["tenant"] == name:
                    for job in workload["jobs"]:
                        for key in use:
                            use[key] += (1 - self.over) * job["tasks"] * job.get(key, 0)
            rows.append(
                {
                    "id": name,
                    "priority": int(priority),
                    "gpu_quota": round(use["gpus"]),
                    "cpu_quota": round(use["cpus"]),
                    "window_use": round(window * float(self.rng.uniform(0.5, 1.5)), 2),
                }
            )
        return rows


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

"""Clusters, workloads and tenants from the paper's distributions (MAST, sections 4.2, 5.1)."""

from typing import Any

import numpy as np

from dlsched.registry.generators import Points, quantiles

GPU_MACHINE = {"gpus": 8, "cpus": 96, "memory": 768}
CPU_MACHINE = {"cpus": 64, "memory": 256}
TYPES = ("A100", "V100", "H100")
PRIORITIES = (0.03, 0.20, 0.16, 0.54, 0.002, 0.005, 0.0602)
"""Shares of the priorities, the highest first (section 4.2); the last one includes none."""
LOWEST = len(PRIORITIES)
GPUS = ((0.0, 1.0), (0.5, 16.0), (0.9, 64.0), (0.99, 128.0))
MACHINES = ((0.0, 1.0), (0.5, 72.0), (0.9, 180.0), (0.99, 205.0))
HOURS = ((0.0, 1 / 60), (0.5, 1 / 3), (0.9, 6.7), (0.99, 66.0))
CPU_HOURS = ((0.0, 1 / 60), (0.5, 38 / 60), (0.9, 7.9), (0.99, 38.0))
"""Percentiles of section 5.1: GPUs of a workload with GPUs, machines of any workload, which are
taken here for the CPU job of one that has such a job **(D)**, hours of workloads with and without
GPUs. The logarithm is linear in between, and beyond the last as before it; the least values are
ours **(D)**."""
MOST = 0.5
"""Part of a cluster's machines of a type that the 99th percentile takes at most, ours **(D)**."""
BESIDE = 1 / 3
"""Part of the workloads with GPUs that have a CPU job beside, ours **(D)**. The printed machines
of any workload need more, but then most machines would have no GPUs: the paper's largest region
has 64,000 machines without and 20,000 GPUs (section 4.3.1)."""
CPU_ALLOCATION = 0.87
"""Share of the CPU machines' CPUs that is in use (section 5.2)."""
OVER_QUOTA = 0.27
"""Part of running and pending workloads over quota, roughly; ours **(D)**."""
TABLES = 12
"""Number of tables, ours **(D)**."""


class World:
    """What all clusters share: random numbers, tenants, machines of a cluster by type.

    In clusters of which the 99th percentiles take more than half, sizes are scaled down: GPUs by
    the cluster's GPUs of the type, CPU jobs by its CPU machines **(D)**. The paper does not say how
    many tasks there are: a task of a GPU job has a whole machine or 1, 2 or 4 GPUs **(D)**, and one
    of a CPU job the CPUs of a CPU machine **(D)**.
    """

    def __init__(self, rng: np.random.Generator, types: int, tenants: int, cpu_only: float) -> None:
        self.rng, self.types, self.cpu_only = rng, TYPES[:types], cpu_only
        # Evenly spaced shares, so that tenants have the priorities in the printed proportions.
        above = np.cumsum(PRIORITIES) / sum(PRIORITIES)
        shares = (np.arange(tenants) + rng.random()) / tenants
        self.priority = (1 + np.searchsorted(above, shares, side="right")).tolist()
        self.names = [f"n{t}" for t in range(tenants)]
        self.machines: dict[str, int] = {}
        self.count = 0
        self.excess = {"gpus": 0.0, "cpus": 0.0}

    def tenant(self) -> str:
        """Draw the name of a tenant."""
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
        self.machines = {kind: len(names) for kind, names in free.items()}
        return {"id": name, "groups": groups, "free": free}

    def draw(self, points: Points) -> float:
        """Draw from a distribution."""
        return float(quantiles(points, self.rng.random(1))[0])

    def gpus(self, kind: str) -> tuple[int, int]:
        """Draw (tasks, GPUs of each) of a GPU job: whole machines from 8 GPUs on."""
        n = self.draw(GPUS) * min(1.0, MOST * 8 * self.machines[kind] / GPUS[-1][1])
        if n < 6:
            return 1, int(2 ** round(np.log2(max(1.0, n))))
        return round(n / 8), 8

    def cpu_tasks(self) -> int:
        """Draw the machines of a CPU job."""
        scale = min(1.0, MOST * self.machines.get("cpu", 0) / MACHINES[-1][1])
        return max(1, round(self.draw(MACHINES) * scale))

    def fill(self, clusters: list[dict[str, Any]], allocation: float) -> list[dict[str, Any]]:
        """Return running workloads that fill clusters; some have left them again."""
        running: list[dict[str, Any]] = []
        gpus = machines = 0
        for cluster in clusters:
            for kind, names in cluster["free"].items():
                if kind != "cpu":
                    running += self._fill_gpus(cluster["id"], kind, names)
                    gpus += 8 * len(names)
        self._leave(running, "gpus", allocation * gpus)
        beside = [workload for workload in running if self.rng.random() < BESIDE]
        for cluster in clusters:
            names = cluster["free"].get("cpu", [])
            running += self._fill_cpus(cluster["id"], names, beside)
            machines += len(names)
        self._leave(running, "cpus", CPU_ALLOCATION * CPU_MACHINE["cpus"] * machines)
        return running

    def _workload(self, job: dict[str, Any]) -> dict[str, Any]:
        self.count += 1
        hours = self.draw(HOURS if job["id"] == "gpu" else CPU_HOURS)
        return {
            "id": f"v{self.count}",
            "tenant": self.tenant(),
            "within_quota": bool(self.rng.random() >= OVER_QUOTA),
            "seconds": round(3600 * hours),
            "jobs": [job],
        }

    def _fill_gpus(self, cluster: str, kind: str, names: list[str]) -> list[dict[str, Any]]:
        free = dict.fromkeys(names, 8)
        running = []
        for _ in range(40 * len(names)):
            tasks, gpus = self.gpus(kind)
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
            running.append(self._workload(job))
        return running

    def _fill_cpus(
        self, cluster: str, names: list[str], beside: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Fill CPU machines; some workloads with GPUs get a CPU job beside."""
        free, running = list(names), []
        while free:
            tasks = min(self.cpu_tasks(), len(free))
            on = dict.fromkeys(free[:tasks], 1)
            free = free[tasks:]
            job = {"id": "cpu", "cluster": cluster, "cpus": 64, "memory": 256, "on": on}
            if beside and self.rng.random() < 0.5:
                beside.pop()["jobs"].append(job)
            else:
                running.append(self._workload(job))
        return running

    def _leave(self, running: list[dict[str, Any]], resource: str, target: float) -> None:
        """Let workloads without jobs of another kind leave while use comes nearer to a target.

        What a region has too much or too little, the next one has too little or too much.
        """
        kind = resource.removesuffix("s")
        use = [_used([j for j in w["jobs"] if j["id"] == kind], resource) for w in running]
        excess = self.excess[resource] + sum(use) - target
        gone = set()
        for i in self.rng.permutation(len(running)).tolist():
            alone = all(job["id"] == kind for job in running[i]["jobs"])
            if alone and abs(excess - use[i]) < abs(excess):
                excess -= use[i]
                gone.add(i)
        self.excess[resource] = excess
        running[:] = [workload for i, workload in enumerate(running) if i not in gone]

    def pending(self, w: int) -> dict[str, Any]:
        """Draw a pending workload; its type of GPU in proportion to the machines **(D)**."""
        rng = self.rng
        jobs: list[dict[str, Any]] = []
        kinds = [kind for kind, count in self.machines.items() for _ in range(count)]
        kinds = [kind for kind in kinds if kind != "cpu"]
        if kinds and rng.random() >= self.cpu_only:
            kind = kinds[int(rng.integers(len(kinds)))]
            tasks, gpus = self.gpus(kind)
            jobs.append({"id": "gpu", "gpu_type": kind, "tasks": tasks, "gpus": gpus,
                         "cpus": 10 * gpus, "memory": 80 * gpus})  # fmt: skip
        if not jobs or rng.random() < BESIDE:
            tasks = self.cpu_tasks()
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
            within = [w for w in running if w["tenant"] == name and w["within_quota"]]
            jobs = [job for workload in within for job in workload["jobs"]]
            use = {key: float(_used(jobs, key)) for key in ("gpus", "cpus")}
            window = use["gpus"] + 0.01 * use["cpus"]
            for workload in waiting:
                if workload["tenant"] == name:
                    for job in workload["jobs"]:
                        for key in use:
                            use[key] += (1 - OVER_QUOTA) * job["tasks"] * job.get(key, 0)
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


def _used(jobs: list[dict[str, Any]], resource: str) -> int:
    return sum(sum(job["on"].values()) * job.get(resource, 0) for job in jobs)

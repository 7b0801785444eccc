"""Clusters, workloads and tenants from the paper's distributions (MAST, sections 4.2, 5.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

GPU_MACHINE = {"gpus": 8, "cpus": 96, "memory": 768}
CPU_MACHINE = {"cpus": 64, "memory": 256}
TYPES = ("A100", "V100", "H100")
PRIORITIES = (0.03, 0.20, 0.16, 0.54, 0.002, 0.005, 0.0602)
"""Shares of the priorities, the highest first (section 4.2); the last one includes none."""
LOWEST = len(PRIORITIES)
CPU_ALLOCATION = 0.87
"""Share of the CPU machines' CPUs that is in use (section 5.2)."""
TABLES = 12
"""Number of tables."""


class World:
    """What all clusters share: random numbers, GPU types, tenants.

    The paper has percentiles of sizes and durations, which log-normal distributions are fitted to
    **(D)**. It does not say how many tasks there are: a task of a GPU job has a whole machine or
    1, 2 or 4 GPUs **(D)**, and one of a CPU job the CPUs of a CPU machine **(D)**.
    """

    def __init__(
        self, rng: np.random.Generator, types: int, tenants: int, over: float, cpu_only: float
    ) -> None:
        self.rng, self.types, self.over, self.cpu_only = rng, TYPES[:types], over, cpu_only
        shares = np.array(PRIORITIES) / sum(PRIORITIES)
        self.priority = sorted(rng.choice(np.arange(1, LOWEST + 1), tenants, p=shares).tolist())
        self.names = [f"n{t}" for t in range(tenants)]
        self.count = 0

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
        """Draw how long a workload has run: the median of 20 minutes and 99 % in 66 hours."""
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

"""From a cluster's state to the instance of dispatch for one pass, and back (MAST, section 4)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from dlsched.errors import OptionError
from dlsched.problems.dispatch.definition.schema import Instance, Solution
from dlsched.problems.dispatch.instances.distributions import (
    GPU_MACHINE,
    LOWEST,
    OVER_QUOTA,
    PRIORITIES,
)
from dlsched.problems.dispatch.instances.from_placement import UNLIMITED
from dlsched.registry.cluster_state import ClusterState, JobState, Server, uniform
from dlsched.schema import Id, Number

SERVERS = 64
REGION = "region"
"""Region of a server that states none."""
KIND = "gpu"
"""Type of GPUs of a server that states none."""
_CLUSTER = "cluster"
"""Cluster of a server that states none."""
_JOB = "job"
"""Id of a workload's job."""
_PER_GPU = {name: amount // GPU_MACHINE["gpus"] for name, amount in GPU_MACHINE.items()}


def instance(
    state: ClusterState,
    *,
    scope: str = "batch",
    priority_seed: int = 0,
    quotas: Mapping[str, Number] | None = None,
    window_use: Mapping[str, Number] | None = None,
    fair_weight: Number = 1,
) -> Instance:
    """Return which waiting jobs start, and for whom running ones are preempted.

    A job is a workload; one without GPUs is left out. A waiting job of at most a server's GPUs is
    one task, a larger one has a task for each server if whole servers suffice, and for each GPU
    otherwise **(D)**. A GPU comes with an equal share of its server's CPUs and memory.

    Servers without a region are all in one, and those without a cluster are one cluster of their
    region. A job without a type of GPU needs the type that all servers have.

    Jobs of one tenant with several priorities count as those of several tenants, each with the
    quota **(D)**. A job without a tenant has no quota. Priorities are cut to 1, the highest, to 7.

    Parameters
    ----------
    scope
        ``"one"`` or ``"batch"``.
    priority_seed
        With a job's id alone, decides its priority, if it states none: 27 % are over quota, with
        the lowest one; the others have the priorities of section 4.2.
    quotas
        GPUs of each tenant within quota; a tenant that is not named has no limit.
    window_use
        GPUs that each tenant used on average over a window; 0 for one that is not named.
    fair_weight
        Weight of expression 11, with that of a second of waiting as 1.

    Raises
    ------
    OptionError
        If a job states no type of GPU, and the servers have several.
    """
    owners = _Owners(priority_seed)
    fleet = _Servers(state)
    held = [job for job in state.running if job.allocation]
    waiting = [job for job in state.waiting if job.gpus]
    data: dict[str, Any] = {
        "dlsched": 1,
        "problem": "dispatch",
        "name": "unnamed",
        "scope": scope,
        "lowest_priority": LOWEST,
        "credit": {"fair_weight": fair_weight},
        "regions": fleet.regions(),
        "running": [{**fleet.running(job), "tenant": owners.tenant(job)} for job in held],
        "pending": [{**fleet.pending(job), "tenant": owners.tenant(job)} for job in waiting],
    }
    if not any(job.tenant for job in (*state.running, *state.waiting)):
        owners.named |= {f"priority-{p}": (None, p) for p in range(1, LOWEST + 1)}
    data["tenants"] = [
        {
            "id": name,
            "priority": priority,
            "gpu_quota": (quotas or {}).get(owner or "", UNLIMITED),
            "cpu_quota": UNLIMITED,
            "window_use": (window_use or {}).get(owner or "", 0),
        }
        for name, (owner, priority) in sorted(owners.named.items())
    ]
    return Instance.parse(data, "the cluster's state")


@dataclass
class _Owners:
    """The tenants of an instance: the owner of jobs, and one priority of theirs."""

    seed: int
    named: dict[Id, tuple[str | None, int]] = field(default_factory=dict)

    def tenant(self, job: JobState) -> str:
        """Return the name of a job's tenant, which is then known."""
        priority = _priority(job, self.seed)
        name = f"{'priority' if job.tenant is None else job.tenant}-{priority}"
        self.named[name] = (job.tenant, priority)
        return name


@dataclass
class _Servers:
    """The servers of a state as regions, and jobs on them; a GPU has its share of a server."""

    state: ClusterState

    def __post_init__(self) -> None:
        """Note each server's cluster, and the GPUs of the largest one of each type."""
        self.cluster = {server.id: cluster_of(server) for server in self.state.servers}
        self.largest: dict[str, int] = {}
        for server in self.state.servers:
            kind = server.gpu_type or KIND
            self.largest[kind] = max(1, server.gpus, self.largest.get(kind, 1))

    def amounts(self, gpus: int) -> dict[str, int]:
        """Return some GPUs with their shares of the other resources."""
        return {name: gpus * amount for name, amount in _PER_GPU.items()}

    def pending(self, job: JobState) -> dict[str, Any]:
        """Return a waiting job: a task a server, a task a GPU, or one task."""
        kind = _type_of(job, sorted(self.largest))
        most = self.largest.get(kind, 1)
        tasks = 1
        if job.gpus > most:
            tasks = job.gpus if job.gpus % most else job.gpus // most
        needs = self.amounts(job.gpus // tasks)
        return {
            "id": job.id,
            "age": max(0, self.state.time - job.submit),
            "tables": [_table(job.regions)] if job.regions else [],
            "jobs": [{"id": _JOB, "gpu_type": kind, "tasks": tasks, **needs}],
        }

    def running(self, job: JobState) -> dict[str, Any]:
        """Return a running job, with a task for each GPU that it holds."""
        on: dict[str, dict[str, int]] = {}
        for server, gpus in job.allocation:
            machines = on.setdefault(self.cluster[server], {})
            machines[f"{server}#0"] = machines.get(f"{server}#0", 0) + gpus
        parts = [
            {"id": f"{_JOB}-{k}" if k else _JOB, "cluster": c, **self.amounts(1), "on": machines}
            for k, (c, machines) in enumerate(on.items())
        ]
        return {
            "id": job.id,
            "within_quota": job.within_quota,
            "seconds": job.attained,
            "jobs": parts,
        }

    def regions(self) -> list[dict[str, Any]]:
        """Return the regions with their clusters, and the tables of waiting jobs bound to them."""
        clusters: dict[str, dict[str, list[dict[str, Any]]]] = {}
        for server in self.state.servers:
            machine: dict[str, Any] = {"id": server.id, **self.amounts(server.gpus)}
            if server.gpus:
                machine["gpu_type"] = server.gpu_type or KIND
            of_region = clusters.setdefault(server.region or REGION, {})
            of_region.setdefault(self.cluster[server.id], []).append(machine)
        homes = {job.regions for job in self.state.waiting if job.regions}
        return [
            {
                "id": region,
                "tables": sorted(_table(regions) for regions in homes if region in regions),
                "clusters": [{"id": name, "machines": rows} for name, rows in of_region.items()],
            }
            for region, of_region in clusters.items()
        ]


def placement(instance: Instance, solution: Solution) -> dict[Id, dict[Id, int]]:
    """Return the GPUs by server of the jobs that start, in the order of the instance.

    Parameters
    ----------
    instance, solution
        What `instance` returned, and a solution of it.
    """
    return {
        workload.id: {
            machine.rpartition("#")[0]: tasks * job.gpus
            for job in workload.jobs
            for machine, tasks in solution.start[workload.id].jobs[job.id].on.items()
        }
        for workload in instance.pending
        if workload.id in solution.start
    }


def _priority(job: JobState, seed: int) -> int:
    if job.priority is not None:
        return max(1, min(LOWEST, int(job.priority)))
    if uniform(f"quota:{job.id}", seed) < OVER_QUOTA:
        return LOWEST
    drawn = uniform(f"priority:{job.id}", seed) * sum(PRIORITIES)
    below = sum(drawn >= share for share in accumulate(PRIORITIES))
    return min(below, LOWEST - 1) + 1


def _type_of(job: JobState, types: list[str]) -> str:
    # Rates on several types say that it may run on each of them.
    needed = job.gpu_type if len(job.rates) < 2 else None
    if needed is None and len(types) > 1:
        raise OptionError(
            f"job {job.id} states no gpu_type, and the servers have {', '.join(types)}; "
            "state the type that it needs"
        )
    return types[0] if needed is None else needed


def cluster_of(server: Server) -> str:
    """Return a name that no cluster of another region has."""
    if server.region is None:
        return server.cluster or _CLUSTER
    return server.region if server.cluster is None else f"{server.region}/{server.cluster}"


def _table(regions: Iterable[str]) -> str:
    """Return the name of a table that exactly these regions have."""
    return "+".join(sorted(regions))

"""From a cluster's state to the instance of reclaiming (Lyra, section 4)."""

from collections.abc import Collection

from dlsched.problems.reclaiming.definition.schema import Instance
from dlsched.registry.cluster_state import ClusterState, JobState
from dlsched.schema import Id

SERVERS = 64


def instance(state: ClusterState, *, demand: int | None = None) -> Instance:
    """Return which servers to return: the running jobs on the servers where they are.

    A worker of the instance is all that a job holds on a server, divided where some of it is
    flexible. The flexible GPUs of a job are those above its `min_gpus` that it was given last.
    What a job holds on servers that are not the state's is left out, and so is a job that holds
    nothing else.

    Parameters
    ----------
    demand
        Servers to return; a tenth by default, rounded down, and at least one.
    """
    names = {server.id for server in state.servers}
    data = {
        "dlsched": 1,
        "problem": "reclaiming",
        "name": "unnamed",
        "demand": max(1, len(state.servers) // 10) if demand is None else demand,
        "servers": [{"id": server.id, "gpus": server.gpus} for server in state.servers],
        "jobs": [
            {"id": job.id, "workers": workers}
            for job in state.running
            if (workers := _workers(job, names))
        ],
    }
    return Instance.parse(data, "the cluster's state")


def _workers(job: JobState, servers: Collection[Id]) -> list[dict[str, object]]:
    base = job.min_gpus
    workers: list[dict[str, object]] = []
    for server, gpus in job.allocation:
        fixed = min(gpus, base)
        base -= fixed
        for count, flexible in ((fixed, False), (gpus - fixed, True)):
            if count and server in servers:
                workers.append({"server": server, "gpus": count, "flexible": flexible})
    return workers

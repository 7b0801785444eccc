"""A policy that repeats what was recorded: every job starts when and where it did."""

from typing import Any

from dlsched.schema import Id
from dlsched.simulation.engine.decision import Allocation, Decision, PolicyError, Share
from dlsched.simulation.engine.jobs import Vector
from dlsched.simulation.engine.policy import BasePolicy
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.placement import Placement
from dlsched.simulation.workload.clock import seconds
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Workload


class Recorded(BasePolicy):
    """Every job starts at its recorded start (`Job.start`) on its recorded nodes (`Job.nodes`).

    A job whose nodes are not free by then waits until they are, which a record that is right never
    needs. A job without recorded nodes is placed as by the other policies.
    """

    name = "recorded"
    preemptive = False

    def __init__(self, method: Any = None) -> None:
        super().__init__(method)
        self.memory: dict[str, Any] = {"next": 0, "late": []}
        self._order: list[int] = []

    def check(self, workload: Workload, cluster: Cluster) -> None:
        """Refuse a job without a recorded start, or on nodes that the cluster does not have."""
        for job in workload.jobs:
            if job.start_ticks is None:
                raise PolicyError(
                    f"policy {self.name}: job {job.id} has no recorded start; leave it out, or "
                    "read a record that has it"
                )
            if job.start_ticks < job.submit_ticks:
                raise PolicyError(
                    f"policy {self.name}: job {job.id} starts before its submission; correct it"
                )
            for server, gpus in job.nodes:
                there = cluster.by_id.get(server)
                if there is None or there.gpus < gpus:
                    has = "no such server" if there is None else f"{there.gpus} there"
                    raise PolicyError(
                        f"policy {self.name}: job {job.id} held {gpus} GPUs on {server}, the "
                        f"cluster has {has}; take the cluster of the record"
                    )
        starts = list(map(_start, workload.jobs))
        self._order = sorted(range(len(starts)), key=starts.__getitem__)

    def decide(self, state: State) -> Decision:
        """Return the starts that are due, and when the next one is."""
        jobs = state.workload.jobs
        order = self._order
        now = state.time
        due: list[int] = list(self.memory["late"])
        at = self.memory["next"]
        while at < len(order) and seconds(_start(jobs[order[at]])) <= now:
            due.append(order[at])
            at += 1
        if not {"away", "cancellation"}.isdisjoint(state.causes):
            # Some that had started wait again, or some that were late have left.
            waits = set(state.arrays.job[state.arrays.running == 0].tolist())
            due = [j for j in order[:at] if j in waits]
        elif any(jobs[j].cancelled is not None for j in due):
            waits = set(state.arrays.job.tolist())
            due = [j for j in due if j in waits]
        start: dict[Id, Allocation] = {}
        late = []
        if due:
            free = state.free
            index = state.cluster.order[1]
            for j in due:
                usable = state.where.servers[state.where.of_job[j]]
                placed = _place(jobs[j], state.cluster, free, index, usable)
                if placed is None:
                    late.append(j)
                else:
                    start[jobs[j].id] = placed
        self.memory = {"next": at, "late": late}
        wake = seconds(_start(jobs[order[at]])) if at < len(order) else None
        return Decision(start, wake=wake)


def _start(job: Job) -> int:
    assert job.start_ticks is not None, "it was checked"
    return job.start_ticks


def _place(job: Job, cluster: Cluster, free: Vector, index: Any, usable: Any) -> Allocation | None:
    """Take a job's recorded GPUs; None, with nothing taken, if they are not free."""
    if not job.nodes:
        return Placement(cluster, free).place(job.gpus, job.gpus_per_worker, usable)
    if any(free[index[server]] < gpus for server, gpus in job.nodes):
        return None
    for server, gpus in job.nodes:
        free[index[server]] -= gpus
    return Allocation(tuple(Share(server, gpus) for server, gpus in job.nodes))

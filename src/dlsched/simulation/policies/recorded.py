"""A policy that repeats what was recorded: every job starts when and where it did."""

from typing import Any

from dlsched.schema import Id
from dlsched.simulation.engine.decision import Allocation, Decision, PolicyError, Share
from dlsched.simulation.engine.policy import BasePolicy
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.placement import Placement
from dlsched.simulation.workload.clock import seconds, ticks
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
        self._starts: list[int] = []
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
        self._starts = [job.start_ticks or 0 for job in workload.jobs]
        self._order = sorted(range(len(self._starts)), key=self._starts.__getitem__)

    def decide(self, state: State) -> Decision:
        """Return the starts that are due, and when the next one is."""
        jobs = state.workload.jobs
        order, starts = self._order, self._starts
        now = ticks(state.time)
        due: list[int] = list(self.memory["late"])
        at = self.memory["next"]
        while at < len(order) and starts[order[at]] <= now:
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
        placement = Placement(state.cluster, state.free)
        for j in due:
            placed = _place(jobs[j], placement, state.where.servers[state.where.of_job[j]])
            if placed is None:
                late.append(j)
            else:
                start[jobs[j].id] = placed
        self.memory = {"next": at, "late": late}
        wake = seconds(starts[order[at]]) if at < len(order) else None
        return Decision(start, wake=wake)


def _place(job: Job, placement: Placement, usable: Any) -> Allocation | None:
    """Take a job's recorded GPUs; None, with nothing taken, if they are not free."""
    if not job.nodes:
        return placement.place(job.gpus, job.gpus_per_worker, usable)
    free, index = placement.free, placement.index
    if any(free[index[server]] < gpus for server, gpus in job.nodes):
        return None
    for server, gpus in job.nodes:
        free[index[server]] -= gpus
    return Allocation(tuple(Share(server, gpus) for server, gpus in job.nodes))

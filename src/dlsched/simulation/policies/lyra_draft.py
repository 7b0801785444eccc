"""A decision of Lyra in the making: what every job holds while it is changed step by step."""

from collections.abc import Iterable, Mapping
from typing import Any

from dlsched.registry.cluster_state import ClusterState, JobState
from dlsched.registry.cluster_state import Server as ServerState
from dlsched.schema import Id, Number
from dlsched.simulation.engine.decision import Allocation, Decision, Share
from dlsched.simulation.engine.jobs import job_state
from dlsched.simulation.engine.state import State
from dlsched.simulation.workload.clock import seconds, ticks
from dlsched.simulation.workload.cluster import LOAN

Held = dict[Id, int]
"""GPUs by server, in the order in which a job was given them: its base comes first."""


class Draft:
    """What jobs hold and what is free, with the changes made so far.

    Attributes
    ----------
    held
        What each running job holds.
    free
        Free GPUs by server that may be used.
    preempted, returned
        Jobs preempted, and servers returned, so far.
    until
        When the overhead of each job that was preempted before ends, in ticks; of those that still
        run in it.
    """

    def __init__(self, state: State, until: Mapping[Id, int]) -> None:
        self.state = state
        self.now = ticks(state.time)
        self.jobs = state.workload.by_id
        self.servers = state.cluster.by_id
        self.free = dict(state.free_gpus)
        self.held: dict[Id, Held] = {
            name: {share.server: share.gpus for share in allocation.shares}
            for name, allocation in state.allocations.items()
        }
        self.until = {name: end for name, end in until.items() if end > self.now}
        self.preempted: list[Id] = []
        self.returned: list[Id] = []
        self._changed: dict[Id, None] = {}

    # Changes.

    def preempt(self, name: Id) -> None:
        """Stop a job and free all that it holds."""
        for server, gpus in self.held.pop(name).items():
            self.free[server] += gpus
        self._changed.pop(name, None)
        self.until.pop(name, None)
        self.preempted.append(name)

    def start(self, name: Id, taken: Mapping[Id, int], again: bool = False) -> None:
        """Start a job; `again` if it was preempted before, which costs it its overhead."""
        self.held[name] = {}
        self.grow(name, taken)
        if again:
            self.until[name] = self.now + self.jobs[name].restart_ticks

    def grow(self, name: Id, taken: Mapping[Id, int]) -> None:
        """Give a job GPUs in addition."""
        held = self.held[name]
        for server, gpus in taken.items():
            held[server] = held.get(server, 0) + gpus
            self.free[server] -= gpus
        if taken:
            self._changed[name] = None

    def shrink(self, name: Id, gpus: int, servers: Iterable[Id]) -> int:
        """Take flexible GPUs from a job on some of its servers, the last given first.

        Returns
        -------
        int
            How many were taken: `gpus`, or all flexible ones there.
        """
        among = set(servers)
        held = self.held[name]
        missing = gpus
        for server, most in reversed(self.flexible(name).items()):
            count = min(most, missing)
            if count and server in among:
                self.free[server] += count
                missing -= count
                held[server] -= count
                if not held[server]:
                    del held[server]
        if missing < gpus:
            self._changed[name] = None
        return gpus - missing

    def give_back(self, servers: Iterable[Id]) -> None:
        """Return servers of the loan, which are empty."""
        for server in servers:
            del self.free[server]
            self.returned.append(server)

    # What there is.

    def flexible(self, name: Id) -> Held:
        """Return the flexible GPUs of a job by server: those above its `min_gpus`, given last."""
        base = self.jobs[name].min_gpus
        flexible = {}
        for server, gpus in self.held[name].items():
            if gpus > base:
                flexible[server] = gpus - max(0, base)
            base -= gpus
        return flexible

    def base(self, name: Id) -> Held:
        """Return the base GPUs of a job by server."""
        flexible = self.flexible(name)
        return {
            server: gpus - flexible.get(server, 0)
            for server, gpus in self.held[name].items()
            if gpus > flexible.get(server, 0)
        }

    @property
    def lent(self) -> list[Id]:
        """The servers on loan that may be used, in the cluster's order."""
        return [s.id for s in self.state.cluster.servers if s.pool == LOAN and s.id in self.free]

    def empty(self, server: Id) -> bool:
        """Return whether no job is on a server."""
        return self.free[server] == self.servers[server].gpus

    def waiting(self, without: set[Id]) -> dict[int, int]:
        """Return the jobs that wait by position in the workload, with the ticks left of each.

        Parameters
        ----------
        without
            Jobs that do not count.
        """
        arrays, every = self.state.arrays, self.state.workload.jobs
        waits = arrays.running == 0
        rows = zip(arrays.job[waits].tolist(), arrays.remaining[waits].tolist(), strict=True)
        return {j: left for j, left in rows if every[j].id not in without}

    def snapshot(
        self,
        running: Iterable[Id],
        waiting: Iterable[JobState] = (),
        *,
        remaining: Mapping[Id, Number] | None = None,
        servers: Iterable[Id] | None = None,
    ) -> ClusterState:
        """Return a state for the adapters of the problems' packages.

        Parameters
        ----------
        running
            The running jobs that count.
        waiting
            The waiting jobs.
        remaining
            Remaining times of running jobs, where they matter.
        servers
            The servers that count; None for all that may be used.
        """
        known = remaining or {}
        names = self.free if servers is None else servers
        return ClusterState(
            time=self.state.time,
            servers=tuple(
                ServerState(s, self.servers[s].gpus, self.servers[s].pool) for s in names
            ),
            running=tuple(
                job_state(self.jobs[name], known.get(name, 0), self.held[name].items())
                for name in running
            ),
            waiting=tuple(waiting),
        )

    def decision(self, solved: Mapping[str, Any]) -> Decision:
        """Return the decision that makes all changes.

        A job that was preempted has its overhead when it starts again; others start, grow and
        shrink without (section 7.2: "a fixed overhead [...] whenever a job is preempted").
        """
        start, overhead = {}, {}
        for name in self._changed:
            shares = tuple(Share(server, gpus) for server, gpus in self.held[name].items())
            new = Allocation(shares)
            if new != self.state.allocations.get(name):
                start[name] = new
                overhead[name] = seconds(max(0, self.until.get(name, 0) - self.now))
        return Decision(start, self.preempted, self.returned, overhead, solved=solved)

"""A policy that knows nothing of where jobs may run, held to it: it decides for each class apart.

Jobs that may run on the same servers are a class. The policy decides for one class after another,
that whose first job waits longest first, as if there were no others: it sees the jobs of this
class, and the servers where they may run and no job of another class does **(D)**. Where classes
share no servers, as partitions do not, this is one problem for each.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.schema import Id
from dlsched.simulation.engine.decision import Allocation, Decision
from dlsched.simulation.engine.jobs import Arrays, Entry, JobView, Key, LinesByGpus, Vector
from dlsched.simulation.engine.policy import STATED, BasePolicy, Policy
from dlsched.simulation.engine.state import ServerView, State
from dlsched.simulation.workload.cluster import LOAN, Cluster, Server
from dlsched.simulation.workload.eligibility import POOL, Eligibility, eligibility
from dlsched.simulation.workload.workload import Workload

Flags = NDArray[np.bool_]


def held_to(policy: Policy, workload: Workload, cluster: Cluster) -> Policy:
    """Return a policy that starts no job where it may not run, if `BasePolicy.keeps_to` says how.

    It is the policy itself if it keeps to all that restricts these jobs.
    """
    keeps_to = getattr(policy, "keeps_to", None)
    if keeps_to is None:
        return policy
    where = eligibility(workload, cluster, keeps_to | {POOL})
    away = bool(getattr(cluster, "away", ()))
    if where.everywhere and not away and (POOL in keeps_to or not cluster.loan_servers):
        return policy
    return Divided(policy, workload, cluster, where, POOL in keeps_to)


def _stand_for(stand_in: BasePolicy, policy: Policy) -> None:
    """Give what decides in place of a policy the method, the options and what that states."""
    BasePolicy.__init__(stand_in, getattr(policy, "method", None), **getattr(policy, "options", {}))
    for name in STATED:
        setattr(stand_in, name, getattr(policy, name, getattr(BasePolicy, name)))


def _check(policy: Any, workload: Workload, cluster: Cluster) -> None:
    check = getattr(policy, "check", None)
    if callable(check):
        check(workload, cluster)


class Passing(BasePolicy):
    """A policy that passes what it is asked on to another one, held to where jobs may run."""

    def __init__(self, policy: Policy) -> None:
        _stand_for(self, policy)
        self.memory = getattr(policy, "memory", self.memory)
        self._given: Any = policy
        self._inner: Any = policy

    def check(self, workload: Workload, cluster: Cluster) -> None:
        """Let the other policy refuse a workload or a cluster; hold it to where jobs may run."""
        self._inner = held_to(self._given, workload, cluster)
        self.memory = getattr(self._inner, "memory", self.memory)
        _check(self._inner, workload, cluster)

    def decide(self, state: State) -> Decision:
        """Return what the other policy decides."""
        self._inner.memory = self.memory
        decision: Decision = self._inner.decide(state)
        self.memory = getattr(self._inner, "memory", self.memory)
        return decision


class Divided(BasePolicy):
    """Another policy, which decides for each class of jobs apart.

    Parameters
    ----------
    where
        The classes.
    loans
        Whether the policy takes servers on loan; otherwise they go back as they come.
    """

    def __init__(
        self, policy: Policy, workload: Workload, cluster: Cluster, where: Eligibility, loans: bool
    ) -> None:
        usable = where.servers
        if not loans:
            usable = usable & [server.pool != LOAN for server in cluster.servers]
        self._parts = [
            _Part(copy.deepcopy(policy), workload, cluster, where.of_job == c, mask)
            for c, mask in enumerate(usable)
        ]
        self._of_job = where.of_job
        self._class_of = {
            job.id: c for job, c in zip(workload.jobs, where.of_job.tolist(), strict=True)
        }
        self._loans = loans
        _stand_for(self, policy)

    @property
    def memory(self) -> dict[str, Any]:
        """What the policy remembers of each class."""
        return {str(c): getattr(part.policy, "memory", {}) for c, part in enumerate(self._parts)}

    @memory.setter
    def memory(self, memory: Mapping[str, Any]) -> None:
        for c, value in memory.items():
            self._parts[int(c)].policy.memory = value

    def check(self, workload: Workload, cluster: Cluster) -> None:
        """Let the policy refuse the jobs and servers of a class."""
        for part in self._parts:
            _check(part.policy, part.workload, part.cluster)

    def decide(self, state: State) -> Decision:
        """Return what is decided for all classes."""
        jobs = state.arrays
        classes = self._of_job[jobs.job]
        waits = jobs.running == 0
        order = [*dict.fromkeys((*classes[waits].tolist(), *classes[~waits].tolist()))]
        class_of = self._class_of
        # The jobs on each server, which those of other classes do not see.
        on: dict[Id, set[Id]] = {}
        for name, allocation in state.allocations.items():
            for share in allocation.shares:
                on.setdefault(share.server, set()).add(name)
        made: list[Decision] = []
        for c in order:
            others = {s for s, names in on.items() if any(class_of[name] != c for name in names)}
            vacated = {s for s, names in on.items() if not names}
            decision = self._parts[c].decide(state, vacated, classes == c, others)
            for name in (*decision.preempt, *decision.start):
                for names in on.values():
                    names.discard(name)
            for name, allocation in decision.start.items():
                for share in allocation.shares:
                    on.setdefault(share.server, set()).add(name)
            made.append(decision)
        returned = [name for decision in made for name in decision.returned]
        if not self._loans:
            returned = sorted(state.cluster.loan_servers & state.free_gpus.keys())
        wakes = [decision.wake for decision in made if decision.wake is not None]
        solved = {str(c): d.solved for c, d in zip(order, made, strict=True) if d.solved}
        return Decision(
            {name: allocation for d in made for name, allocation in d.start.items()},
            [name for d in made for name in d.preempt],
            returned,
            {name: seconds for d in made for name, seconds in d.overhead.items()},
            min(wakes, default=None),
            solved if len(self._parts) > 1 else next(iter(solved.values()), {}),
        )


class _PartOfState(State):
    """What a policy sees that decides for one class of jobs, on some servers.

    Parameters
    ----------
    vacated
        Servers that jobs of the classes before have left.
    present
        Which of `State.arrays` are of the class.
    """

    def __init__(self, whole: State, part: _Part, vacated: set[Id], present: Flags) -> None:
        vars(self).update(
            {name: vars(whole)[name] for name in ("causes", "number", "loan", "seed", "_last")}
        )
        self._whole, self._part, self._present, self._now = whole, part, present, whole._now
        self.workload, self.cluster, self.where = part.workload, part.cluster, part.where
        self._held = {n: a for n, a in whole.allocations.items() if n in part.workload.by_id}
        sizes = self.cluster.by_id
        free = ((name, gpus) for name, gpus in whole.free_gpus.items() if name in sizes)
        self._free = {n: sizes[n].gpus if n in vacated else gpus for n, gpus in free}
        self._vacated = vacated

    @cached_property
    def waiting(self) -> tuple[JobView, ...]:
        return tuple(view for view in self._whole.waiting if view.id in self.workload.by_id)

    @cached_property
    def queue(self) -> Sequence[int]:
        waiting: list[int] = self.arrays.job[self.arrays.running == 0].tolist()
        return waiting

    @property
    def queued_gpus(self) -> int:
        return int(self.arrays.gpus[self.arrays.running == 0].sum())

    @cached_property
    def running(self) -> tuple[JobView, ...]:
        return tuple(view for view in self._whole.running if view.id in self._held)

    @cached_property
    def servers(self) -> tuple[ServerView, ...]:
        return tuple(
            ServerView(v.server, v.server.gpus, v.server.cpus, v.server.memory)
            if v.server.id in self._vacated
            else v
            for v in self._whole.servers
            if v.server.id in self._free
        )

    @cached_property
    def arrays(self) -> Arrays:
        arrays = Arrays(*(column[self._present] for column in self._whole.arrays))
        return arrays._replace(job=self._part.place[arrays.job])

    @cached_property
    def holding(self) -> Arrays:
        return Arrays(*(column[self.arrays.running == 1] for column in self.arrays))

    def vectors(self, names: Iterable[Id]) -> Arrays:
        arrays = self._whole.vectors(names)
        return arrays._replace(job=self._part.place[arrays.job])

    def lines(self, key: Key) -> LinesByGpus:
        waiting = Arrays(*(column[self.arrays.running == 0] for column in self.arrays))
        lines: dict[int, list[Entry]] = {}
        entries = zip(key(waiting).tolist(), waiting.job.tolist(), strict=True)
        for gpus, entry in zip(waiting.gpus.tolist(), entries, strict=True):
            lines.setdefault(gpus, []).append(entry)
        return {gpus: sorted(line) for gpus, line in lines.items()}

    @property
    def allocations(self) -> Mapping[Id, Allocation]:
        return self._held

    @property
    def free_gpus(self) -> Mapping[Id, int]:
        return self._free

    @property
    def free(self) -> Vector:
        return np.array([self._free.get(s.id, 0) for s in self.cluster.servers], np.int64)


class _Part:
    """A class of jobs: the policy that decides for it, its jobs and its servers."""

    def __init__(
        self, policy: Policy, workload: Workload, cluster: Cluster, jobs: Flags, servers: Flags
    ) -> None:
        self.policy: Any = policy
        positions = np.flatnonzero(jobs)
        self.place = np.cumsum(jobs) - 1
        mine = tuple(workload.jobs[j] for j in positions.tolist())
        self.workload = workload.model_copy(update={"jobs": mine})
        self._usable = [cluster.servers[i] for i in np.flatnonzero(servers).tolist()]
        self.cluster = cluster
        self._show(self._usable)

    def _show(self, servers: list[Server]) -> None:
        """Let the policy see some servers only, on which its jobs may run."""
        self.cluster = self.cluster.model_copy(update={"servers": tuple(servers)})
        table, jobs = np.ones((1, 1), np.bool_), np.zeros(len(self.workload.jobs), np.int64)
        self.where = Eligibility(table, jobs, np.zeros(len(servers), np.int64))

    def decide(self, state: State, vacated: set[Id], present: Flags, others: set[Id]) -> Decision:
        """Return the decision for the jobs of this class.

        Parameters
        ----------
        others
            Servers on which jobs of other classes run.
        """
        there = state.free_gpus
        servers = [
            s for s in self._usable if s.id not in others and (s.id in there or s.pool == LOAN)
        ]
        if servers != list(self.cluster.servers):
            self._show(servers)
        if not servers:
            return Decision()
        decision: Decision = self.policy.decide(_PartOfState(state, self, vacated, present))
        return decision

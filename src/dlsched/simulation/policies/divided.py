"""A policy that knows nothing of where jobs may run, held to it: it decides for each class apart.

Jobs that may run on the same servers are a class. The policy decides for one class after another,
that whose first job waits longest first, as if there were no others: it sees the jobs of this
class, and the servers where they may run and no job of another class does **(D)**. Where classes
share no servers, as partitions do not, this is one problem for each.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dlsched.schema import Id
from dlsched.simulation.engine.decision import Allocation, Decision
from dlsched.simulation.engine.policy import STATED, BasePolicy, Policy
from dlsched.simulation.engine.state import ServerView, State, Views
from dlsched.simulation.engine.vectors import Arrays, Key, LinesByGpus, Vector
from dlsched.simulation.workload.cluster import LOAN, Cluster
from dlsched.simulation.workload.eligibility import POOL, Eligibility, eligibility
from dlsched.simulation.workload.workload import Workload


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
        self._parts = []
        for c, usable in enumerate(where.servers):
            mask = usable if loans else usable & [s.pool != LOAN for s in cluster.servers]
            self._parts.append(
                _Part(copy.deepcopy(policy), workload, cluster, where.of_job == c, mask)
            )
            order = getattr(policy, "order", None)
            if isinstance(order, list | tuple):
                names = self._parts[-1].workload.by_id
                self._parts[-1].policy.order = [name for name in order if name in names]
        self._of_job = where.of_job
        self._class_of = {
            job.id: c for job, c in zip(workload.jobs, where.of_job.tolist(), strict=True)
        }
        self._loans = loans
        super().__init__(getattr(policy, "method", None), **getattr(policy, "options", {}))
        for name in STATED:
            setattr(self, name, getattr(policy, name, getattr(BasePolicy, name)))

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
            check = getattr(part.policy, "check", None)
            if callable(check):
                check(part.workload, part.cluster)

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
            seen = state if not vacated else _vacate(state, vacated)
            decision = self._parts[c].decide(seen, classes == c, others, class_of, c)
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


def _vacate(state: State, servers: set[Id]) -> State:
    """Return a state in which servers are empty that others before have left."""
    views = tuple(
        ServerView(v.server, v.server.gpus, v.server.cpus, v.server.memory)
        if v.server.id in servers
        else v
        for v in state.servers
    )
    free = {view.server.id: view.free for view in views}
    vector = np.array([free.get(server.id, 0) for server in state.cluster.servers], np.int64)
    seen = _Seen(state)
    seen.servers, seen.free, seen.vector = lambda: views, free, vector
    return replace(state, _shown=seen)


class _Seen:
    """What a state shows, of which some is replaced."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.held: Mapping[Id, Allocation] = state.allocations
        self.free: Mapping[Id, int] = state.free_gpus
        self.vector = state.free
        self.waiting: Any = lambda: state.waiting
        self.running: Any = lambda: state.running
        self.servers: Any = lambda: state.servers
        self.present: Any = lambda: state.arrays
        self.holding: Any = lambda: state.holding
        self.lines: Any = state.lines
        self.vectors: Any = state.vectors


class _Part:
    """A class of jobs: the policy that decides for it, its jobs and its servers."""

    def __init__(
        self, policy: Policy, workload: Workload, cluster: Cluster, jobs: Any, servers: Any
    ) -> None:
        self.policy: Any = policy
        positions = np.flatnonzero(jobs)
        self.place = np.full(len(jobs), -1, np.int64)
        self.place[positions] = np.arange(len(positions))
        self.workload = workload.model_copy(
            update={"jobs": tuple(workload.jobs[j] for j in positions.tolist())}
        )
        self._usable = [cluster.servers[i] for i in np.flatnonzero(servers).tolist()]
        self._whole = cluster
        self._hidden: frozenset[Id] | None = None
        self.cluster = cluster
        self._hide(frozenset())

    def _hide(self, hidden: frozenset[Id]) -> None:
        """Leave servers out of the cluster that the policy sees."""
        if hidden != self._hidden:
            kept = tuple(s for s in self._usable if s.id not in hidden)
            self._hidden = hidden
            self.cluster = self._whole.model_copy(update={"servers": kept})
            self._where = Eligibility(
                np.ones((1, 1), np.bool_),
                np.zeros(len(self.workload.jobs), np.int64),
                np.zeros(len(kept), np.int64),
            )

    def decide(
        self, state: State, present: Any, others: set[Id], class_of: Mapping[Id, int], c: int
    ) -> Decision:
        """Return the decision for the jobs of this class.

        Parameters
        ----------
        present
            Which of `State.arrays` are of this class.
        others
            Servers on which jobs of other classes run.
        class_of
            The class of each job.
        """
        gone = {s.id for s in self._usable if s.id not in state.free_gpus and s.pool != LOAN}
        self._hide(frozenset(gone.union(s.id for s in self._usable if s.id in others)))
        if not self.cluster.servers:
            return Decision()
        arrays = self._of_class(Arrays(*(column[present] for column in state.arrays)))
        waits = np.flatnonzero(present[state.arrays.running == 0]).tolist()
        runs = [i for i, name in enumerate(state.allocations) if class_of[name] == c]
        held = {n: a for n, a in state.allocations.items() if class_of[n] == c}
        places = [state.cluster.order[1][s.id] for s in self.cluster.servers]
        names = self.cluster.by_id
        seen = _Seen(state)
        seen.held, seen.vector = held, state.free[places]
        seen.free = {s: gpus for s, gpus in state.free_gpus.items() if s in names}
        seen.waiting = lambda: Views(waits, state.waiting.__getitem__)
        seen.running = lambda: Views(runs, state.running.__getitem__)
        seen.servers = lambda: tuple(v for v in state.servers if v.server.id in names)
        seen.present = lambda: arrays
        seen.holding = lambda: Arrays(*(column[arrays.running == 1] for column in arrays))
        seen.lines = lambda key: _lines(key, arrays)
        seen.vectors = lambda chosen: self._of_class(state.vectors(chosen))
        part = replace(
            state, workload=self.workload, cluster=self.cluster, where=self._where, _shown=seen
        )
        decision: Decision = self.policy.decide(part)
        return decision

    def _of_class(self, arrays: Arrays) -> Arrays:
        """Return vectors of jobs of this class with their positions in its workload."""
        return arrays._replace(job=self.place[arrays.job])


def _lines(key: Key, jobs: Arrays) -> LinesByGpus:
    """Return the waiting jobs by GPUs, in the order of a key."""
    waiting = Arrays(*(column[jobs.running == 0] for column in jobs))
    lines: dict[int, list[tuple[Any, int]]] = {}
    keys: Vector = key(waiting)
    for entry, gpus in zip(
        zip(keys.tolist(), waiting.job.tolist(), strict=True), waiting.gpus.tolist(), strict=True
    ):
        lines.setdefault(gpus, []).append(entry)
    return {gpus: sorted(entries) for gpus, entries in lines.items()}

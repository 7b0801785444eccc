"""Synergy: an order picks the jobs of a round, and `sensitivity` gives them CPUs and memory."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from dlsched.errors import UnknownName
from dlsched.schema import Id, Number
from dlsched.simulation.engine.decision import Allocation, Decision, Share
from dlsched.simulation.engine.jobs import Arrays, Vector
from dlsched.simulation.engine.policy import BasePolicy
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.synergy_orders import ORDERS, keys
from dlsched.simulation.policies.synergy_rounds import (
    INDIFFERENT,
    OPT,
    Given,
    RoundSolver,
    server_size,
    wishes,
)
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload

WALKING: Final = ("greedy", "drf", "tetris")
"""Methods that try every job of the queue, as those that do not fit wait (sections 3.3, 5.7)."""
MOST_SERVERS: Final = 64
"""With more servers all pairs of them take longer than a round should."""


class Synergy(BasePolicy):
    """Synergy (sections 3.2 and 4): rounds in which every lease ends.

    At each round the jobs are sorted. The first whose GPUs fit what is left of the cluster's are
    the jobs of the round; a job that does not fit is skipped. A method of the problem sensitivity
    places them with their CPUs and memory. A job runs at the throughput of what it gets, relative
    to that of its proportional share. One that completes within a round leaves its GPUs idle until
    the next **(D)**: the paper decides at rounds only.

    Places with equal GPUs, CPUs and memory are interchangeable: a job that ran stays where it was
    if its place is given to any job with the same amounts (section 4.3, lease update).

    Parameters
    ----------
    method
        ``"tune"`` by default; any method of sensitivity, as ``"exact"``; or ``"opt"``, stage one of
        Synergy-OPT alone, whose throughputs servers need not attain (section 4.1.3). With
        ``"greedy"`` the whole queue is tried; so with ``"drf"`` and ``"tetris"``, which also order
        it.
    order
        One of `dlsched.simulation.policies.synergy_orders.ORDERS`; ``"prices"`` is of this library.
    interval
        Seconds of a round.
    **options
        Options of `dlsched.solve`, as ``time_limit``, and of the method.

    Raises
    ------
    UnknownName
        If there is no such order.
    """

    name: ClassVar[str] = "synergy"
    problem: ClassVar[str | None] = "sensitivity"
    keeps_to = frozenset[str]()
    on_events: bool = False

    def __init__(
        self, method: Any = None, *, order: str = "fifo", interval: Number = 300, **options: Any
    ) -> None:
        super().__init__("tune" if method is None else method, **options)
        if order not in ORDERS:
            raise UnknownName("order", order, ORDERS)
        named = self.method if isinstance(self.method, str) else ""
        self.order = named if named in ("drf", "tetris") else order
        self._walking, self._indifferent = named in WALKING, named in INDIFFERENT
        self.interval = interval
        self._solver: RoundSolver | None = None
        self._given: Sequence[tuple[int, Given]] = ()

    def check(self, workload: Workload, cluster: Cluster) -> None:
        """Refuse jobs without a matrix of throughput, and servers of several sizes."""
        server_size(cluster)
        wishes(workload)

    def decide(self, state: State) -> Decision:
        """Return the allocations of the round; running jobs that are not in it are preempted."""
        solver = self._solver
        if solver is None or not solver.serves(state):
            options = {**self.options, "seed": state.seed}
            solver = self._solver = RoundSolver(state.workload, state.cluster, self.method, options)
        jobs = state.arrays
        quick = self.method != "proportional"
        key = keys(self.order, state, jobs, solver.best, quick)
        order = np.lexsort((jobs.job, key))
        chosen = order[
            _candidates(jobs, order, solver.kind, state.cluster.gpus)
            if self._walking
            else select(jobs.gpus[order], state.cluster.gpus)
        ]
        positions = jobs.job[chosen].tolist()
        remaining = jobs.remaining[chosen].tolist() if self.method == "tetris" else None
        given, solved = solver.solve(positions, may_wait=self._walking, remaining=remaining)
        held = state.allocations if self.method != OPT else _places(state.allocations)
        if given == self._given and held.keys() == {state.workload.jobs[j].id for j, _ in given}:
            # As a round ago: all jobs would stay.
            return Decision(solved=solved)
        self._given = given
        if self._indifferent:
            given = renamed(given, held, [server.id for server in state.cluster.servers])
        allocations = _allocations(state, given, held)
        start = {name: new for name, new in allocations.items() if held.get(name) != new}
        preempt = [name for name in held if name not in allocations]
        return Decision(start, preempt, solved=solved)


def select(gpus: Vector, free: int) -> Vector:
    """Return the positions of the jobs that run, of jobs in order, each if it fits what is left."""
    chosen: list[int] = []
    for i, need in enumerate(gpus.tolist()):
        if need <= free:
            chosen.append(i)
            free -= need
        if not free:
            break
    return np.array(chosen, np.int64)


def _candidates(jobs: Arrays, order: Vector, kind: Vector, gpus: int) -> Vector:
    """Return which jobs of a sorted queue first fit can place at all.

    Resources only shrink while jobs are placed. So once a job does not fit, none of the same kind
    fits, and of each kind only the first jobs matter, as many as the cluster's GPUs could hold.
    """
    kinds, sizes = kind[jobs.job[order]], jobs.gpus[order]
    firsts = []
    for value in np.unique(kinds):
        of_kind = np.flatnonzero(kinds == value)
        firsts.append(of_kind[: gpus // int(sizes[of_kind[0]])])
    return np.sort(np.concatenate(firsts)) if firsts else np.zeros(0, np.int64)


def _places(allocations: Mapping[Id, Allocation]) -> dict[Id, Allocation]:
    """Return allocations without CPUs and memory, which stage one alone does not state."""
    return {
        name: held._replace(shares=tuple(Share(share.server, share.gpus) for share in held.shares))
        for name, held in allocations.items()
    }


def _allocations(
    state: State, given: Sequence[tuple[int, Given]], held: Mapping[Id, Allocation]
) -> dict[Id, Allocation]:
    """Return what the jobs get; those with equal amounts stay where they were if they can."""
    groups: dict[tuple[int, Number, Number], list[tuple[Id, Allocation]]] = defaultdict(list)
    for j, got in given:
        amounts = (got.allocation.gpus, got.choice.cpus, got.choice.memory)
        groups[amounts].append((state.workload.jobs[j].id, got.allocation))
    start: dict[Id, Allocation] = {}
    for members in groups.values():
        start |= _stay(members, held)
    return start


def _stay(
    members: Sequence[tuple[Id, Allocation]], held: Mapping[Id, Allocation]
) -> dict[Id, Allocation]:
    """Distribute the places of jobs with equal amounts among them; each keeps its speed."""
    places = Counter(allocation.shares for _, allocation in members)
    start, moving = {}, []
    for name, allocation in members:
        now = held.get(name)
        if now is not None and places[now.shares]:
            places[now.shares] -= 1
            start[name] = allocation._replace(shares=now.shares)
        else:
            moving.append((name, allocation))
    rest = places.elements()
    return start | {name: allocated._replace(shares=next(rest)) for name, allocated in moving}


def renamed(
    given: Sequence[tuple[int, Given]], held: Mapping[Id, Allocation], servers: Sequence[Id]
) -> list[tuple[int, Given]]:
    """Return what jobs get with servers exchanged, so that most places of equal amounts are held.

    An exact method's solution says nothing of which of the equal servers is which. With ties each
    keeps its name.
    """
    if len(servers) > MOST_SERVERS or not held:
        return list(given)
    from scipy.optimize import linear_sum_assignment

    new = _places_by_server(got.allocation for _, got in given)
    old = _places_by_server(held.values())
    common = np.array([[(new[a] & old[b]).total() for b in servers] for a in servers])
    weight = common * (len(servers) + 1) + np.eye(len(servers), dtype=np.int64)
    rows, columns = linear_sum_assignment(weight, maximize=True)
    name = {servers[a]: servers[b] for a, b in zip(rows.tolist(), columns.tolist(), strict=True)}
    if all(a == b for a, b in name.items()):
        return list(given)

    def moved(got: Given) -> Given:
        shares = tuple(share._replace(server=name[share.server]) for share in got.allocation.shares)
        return got._replace(allocation=got.allocation._replace(shares=shares))

    return [(j, moved(got)) for j, got in given]


def _places_by_server(allocations: Any) -> defaultdict[Id, Counter[tuple[Any, ...]]]:
    """Return by server how many places of each number of GPUs, CPUs and GB are taken."""
    places: defaultdict[Id, Counter[tuple[Any, ...]]] = defaultdict(Counter)
    for allocation in allocations:
        for share in allocation.shares:
            places[share.server][share.gpus, share.cpus, share.memory] += 1
    return places

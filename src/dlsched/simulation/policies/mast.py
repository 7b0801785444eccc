"""MAST: which waiting workloads start, in which region, and who is preempted (MAST, section 4)."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, Final

from dlsched.api import solve
from dlsched.problems.dispatch import Solution, rank
from dlsched.problems.dispatch.instances import state as adapter
from dlsched.registry.cluster_state import ClusterState, Server
from dlsched.schema import Id, Number
from dlsched.simulation.engine.decision import Allocation, Decision, PolicyError, Share
from dlsched.simulation.engine.policy import BasePolicy
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.solving import solved_by
from dlsched.simulation.workload.clock import TICKS, ticks
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.eligibility import REGION, TYPE
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Workload

WINDOW: Final = 3600.0
"""Seconds after which a tenant's use counts 1 / e **(D)**."""
FAIR_WEIGHT: Final = 1000
"""Credit of a tenant that has used nothing, with that of a second of waiting as 1 **(D)**."""


class Mast(BasePolicy):
    """Every waiting workload by priority and credit, wherever its data is: problem ``dispatch``.

    A job is a workload of one job, whose data is where `Job.regions` says: no replica of a solution
    of ``placement`` reaches it **(D)**. Its priority is `Job.priority`, 1 the highest. At every
    arrival and completion the waiting ones are ranked (section 4.2), and the problem says what
    starts where and who is preempted for it (4.3). What the paper leaves open:

    - Whether a workload is within quota is decided when it starts, and holds until it stops
      **(D)**. The quotas are `Workload.quotas`, of GPUs only **(D)**.
    - The window over which a tenant's use is averaged (expression 11) forgets exponentially
      **(D)**.
    - A victim's running time is that since its last start **(D)**: newly started jobs are to be
      spared.
    - A preempted workload's GPUs are free at once **(D)**; what that takes is part of the restart.

    In the log, ``solved["new"]`` has the priority of each workload that begins to wait, which is
    the lowest where it is over quota.

    Parameters
    ----------
    method
        Method of ``dispatch``, as ``"counted"`` or ``"exact"``; None is the paper's (`mast`).
    interval
        Seconds between two passes, the paper's is 300 (section 5.4); None to decide at every
        arrival and completion.
    time_limit
        Seconds for the problem of one pass.
    """

    name: ClassVar[str] = "mast"
    problem: ClassVar[str | None] = "dispatch"
    keeps_to = frozenset((TYPE, REGION))

    def __init__(
        self,
        method: Any = None,
        *,
        interval: Number | None = None,
        time_limit: float | None = None,
    ) -> None:
        super().__init__(method)
        self.interval, self.on_events = interval, interval is None
        self.time_limit = time_limit
        self.memory = {"since": {}, "over": [], "waits": [], "use": {}, "rate": {}, "at": 0}

    def check(self, workload: Workload, cluster: Cluster) -> None:
        """Refuse a job that fits no cluster with GPUs of one type."""
        cells = _cells(cluster.servers)  # type: ignore[arg-type]
        for job in workload.jobs:
            if not _able(job, job.regions, cells):
                raise PolicyError(
                    f"policy {self.name}: job {job.id} needs {job.gpus} GPUs of one type in one "
                    "cluster of its regions, and none has as many; leave it out"
                )

    def decide(self, state: State) -> Decision:
        """Return what starts, and who is preempted for it."""
        now = ticks(state.time)
        self._measure(now)
        snapshot = self._seen(_of_one_type(state.snapshot(), state), now)
        snapshot = _of_one_type(snapshot, state)
        preempt: list[Id] = []
        over: list[Id] = []
        start: dict[Id, Allocation] = {}
        solved: dict[str, Any] = {}
        if snapshot.waiting:
            instance = adapter.instance(
                snapshot,
                quotas=state.workload.quotas,
                window_use={name: round(use, 3) for name, use in self.memory["use"].items()},
                fair_weight=FAIR_WEIGHT,
            )
            ranking = {ranked.workload: ranked for ranked in rank(instance)}
            before = set(self.memory["waits"])
            result = solve(
                instance, self.method or "mast", time_limit=self.time_limit, seed=state.seed
            )
            arrived = [job.id for job in snapshot.waiting if job.id not in before]
            solved = {"new": {name: ranking[name].priority for name in arrived}}
            if isinstance(result.solution, Solution):
                solved |= solved_by(result)
                preempt = list(result.solution.preempt)
                start = {
                    name: Allocation(tuple(Share(server, gpus) for server, gpus in held.items()))
                    for name, held in adapter.placement(instance, result.solution).items()
                }
            over = [name for name in start if not ranking[name].within_quota]
        self._remember(state, now, preempt, start, over)
        return Decision(start, preempt, solved=solved)

    def _seen(self, snapshot: ClusterState, now: int) -> ClusterState:
        """Return what the problem sees: the running jobs since their last start."""
        since, over = self.memory["since"], set(self.memory["over"])
        running = tuple(
            replace(
                job,
                attained=Fraction(now - since.get(job.id, now), TICKS),
                within_quota=job.id not in over,
            )
            for job in snapshot.running
        )
        return replace(snapshot, running=running)

    def _measure(self, now: int) -> None:
        """Add what the tenants held since the last decision to their use."""
        memory = self.memory
        kept = math.exp((memory["at"] - now) / (TICKS * WINDOW))
        use, rate = memory["use"], memory["rate"]
        memory["use"] = {
            tenant: use.get(tenant, 0.0) * kept + rate.get(tenant, 0) * (1 - kept)
            for tenant in {**use, **rate}
        }
        memory["at"] = now

    def _remember(
        self,
        state: State,
        now: int,
        preempt: list[Id],
        start: Mapping[Id, Allocation],
        over: list[Id],
    ) -> None:
        """Store who runs from now on, since when, over quota or not, and who waits."""
        memory = self.memory
        stay = set(state.allocations) - set(preempt)
        since = {name: tick for name, tick in memory["since"].items() if name in stay}
        rate: Counter[str] = Counter()
        for name in (*(n for n in state.allocations if n in stay), *start):
            job = state.workload.by_id[name]
            if job.tenant is not None:
                rate[job.tenant] += job.gpus
        memory |= {
            "since": since | dict.fromkeys(start, now),
            "over": [name for name in memory["over"] if name in stay] + over,
            "waits": [view.id for view in state.waiting if view.id not in start],
            "rate": dict(rate),
        }


Cell = tuple[str, str, str]
"""A region, a cluster and a type of GPUs: a workload runs in one."""


def _cell(server: Server) -> Cell:
    region, kind = server.region or adapter.REGION, server.gpu_type or adapter.KIND
    return region, adapter.cluster_of(server), kind


def _cells(servers: Iterable[Server], gpus: Mapping[Id, int] | None = None) -> Counter[Cell]:
    """Return the GPUs of each cell: all of its servers', or those that are given."""
    total: Counter[Cell] = Counter()
    for server in servers:
        total[_cell(server)] += server.gpus if gpus is None else gpus[server.id]
    return total


def _able(job: Job, regions: Sequence[str], cells: Mapping[Cell, int]) -> list[Cell]:
    """Return the cells that are large enough for a job, in some regions or in all."""
    types = job.accepted_types
    return [
        cell
        for cell, gpus in cells.items()
        if gpus >= job.gpus
        and (not regions or cell[0] in regions)
        and (not types or cell[2] in types or cell[2] == adapter.KIND)
    ]


def _of_one_type(snapshot: ClusterState, state: State) -> ClusterState:
    """Return a state in which each waiting job names one type of GPU: of several, the most free.

    Jobs that fit nowhere at present are left out.
    """
    total, free = _cells(snapshot.servers), _cells(snapshot.servers, state.free_gpus)
    waiting = []
    for seen in snapshot.waiting:
        able = _able(state.workload.by_id[seen.id], seen.regions, total)
        if able:
            cell = max(able, key=lambda cell: free[cell])
            free[cell] -= seen.gpus
            waiting.append(replace(seen, gpu_type=cell[2], rates={}))
    return replace(snapshot, waiting=tuple(waiting))


class Federated(Mast):
    """Each workload is bound on arrival to the region of least load, and waits there (section 5.6).

    The region is that with the least demand over supply of the workload's type of GPU, of those
    with its data and a cluster that is large enough: GPUs held there and those of the workloads
    bound there. All else is as in `Mast`, as in the paper's simulator: the queue of a region is by
    priority and credit, and lower priorities are preempted. A workload that is preempted stays
    bound **(D)**.
    """

    name: ClassVar[str] = "federated"
    place: ClassVar[int] = 0
    """Of a cell, what workloads are bound to: its region."""

    def __init__(self, method: Any = None, **options: Any) -> None:
        super().__init__(method, **options)
        self.memory["bound"] = {}

    def _seen(self, snapshot: ClusterState, now: int) -> ClusterState:
        """Return a state in which a waiting job's data is only where it is bound to."""
        snapshot = super()._seen(snapshot, now)
        self.memory["bound"] = bound = self._bound(snapshot)
        return replace(
            snapshot,
            servers=tuple(replace(s, region=_cell(s)[self.place]) for s in snapshot.servers),
            waiting=tuple(
                replace(job, regions=(bound[job.id],))
                for job in snapshot.waiting
                if job.id in bound
            ),
        )

    def _bound(self, snapshot: ClusterState) -> dict[Id, str]:
        """Return where each job is bound to; ties of loads go to the place of earlier servers.

        A job for which no place has room at present is bound nowhere.
        """
        at = self.place
        present = {job.id for job in (*snapshot.running, *snapshot.waiting)}
        bound = {name: site for name, site in self.memory["bound"].items() if name in present}
        cell_of = {server.id: _cell(server) for server in snapshot.servers}
        cells = _cells(snapshot.servers)
        supply: Counter[tuple[str, str | None]] = Counter()
        demand: Counter[tuple[str, str | None]] = Counter()
        for cell, gpus in cells.items():
            supply[cell[at], cell[2]] += gpus
        for job in snapshot.running:
            for name, gpus in job.allocation:
                demand[cell_of[name][at], cell_of[name][2]] += gpus
        for job in snapshot.waiting:
            if job.id in bound:
                demand[bound[job.id], job.gpu_type] += job.gpus
        for job in snapshot.waiting:
            kind = job.gpu_type
            able = {
                cell[at]
                for cell, gpus in cells.items()
                if gpus >= job.gpus
                and cell[2] == kind
                and (not job.regions or cell[0] in job.regions)
            }
            if job.id not in bound and able:
                loads = {
                    cell[at]: Fraction(demand[cell[at], kind], supply[cell[at], kind])
                    for cell in cells
                    if cell[at] in able
                }
                bound[job.id] = min(loads, key=loads.__getitem__)
                demand[bound[job.id], kind] += job.gpus
        return bound


class Local(Federated):
    """Each workload is bound on arrival to the cluster of least load (solution 1 of Table 1)."""

    name: ClassVar[str] = "local"
    place: ClassVar[int] = 1

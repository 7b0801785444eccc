"""Lyra: inference servers on loan, and elastic jobs that use them (Lyra, sections 4 to 6)."""

from collections.abc import Mapping
from itertools import chain
from typing import Any, ClassVar

from dlsched.api import solve
from dlsched.errors import OptionError
from dlsched.problems.elastic.instances import state as elastic_adapter
from dlsched.problems.workers.instances import state as workers_adapter
from dlsched.problems.workers.structures.fleet import BestFit
from dlsched.registry import problem
from dlsched.registry.cluster_state import JobState
from dlsched.schema import Id, Number
from dlsched.simulation.engine.decision import Decision
from dlsched.simulation.engine.jobs import job_state
from dlsched.simulation.engine.policy import BasePolicy
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.completion_rates import completion_rates
from dlsched.simulation.policies.lyra_draft import Draft
from dlsched.simulation.policies.lyra_reclaiming import reclaim
from dlsched.simulation.policies.lyra_scaling import (
    Counts,
    by_pool,
    grow_if_faster,
    known_time,
    loan_speed,
    make_room,
    may_start,
    remaining_times,
    room_by_pool,
    shrink_to,
    still_missing,
)
from dlsched.simulation.policies.solving import solved_by
from dlsched.simulation.workload.cluster import LOAN, TRAINING
from dlsched.simulation.workload.eligibility import POOL
from dlsched.simulation.workload.workload import Workload


class Lyra(BasePolicy):
    """Shortest job first for base demands, the knapsack for flexible ones, best fit for places.

    Every round: if the loan has shrunk, servers are returned (`lyra_reclaiming`); then the problem
    ``elastic`` says which waiting jobs start, and with how many workers they and the running
    elastic jobs go on (section 5.2); the problem ``workers`` places the new jobs (5.3). Apart from
    reclaiming nothing is preempted. What the paper leaves open:

    - The scheduler's interval is 60 s **(D)**; the paper has "a much smaller interval" than the 300
      s of the orchestrator. A round in which no job has arrived, started or ended and the loan is
      the same changes nothing, nor one in which no job can start and every elastic job has all
      workers that it can have **(D)**.
    - A preempted job goes to the head of the queue **(D)**: if its base demand fits, it starts
      before any other, from the next round on.
    - ``elastic`` chooses the pool of a job, by the preferences of section 5.3, and ``workers`` the
      servers in it **(D)**: best fit goes by the workers' size, and would give training servers
      that one job was to have to another that can be on loan. With ``"naive_bfd"`` the pools are
      chosen anew.
    - A job that grows keeps its workers where they are; the others go to the servers that fit them
      best, as in ``workers``, which has no jobs that run already **(D)**. A job that shrinks gives
      up the flexible workers it was given last **(D)**.
    - GPUs on loan are as fast as those of training, as the paper counts them normalised, unless
      jobs have rates by type: then `elastic` knows their speed (`lyra_scaling.loan_speed`).
    - Workers of a heterogeneous job on the second pool are taken only if it becomes faster by them
      **(D)**.

    Parameters
    ----------
    method
        Method of ``reclaiming``; None is the paper's (`lyra`).
    elastic, workers
        Methods of the other two problems. ``elastic="completion_rates"`` is a rule of this library:
        see `dlsched.simulation.policies.completion_rates`. ``workers="naive_bfd"`` is Table 6: no
        groups, elastic jobs placed like inelastic ones.
    interval
        Seconds between rounds.
    time_limit
        Seconds for one problem.
    retries
        How often at most ``elastic`` is solved again in a round without the jobs that it started
        and ``workers`` could not place, so that others get their GPUs. The paper has no such step:
        the default is 0.

    Raises
    ------
    UnknownName
        If one of the three problems has no such method.
    OptionError
        If a method is another problem's.
    """

    name: ClassVar[str] = "lyra"
    keeps_to = frozenset((POOL,))
    own_estimates = True
    problem: ClassVar[str | None] = "reclaiming"

    def __init__(
        self,
        method: Any = None,
        *,
        elastic: Any = None,
        workers: Any = None,
        interval: Number = 60,
        time_limit: float | None = None,
        retries: int = 0,
    ) -> None:
        super().__init__(method)
        if retries < 0:
            raise OptionError(f"retries={retries} must be from 0")
        self.retries = retries
        self._workload: Workload | None = None
        self._seen: dict[tuple[int, int], JobState] = {}
        self._loan_speed: Number = 1
        self.elastic = elastic or "lyra"
        self.workers = workers or "bfd"
        # Whether base and flexible workers are on separate servers on loan.
        self._groups = self.workers != "naive_bfd"
        # Otherwise a wrong name would be found when a server is first reclaimed, or never.
        self._scaling = completion_rates if self.elastic == "completion_rates" else self.elastic
        chosen = {"reclaiming": method, "elastic": self._scaling, "workers": self.workers}
        for name, choice in chosen.items():
            if choice not in (None, "exact"):
                problem(name).resolve(choice)
        self.interval, self.on_events = interval, False
        self.limits: dict[str, Any] = {} if time_limit is None else {"time_limit": time_limit}

    def decide(self, state: State) -> Decision:
        """Return the changes of this round."""
        jobs, free = state.arrays.job, state.free_gpus
        seen = [len(jobs), int(jobs[-1]), state.loan, sum(free.values())]
        lent = state.cluster.loan_servers & free.keys()
        if self.memory.get("seen") == seen and len(lent) <= state.loan:
            return Decision()
        draft = Draft(state, self.memory.get("until", {}))
        head = [name for name in self.memory.get("head", ()) if name not in draft.held]
        solved: dict[str, Any] = {}
        log = reclaim(draft, self.method or "lyra", self.limits)
        if log:
            solved["reclaiming"] = log
        solved |= self._schedule(draft, head)
        waits = [name for name in head if name not in draft.held]
        self.memory = {
            "seen": None if draft.preempted else [*seen[:3], sum(draft.free.values())],
            "head": waits + draft.preempted,
            "until": draft.until,
        }
        return draft.decision(solved)

    def _schedule(self, draft: Draft, head: list[Id]) -> dict[str, Any]:
        if self._workload is not draft.state.workload:
            self._workload, self._seen = draft.state.workload, {}
            self._loan_speed = loan_speed(draft.state.workload, draft.state.cluster)
        if head:
            times = remaining_times(draft, head)
            first = [job_state(draft.jobs[name], times[name]) for name in head]
            self._place(draft, make_room(draft, first), {}, {}, again=True)
        waiting = draft.waiting({*draft.held, *draft.preempted, *head})
        solved: dict[str, Any] = {}
        every = draft.state.workload.jobs
        for _ in range(self.retries + 1):
            room = room_by_pool(draft)
            waiting = {j: left for j, left in waiting.items() if may_start(every[j], room)}
            growing = [n for n in draft.held if draft.jobs[n].max_gpus > draft.jobs[n].min_gpus]
            if not waiting and not any(_may_change(draft, name) for name in growing):
                break
            able = [self._as_seen(j, left) for j, left in waiting.items()]
            solved, refused = self._solve(draft, able, growing)
            if not refused:
                break
            out = refused | draft.held.keys()
            waiting = {j: left for j, left in waiting.items() if every[j].id not in out}
        return solved

    def _as_seen(self, j: int, left: int) -> JobState:
        """Return a job that waits as the problems see it: the same as long as it waits."""
        if (j, left) not in self._seen:
            assert self._workload is not None, "rounds begin with it"
            job = self._workload.jobs[j]
            self._seen[j, left] = job_state(job, known_time(job, left))
        return self._seen[j, left]

    def _solve(
        self,
        draft: Draft,
        able: list[JobState],
        growing: list[Id],
    ) -> tuple[dict[str, Any], set[Id]]:
        """Solve ``elastic`` and ``workers``; return what the log keeps, and jobs left unplaced."""
        snapshot = draft.snapshot(draft.held, able, remaining=remaining_times(draft, draft.held))
        mixed = (draft.jobs[job.id] for job in (*able, *snapshot.running) if job.heterogeneous)
        efficiency = min((job.mixed_efficiency for job in mixed), default=1)
        instance = elastic_adapter.epoch(
            snapshot, mixed_efficiency=efficiency, loan_speed=self._loan_speed
        )
        result = solve(instance, self._scaling, seed=draft.state.seed, **self.limits)
        if result.solution is None:
            return {}, set()
        workers = {name: by_pool(count) for name, count in result.solution.workers.items()}
        solved = {"elastic": solved_by(result)} | self._realize(draft, able, growing, workers)
        started = {job.id for job in able if sum(workers.get(job.id, {}).values())}
        return solved, started - draft.held.keys()

    def _realize(
        self,
        draft: Draft,
        waiting: list[JobState],
        growing: list[Id],
        workers: Mapping[Id, Counts],
    ) -> dict[str, Any]:
        """Give jobs that wait and jobs that may grow their workers; return what the log keeps."""
        targets = {name: workers[name] for name in growing if name in workers}
        before = {name: dict(draft.held[name]) for name in targets}
        for name, counts in targets.items():
            shrink_to(draft, name, counts)
        solved: dict[str, Any] = {}
        new = [job for job in waiting if sum(workers.get(job.id, {}).values())]
        if new:
            flexible = {}
            pools = {}
            for job in new:
                counts = workers[job.id]
                flexible[job.id] = sum(counts.values()) - job.min_gpus // job.gpus_per_worker
                pools[job.id] = LOAN if counts.get(LOAN) else TRAINING
            solved["workers"] = self._place(draft, new, flexible, pools)
        self._grow(draft, targets)
        solved["scaled"] = sum(draft.held[name] != held for name, held in before.items())
        return solved

    def _place(
        self,
        draft: Draft,
        jobs: list[JobState],
        flexible: Mapping[Id, int],
        pools: Mapping[Id, Any],
        again: bool = False,
    ) -> dict[str, Any]:
        """Place the workers of jobs that start; those that do not fit wait on."""
        if not jobs:
            return {}
        instance = workers_adapter.epoch(
            draft.snapshot(draft.held, jobs),
            flexible=flexible,
            pools=pools if self._groups else None,
            separate_groups=self._groups,
        )
        result = solve(instance, self.workers, seed=draft.state.seed, **self.limits)
        if result.solution is None:
            return {}
        for name, placed in result.solution.placement.items():
            size = draft.jobs[name].gpus_per_worker
            draft.start(name, {s: n * size for s, n in placed.base.items()}, again)
            grow_if_faster(draft, name, {s: n * size for s, n in placed.flexible.items()})
        return solved_by(result)

    def _grow(self, draft: Draft, targets: Mapping[Id, Counts]) -> None:
        """Give running jobs the workers that they are still to get, larger workers first."""
        rows = (still_missing(draft, name, counts) for name, counts in targets.items())
        missing = list(chain.from_iterable(rows))
        if not missing:
            return
        snapshot = draft.snapshot(draft.held)
        instance = workers_adapter.epoch(snapshot, separate_groups=self._groups)
        fleet = BestFit(instance)
        ids = [server.id for server in instance.servers]
        missing.sort(key=lambda row: -draft.jobs[row[0]].gpus_per_worker)
        for name, pool, count in missing:
            size = draft.jobs[name].gpus_per_worker
            places = fleet.place(pool, "flexible", size, count)
            gpus = {ids[s]: n * size for s, n in places}
            if grow_if_faster(draft, name, gpus):
                fleet.keep()
            else:
                fleet.undo()


def _may_change(draft: Draft, name: Id) -> bool:
    """Return whether an elastic job can have more workers, or the same ones in other pools."""
    job = draft.jobs[name]
    return job.heterogeneous or sum(draft.held[name].values()) < job.max_gpus

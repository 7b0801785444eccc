"""What Lyra is compared with (section 7.1), each as Lyra's authors describe it."""

import heapq
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.elastic.definition.schema import Instance, Solution
from dlsched.schema import Id, Number
from dlsched.simulation.engine.decision import Decision
from dlsched.simulation.engine.policy import BasePolicy
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.lyra import Lyra
from dlsched.simulation.policies.lyra_draft import Draft
from dlsched.simulation.policies.lyra_reclaiming import vacate
from dlsched.simulation.policies.lyra_scaling import remaining_times
from dlsched.simulation.policies.placement import Placement
from dlsched.simulation.policies.sia import PolluxRounds
from dlsched.simulation.workload.cluster import LOAN, TRAINING
from dlsched.simulation.workload.eligibility import POOL
from dlsched.simulation.workload.job import Job

CONCAVITY = Fraction(4, 5)
"""Exponent of Pollux's goodput in the number of workers **(D)**."""
PATIENCE = 3
"""Kills after which a job goes to the training servers **(D)**."""
WITHOUT_LOAN = "pollux is for clusters without a loan; take one, as lyra_cluster(loaning=False)"


class _Queue(BasePolicy):
    """Strict first in, first out at the requested demand; what both baselines below begin with."""

    own_estimates = True
    keeps_to = frozenset((POOL,))

    def __init__(self, method: Any = None, *, interval: Number = 60) -> None:
        super().__init__(method)
        self.interval, self.on_events = interval, False

    def _start_in_order(
        self, draft: Draft, jobs: Iterable[Job], pool: str, skip: bool = False
    ) -> bool:
        """Start jobs in order; return whether all fitted.

        A job that does not fit is skipped or, without `skip`, ends the loop.
        """
        _, index, sizes = draft.state.cluster.order
        free = np.zeros(len(sizes), np.int64)
        for server, gpus in draft.free.items():
            if draft.servers[server].pool == pool:
                free[index[server]] = gpus
        placement = Placement(draft.state.cluster, free)
        again = set(self.memory.get("killed", ()))
        whole = True
        for job in jobs:
            placed = placement.place(job.gpus, job.gpus_per_worker)
            if placed is not None:
                draft.start(job.id, {s.server: s.gpus for s in placed.shares}, job.id in again)
            elif skip:
                whole = False
            else:
                return False
        return whole


class Opportunistic(_Queue):
    """Fungible jobs wait for idle inference servers, and are killed when these are taken back.

    "Opportunistic Scheduling" of section 7.1. Two queues: fungible jobs on inference servers, all
    others on training servers. The paper does not state their order. Inference takes the servers
    that it needs, whatever is on them: drawn at random **(D)**. A job that is larger than the
    largest loan, or was killed `PATIENCE` times, goes to the training servers **(D)**: without a
    checkpoint it would never end.

    Parameters
    ----------
    order
        ``"fifo"``: first in, first out, and strict, as in the paper's baseline. ``"shortest"``: the
        order of `lyra`, least remaining time first; jobs that do not fit are skipped.
    interval
        Seconds between rounds.

    Raises
    ------
    OptionError
        If there is no such order.
    """

    name: ClassVar[str] = "opportunistic"

    def __init__(self, method: Any = None, *, order: str = "fifo", interval: Number = 60) -> None:
        if order not in ("fifo", "shortest"):
            raise OptionError(f"order={order!r} must be 'fifo' or 'shortest'")
        super().__init__(method, interval=interval)
        self.order = order

    def decide(self, state: State) -> Decision:
        """Return the changes of this round."""
        draft = Draft(state, self.memory.get("until", {}))
        solved: dict[str, Any] = {}
        lent = draft.lent
        due = len(lent) - state.loan
        if due > 0:
            tenants = [name for name in draft.held if not set(lent).isdisjoint(draft.held[name])]
            servers = [lent[i] for i in sorted(state.rng.permutation(len(lent))[:due].tolist())]
            count, collateral = vacate(draft, tenants, servers)
            draft.give_back(servers)
            solved["reclaiming"] = {
                "demand": due,
                "on_loan": len(tenants),
                "gpus": sum(draft.servers[s].gpus for s in servers),
                "preempted": count,
                "collateral": collateral,
                "method": "random",
            }
        most = max((loan.servers for loan in state.cluster.loans), default=0)
        sizes = [s.gpus for s in state.cluster.servers if s.pool == LOAN][:most]
        queues: dict[str, list[Job]] = {TRAINING: [], LOAN: []}
        for view in state.waiting:
            fits = view.job.fungible and view.job.gpus <= sum(sizes)
            queues[LOAN if fits and view.preemptions < PATIENCE else TRAINING].append(view.job)
        shortest = self.order == "shortest"
        remaining = remaining_times(draft) if shortest else {}
        for pool, jobs in queues.items():
            if shortest:
                jobs.sort(key=lambda job: remaining[job.id])
            self._start_in_order(draft, jobs, pool, skip=shortest)
        killed = [*self.memory.get("killed", ()), *draft.preempted]
        self.memory = {
            "until": draft.until,
            "killed": [name for name in dict.fromkeys(killed) if name not in draft.held],
        }
        return draft.decision(solved)


class Gandiva(_Queue):
    """Jobs grow on the servers where they are while nobody waits (Gandiva, in Lyra 7.1).

    The queue is first in, first out and strict **(D)**. While a job waits, nobody has more than its
    base demand; otherwise elastic jobs take, in the order of their start, what is idle on their own
    servers. It uses training servers only.
    """

    name: ClassVar[str] = "gandiva"
    preemptive = False

    def decide(self, state: State) -> Decision:
        """Return the changes of this round."""
        draft = Draft(state, {})
        draft.give_back(list(reversed(draft.lent))[: max(0, len(draft.lent) - state.loan)])
        before = {name: dict(held) for name, held in draft.held.items()}
        waiting = [view.job for view in state.waiting]
        if waiting:
            for name in draft.held:
                draft.shrink(name, state.cluster.gpus, draft.held[name])
            self._start_in_order(draft, waiting, TRAINING)
        if all(job.id in draft.held for job in waiting):
            for name in draft.held:
                self._grow(draft, name)
        scaled = sum(draft.held[name] != held for name, held in before.items())
        return draft.decision({"scaled": scaled} if scaled else {})

    def _grow(self, draft: Draft, name: Id) -> None:
        job, held = draft.jobs[name], draft.held[name]
        room = job.max_gpus - sum(held.values())
        for server in list(held):
            size = job.gpus_per_worker
            more = min(room, draft.free[server]) // size * size
            if more:
                draft.grow(name, {server: more})
                room -= more


class Afs(Lyra):
    """Base demands first, then one worker at a time to the largest gain per GPU (AFS, in Lyra 7.1).

    It is `lyra` with the method `afs` of ``elastic``.
    """

    name: ClassVar[str] = "afs"

    def __init__(self, method: Any = None, **options: Any) -> None:
        super().__init__(method, **{"elastic": "afs", **options})


class Pollux(Lyra):
    """Pollux: GPUs go where they bring most goodput (Pollux, in Lyra 7.1).

    If a job has a `Job.goodput`, it is Pollux's own rule, `PolluxRounds`. Otherwise it is an
    approximation, `lyra` with `most_goodput` for ``elastic``: neither the genetic algorithm nor the
    tuning of batch sizes and learning rates is modelled, and jobs are as fast as under other
    policies. It is for clusters without a loan.
    """

    name: ClassVar[str] = "pollux"

    def __init__(self, method: Any = None, **options: Any) -> None:
        super().__init__(method, **{"elastic": most_goodput, **options})
        limits = {k: v for k, v in options.items() if k in ("interval", "time_limit")}
        self._rounds = PolluxRounds(**limits)

    def decide(self, state: State) -> Decision:
        """Return the changes of this round."""
        if all(job.goodput is None for job in state.workload.jobs):
            return super().decide(state)
        if state.cluster.loan_servers:
            raise OptionError(WITHOUT_LOAN)
        self._rounds.memory = self.memory
        decision = self._rounds.decide(state)
        self.memory = self._rounds.memory
        return decision


def most_goodput(instance: Instance, rng: np.random.Generator) -> Solution:
    """Return workers by greedy steps of most goodput per GPU, of starting and running jobs alike.

    The goodput of a job with w workers is (w / base) ** 0.8, in that with its base workers: it
    grows less than throughput, as Pollux takes statistical efficiency into account. A waiting job
    may start, which brings its base goodput for its base GPUs; so a small job grows before a large
    one starts.

    Raises
    ------
    OptionError
        If there are two pools.
    """
    if instance.pools:
        raise OptionError(WITHOUT_LOAN)
    free = instance.gpus
    workers = {job.id: job.min_workers if job.running else 0 for job in instance.jobs}
    heap: list[tuple[float, int, int]] = []

    def push(j: int) -> None:
        job = instance.jobs[j]
        now = workers[job.id]
        then = now + 1 if now else job.min_workers
        if then <= job.max_workers:
            gain = _goodput(then, job.min_workers) - _goodput(now, job.min_workers)
            gpus = (then - now) * job.gpus_per_worker
            heapq.heappush(heap, (-gain / gpus, j, gpus))

    for j in range(len(instance.jobs)):
        push(j)
    while heap:
        _, j, gpus = heapq.heappop(heap)
        if gpus <= free:
            job = instance.jobs[j]
            workers[job.id] = max(job.min_workers, workers[job.id] + 1)
            free -= gpus
            push(j)
    return Solution(workers={name: count for name, count in workers.items() if count})


def _goodput(workers: int, base: int) -> float:
    return float((workers / base) ** float(CONCAVITY)) if workers else 0.0

"""The simulator: from one event to the next, with the policy's decision in between."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from dlsched.errors import InstanceError
from dlsched.schema import Id
from dlsched.simulation.clock import ticks
from dlsched.simulation.cluster import LOAN, Cluster
from dlsched.simulation.holdings import Holdings
from dlsched.simulation.layers import PRIORITY
from dlsched.simulation.log import DecisionRow, Log
from dlsched.simulation.policy import Policy, PolicyError
from dlsched.simulation.state import JobView, ServerView, State, number
from dlsched.simulation.workload import Workload

COMMIT_ROWS: Final = 5000
COMMIT_SECONDS: Final = 2.0
"""The log is written after as many rows or seconds, whichever comes first."""
PATIENCE: Final = 1000
"""Decisions in a row, with no end or arrival to come, until a policy is stuck."""

Listener = Callable[[int, int, int], None]
"""Called with the simulated time in microseconds, the jobs completed and their total."""


class Engine:
    """One simulation. Events at the same time are one moment, at which the policy decides once.

    The order at a moment is: arrivals, completions, a round, a wake-up that the policy asked for, a
    change of the loan; then the decision **(D)**.
    """

    def __init__(
        self, workload: Workload, cluster: Cluster, policy: Policy, log: Log, seed: int = 0
    ) -> None:
        self.workload, self.cluster, self.policy, self.log = workload, cluster, policy, log
        self.seed = seed
        self.jobs = workload.jobs
        interval = getattr(policy, "interval", None)
        self.interval = None if interval is None else ticks(interval)
        self.on_events = bool(getattr(policy, "on_events", True))
        self.now = -1
        self.arrived = self.completed = self.decisions = self.idle = self.loans = 0
        self.wake: int | None = None
        layers = getattr(policy, "layers", None)
        if layers is not None and (layers != PRIORITY or cluster.loan_servers):
            raise PolicyError(
                f"layers={layers!r} must be {PRIORITY!r}, on a cluster without servers on loan"
            )
        self.holdings = Holdings(workload, cluster, log, layered=layers is not None)
        self.holdings.resources.open(s.id for s in cluster.servers if s.pool != LOAN)
        self.pool = [s.id for s in cluster.servers if s.pool == LOAN]
        for j, job in enumerate(self.jobs):
            if job.min_gpus > cluster.gpus:
                raise InstanceError(
                    f"workload {workload.name}",
                    f"jobs[{j}].gpus",
                    f"job {job.id} needs {job.min_gpus} GPUs, the cluster has {cluster.gpus}",
                    "leave the job out, or take a larger cluster",
                )

    def run(self, on_progress: Listener | None = None) -> None:
        """Simulate until all jobs are complete.

        Raises
        ------
        PolicyError
            If a decision is impossible, or jobs would wait for ever.
        """
        committed = time.monotonic()
        while self.completed < len(self.jobs):
            self._step()
            late = time.monotonic() - committed > COMMIT_SECONDS
            if late or self.log.pending >= COMMIT_ROWS:
                self.log.commit(state=self.to_data())
                committed = time.monotonic()
                if on_progress is not None:
                    on_progress(self.now, self.completed, len(self.jobs))
        self.log.commit(state=None, end=self.now)

    def _step(self) -> None:
        self.now, causes = self._next()
        if "arrival" in causes:
            while self._arrival() == self.now:
                self.holdings.arrive(self.arrived, self.now)
                self.arrived += 1
        if "completion" in causes:
            self.completed += self.holdings.complete(self.now)
        if "loan" in causes:
            self._lend()
        if "wake" in causes:
            self.wake = None
        asked = {"round", "wake"} & set(causes) or self.on_events
        first = self.interval is None and not self.decisions
        if asked or first or self._in_use() > self._loan:
            self._decide(causes)

    # Events.

    def _next(self) -> tuple[int, tuple[str, ...]]:
        """Return the time of the next events, and their kinds."""
        times = {
            "arrival": self._arrival(),
            "completion": self.holdings.next_end(),
            "round": self._round(),
            "wake": self.wake,
            "loan": self._loan_change(),
        }
        known = [moment for moment in times.values() if moment is not None]
        to_come = [times[kind] for kind in ("arrival", "completion", "loan")]
        if not known or (self.idle > PATIENCE and not any(t is not None for t in to_come)):
            names = ", ".join(self.jobs[j].id for j in list(self.holdings.active)[:3])
            raise PolicyError(
                f"{len(self.holdings.active)} jobs are not complete, none of them makes progress, "
                f"and no event is to come; the first are {names}"
            )
        now = min(known)
        return now, tuple(kind for kind, moment in times.items() if moment == now)

    def _arrival(self) -> int | None:
        return None if self.arrived == len(self.jobs) else self.jobs[self.arrived].submit_ticks

    def _round(self) -> int | None:
        """Return the next multiple of the interval at which a job is present."""
        if self.interval is None:
            return None
        start = self.now + 1
        if not self.holdings.active:
            arrival = self._arrival()
            if arrival is None:
                return None
            start = max(start, arrival)
        return -(-start // self.interval) * self.interval

    def _loan_change(self) -> int | None:
        over = self.loans == len(self.cluster.loans)
        return None if over else ticks(self.cluster.loans[self.loans].time)

    def _lend(self) -> None:
        """Lend servers in the cluster's order **(D)**; which ones go back, the policy decides."""
        self.loans += 1
        usable = self.holdings.resources.gpus
        absent = [name for name in self.pool if name not in usable]
        surplus = self._loan - (len(self.pool) - len(absent))
        for name in absent[: max(0, surplus)]:
            self.holdings.resources.open([name])
            self.log.add("loans", (self.now, name, 1))

    def _in_use(self) -> int:
        """Return how many servers of the loan pool may be used."""
        return len(self.holdings.resources.gpus) - (len(self.cluster.servers) - len(self.pool))

    @property
    def _loan(self) -> int:
        return self.cluster.loans[self.loans - 1].servers if self.loans else 0

    # Decisions.

    def _decide(self, causes: tuple[str, ...]) -> None:
        """Let the policy decide; without jobs there is nothing to decide but the loan."""
        held, usable = self.holdings.held, self.holdings.resources.gpus
        if not self.holdings.active:
            in_use = [name for name in self.pool if name in usable]
            self._return(in_use[self._loan :])
            return
        running, waiting = len(held), len(self.holdings.active) - len(held)
        began = time.perf_counter()
        decision = self.policy.decide(self._state(causes))
        self.log.add("timings", (self.decisions, time.perf_counter() - began))
        started, preempted = self.holdings.change(
            self.now, self.decisions, decision.preempt, decision.start, decision.overhead
        )
        self._return(decision.returned)
        if self._in_use() > self._loan:
            raise PolicyError(f"only {self._loan} servers are lent now; return the others")
        self.wake = None if decision.wake is None else ticks(decision.wake)
        if self.wake is not None and self.wake <= self.now:
            raise PolicyError("a policy asks to decide again at a time that is not to come")
        solved = json.dumps(dict(decision.solved))
        counts = (waiting, running, started, preempted)
        self.log.add("decisions", tuple(DecisionRow(self.now, "+".join(causes), *counts, solved)))
        self.decisions += 1
        self.idle = self.idle + 1 if self.holdings.next_end() is None else 0

    def _return(self, servers: Iterable[Id]) -> None:
        for server in servers:
            if server not in self.pool or server not in self.holdings.resources.gpus:
                raise PolicyError(f"server {server} is returned, but is not lent at this time")
            self.holdings.resources.shut(server)
            self.log.add("loans", (self.now, server, 0))

    def _state(self, causes: tuple[str, ...]) -> State:
        holdings = self.holdings
        return State(
            number(self.now),
            causes,
            self.decisions,
            self.seed,
            self._loan,
            self.workload,
            self.cluster,
            self._views,
            self._servers,
            lambda: holdings.table.arrays(self.now, holdings.active),
            holdings.held,
            holdings.resources.gpus,
            holdings.resources.vector,
        )

    def _views(self) -> tuple[tuple[JobView, ...], tuple[JobView, ...]]:
        holdings = self.holdings
        waiting = [j for j, progress in holdings.active.items() if progress.allocation is None]
        running = [holdings.position[name] for name in holdings.held]
        return tuple(map(self._view, waiting)), tuple(map(self._view, running))

    def _view(self, j: int) -> JobView:
        progress = self.holdings.active[j]
        stretch = self.now - progress.since if progress.allocation is not None else 0
        first = progress.first_start
        return JobView(
            self.jobs[j],
            number(progress.left - progress.done(self.now)),
            number(progress.attained + stretch),
            number(progress.service + stretch * progress.gpus),
            progress.allocation,
            None if first is None else number(first),
            progress.preemptions,
        )

    def _servers(self) -> tuple[ServerView, ...]:
        resources = self.holdings.resources
        return tuple(
            ServerView(server, resources.gpus[server.id], *resources.amounts(server.id))
            for server in self.cluster.servers
            if server.id in resources.gpus
        )

    # Going on after an interruption.

    def to_data(self) -> dict[str, Any]:
        """Return the state of the simulation as JSON values."""
        return {
            "now": self.now,
            "arrived": self.arrived,
            "completed": self.completed,
            "decisions": self.decisions,
            "idle": self.idle,
            "loans": self.loans,
            "wake": self.wake,
            "memory": getattr(self.policy, "memory", {}),
            "holdings": self.holdings.to_data(),
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Go on from the state that `to_data` returned."""
        for name in ("now", "arrived", "completed", "decisions", "idle", "loans", "wake"):
            setattr(self, name, data[name])
        if hasattr(self.policy, "memory"):
            self.policy.memory = data["memory"]
        self.holdings.restore(data["holdings"])

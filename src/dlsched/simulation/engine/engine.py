"""The simulator: from one event to the next, with the policy's decision in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from dlsched.schema import Id
from dlsched.simulation.engine.guard import STUCK_AFTER, Watch, decide, to_json, wake_ticks
from dlsched.simulation.engine.holdings import Holdings
from dlsched.simulation.engine.policy import Policy, PolicyError, interval_ticks, policy_name
from dlsched.simulation.engine.state import State, number
from dlsched.simulation.engine.views import Shown
from dlsched.simulation.log import DecisionRow, Log
from dlsched.simulation.workload.clock import HORIZON, TICKS, ticks
from dlsched.simulation.workload.cluster import LOAN, Cluster
from dlsched.simulation.workload.eligibility import Eligibility
from dlsched.simulation.workload.workload import Workload

COMMIT_ROWS: Final = 5000
COMMIT_SECONDS: Final = 2.0
"""The log is written after as many rows or seconds, whichever comes first; but later where that
would take long: after no fewer rows than jobs have started that are not complete, and no less than
`COMMIT_SHARE` times the seconds that it took before."""
COMMIT_SHARE: Final = 20

KINDS: Final = ("arrival", "completion", "round", "wake", "loan", "away", "cancellation")
"""What happens at a moment, in the order in which it is done."""
FINITE: Final = frozenset(("arrival", "completion", "loan", "away", "cancellation"))
"""Of these, what happens finitely often."""

COUNTS: Final = (
    *("now", "arrived", "completed", "decisions", "wake"),
    *("left", "passed", "loan", "last"),
)
"""What `Engine.to_data` keeps as it is."""

Listener = Callable[[int, int, int], None]
"""Called with the simulated time in microseconds, the jobs completed and their total."""


class Engine:
    """One simulation. Events at the same time are one moment, at which the policy decides once.

    The order at a moment is: arrivals, completions, a round, a wake-up that the policy asked for, a
    change of the loan, servers that are back, servers that go away, jobs that are withdrawn; then
    the decision **(D)**.
    """

    def __init__(
        self,
        workload: Workload,
        cluster: Cluster,
        policy: Policy,
        log: Log,
        where: Eligibility,
        seed: int = 0,
        stuck_after: int = STUCK_AFTER,
    ) -> None:
        self.workload = workload
        self.cluster = cluster
        self.policy = policy
        self.log = log
        self.seed = seed
        self.jobs = workload.jobs
        self.interval = interval_ticks(policy)
        self.on_events = bool(getattr(policy, "on_events", True))
        self.now = -1
        self.arrived = self.completed = self.decisions = self.left = self.passed = self.loan = 0
        self.last = -1
        self.planned = _planned(workload, cluster)
        self.wake: int | None = None
        self.watch = Watch(stuck_after)
        self.latest = HORIZON // cluster.gpus
        estimated = not getattr(policy, "own_estimates", False)
        self.holdings = Holdings(workload, cluster, where, log, estimated=estimated)
        self.shown = Shown(self.holdings)
        self.holdings.resources.open(s.id for s in cluster.servers if s.pool != LOAN)
        self.pool = [s.id for s in cluster.servers if s.pool == LOAN]

    def run(self, on_progress: Listener | None = None) -> None:
        """Simulate until all jobs are complete.

        Raises
        ------
        PolicyError
            If a decision is impossible, or jobs would wait for ever.
        """
        committed = time.monotonic()
        took = 0.0
        while not self.over:
            self._step()
            now = time.monotonic()
            late = now - committed > max(COMMIT_SECONDS, COMMIT_SHARE * took)
            if late or self.log.pending >= max(COMMIT_ROWS, self.holdings.started):
                self.log.commit(state=self.to_data() if self.log.path is not None else None)
                committed = time.monotonic()
                took = committed - now
                if on_progress is not None:
                    on_progress(self.now, self.completed, len(self.jobs))
        self.close()

    @property
    def over(self) -> bool:
        """Whether no job is left."""
        return self.completed + self.left == len(self.jobs)

    def close(self) -> None:
        """Write the end of a simulation that is over."""
        self.log.commit(state=None, end=self.last if self.completed else self.now)

    def _step(self) -> None:
        self.now, causes = self._next()
        if "arrival" in causes:
            while self._arrival() == self.now:
                self.holdings.arrive(self.arrived, self.now)
                self.arrived += 1
        if "completion" in causes:
            self.completed += self.holdings.complete(self.now)
            self.last = self.now
        while self._plan() == self.now:
            self._happen(*self.planned[self.passed][2:])
            self.passed += 1
        if "wake" in causes:
            self.wake = None
        if not FINITE.isdisjoint(causes):
            self.watch.begin()
        asked = self.on_events or "round" in causes or "wake" in causes
        first = self.interval is None and not self.decisions
        if asked or first or self._in_use() > self.loan:
            self._decide(causes)

    # Events.

    def _next(self) -> tuple[int, tuple[str, ...]]:
        """Return the time of the next events, and their kinds."""
        times = (
            self._arrival(),
            self.holdings.next_end(),
            self._round(),
            self.wake,
            self._plan(),
        )
        known = [moment for moment in times if moment is not None]
        if not known:
            raise PolicyError(
                f"{self._who()}: {self._stuck()}, and no event is to come; start a job, or ask to "
                "decide again (Decision.wake)"
            )
        now = min(known)
        if now >= self.latest:
            raise PolicyError(
                f"{self._who()}: the next event is at {_rough(now)} s; the clock ends at "
                f"{self.latest / TICKS:.3g} s with {self.cluster.gpus} GPUs; are speeds and "
                "overhead in seconds?"
            )
        causes = {kind for kind, moment in zip(KINDS, times[:4], strict=False) if moment == now}
        at = self.passed
        while at < len(self.planned) and self.planned[at][0] == now:
            causes.add(self.planned[at][2])
            at += 1
        return now, tuple([kind for kind in KINDS if kind in causes])

    def _who(self) -> str:
        """Return the policy and the time, for messages."""
        return f"policy {policy_name(self.policy)} at {float(number(max(0, self.now))):.15g} s"

    def _stuck(self) -> str:
        active = self.holdings.active
        names = ", ".join(self.jobs[j].id for j in list(active)[:3])
        return (
            f"{len(active)} jobs are not complete, none of them makes progress (the first: {names})"
        )

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

    def _plan(self) -> int | None:
        """Return when the next of what is planned happens."""
        return None if self.passed == len(self.planned) else self.planned[self.passed][0]

    def _happen(self, kind: str, what: Any) -> None:
        """Change the loan, take a server away or put it back, or withdraw a job that waits."""
        usable = self.holdings.resources.gpus
        if kind == "loan":
            self.loan = what
            # In the cluster's order **(D)**; which ones go back, the policy decides.
            absent = [name for name in self.pool if name not in usable]
            for name in absent[: max(0, self.loan - (len(self.pool) - len(absent)))]:
                self.holdings.resources.open([name])
                self.log.add("loans", (self.now, name, 1))
        elif kind == "cancellation":
            self.left += self.holdings.withdraw(what)
        else:
            goes, server = what
            if goes:
                self.holdings.vacate(server, self.now)
            else:
                self.holdings.resources.open([server])
            self.log.add("loans", (self.now, server, int(not goes)))

    def _in_use(self) -> int:
        """Return how many servers of the loan pool may be used."""
        if not self.pool:
            return 0
        return sum(name in self.holdings.resources.gpus for name in self.pool)

    # Decisions.

    def _decide(self, causes: tuple[str, ...]) -> None:
        """Let the policy decide; without jobs there is nothing to decide but the loan."""
        usable = self.holdings.resources.gpus
        if not self.holdings.active:
            in_use = [name for name in self.pool if name in usable]
            self._return(in_use[self.loan :])
            return
        try:
            self._apply(causes)
        except PolicyError as error:
            raise PolicyError(f"{self._who()}: {error}") from error.__cause__

    def _apply(self, causes: tuple[str, ...]) -> None:
        """Ask the policy, and do what it decides."""
        holdings = self.holdings
        running = len(holdings.held)
        waiting = len(holdings.active) - running
        began = time.perf_counter()
        decision = decide(self.policy, self._state(causes))
        self.log.add("timings", (self.decisions, time.perf_counter() - began))
        self.shown.close()
        started, moved, preempted = holdings.change(
            self.now, self.decisions, decision.preempt, decision.start, decision.overhead
        )
        if self.pool or decision.returned:
            self._return(decision.returned)
        if self._in_use() > self.loan:
            raise PolicyError(f"only {self.loan} servers are lent now; return the others")
        self.wake = None if decision.wake is None else wake_ticks(decision.wake, self.now)
        solved = to_json(dict(decision.solved), "Decision.solved") if decision.solved else "{}"
        counts = (waiting, running, started, preempted)
        self.log.add("decisions", DecisionRow(self.now, "+".join(causes), *counts, solved))
        if not self.decisions:
            self._memory()
        self.decisions += 1
        nowhere = moved or preempted or holdings.next_end() is None
        if nowhere and self.watch.stuck(lambda: holdings.least_left(self.now)):
            raise PolicyError(
                f"{self._stuck()} in {self.watch.limit} decisions that preempt or move jobs, or "
                "start none; preempt less (is the overhead longer than the time between?), or "
                "allow for more decisions (stuck_after=)"
            )

    def _memory(self) -> Any:
        """Return what the policy remembers, which is stored in the log."""
        memory = getattr(self.policy, "memory", {})
        to_json(memory, "memory")
        return memory

    def _return(self, servers: Iterable[Id]) -> None:
        for server in servers:
            if server not in self.pool or server not in self.holdings.resources.gpus:
                raise PolicyError(f"server {server} is returned, but is not lent at this time")
            self.holdings.resources.shut(server)
            self.log.add("loans", (self.now, server, 0))

    def _state(self, causes: tuple[str, ...]) -> State:
        holdings = self.holdings
        self.shown.now = self.now
        return State(
            self.now,
            causes,
            self.decisions,
            self.seed,
            self.loan,
            self.workload,
            self.cluster,
            holdings.where,
            self.shown,
        )

    # Going on after an interruption.

    def to_data(self) -> dict[str, Any]:
        """Return the state of the simulation as JSON values."""
        return {
            **{name: getattr(self, name) for name in COUNTS},
            "idle": self.watch.count,
            "mark": self.watch.mark,
            "memory": self._memory(),
            "holdings": self.holdings.to_data(),
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Go on from the state that `to_data` returned."""
        for name in COUNTS:
            setattr(self, name, data[name])
        self.watch.count = data["idle"]
        self.watch.mark = data.get("mark")
        if hasattr(self.policy, "memory"):
            self.policy.memory = data["memory"]
        self.holdings.restore(data["holdings"])


def _planned(workload: Workload, cluster: Cluster) -> list[tuple[int, int, str, Any]]:
    """Return what is known beforehand: times, their order at a moment, kinds, and what changes."""
    loans = [(ticks(loan.time), 0, "loan", loan.servers) for loan in cluster.loans]
    changes = [(time, 1 + goes, "away", (goes, name)) for time, goes, name in cluster.changes]
    leave = [
        (ticks(job.cancelled), 3, "cancellation", j)
        for j, job in enumerate(workload.jobs)
        if job.cancelled is not None
    ]
    return sorted([*loans, *changes, *leave], key=lambda entry: entry[:2])


def _rough(time: int) -> str:
    """Return a time in seconds with three digits, however long it is."""
    try:
        return f"{time / TICKS:.3g}"
    except OverflowError:
        return "more than 1e308"

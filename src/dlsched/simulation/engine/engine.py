"""The simulator: from one event to the next, with the policy's decision in between."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from dlsched.errors import DlschedError, describe, spelled
from dlsched.run import Run
from dlsched.schema import Id
from dlsched.simulation.engine.decision import Decision, PolicyError
from dlsched.simulation.engine.guard import STUCK_AFTER, Watch, to_json, wake_ticks
from dlsched.simulation.engine.holdings import NEVER, Holdings
from dlsched.simulation.engine.policy import Policy, interval_ticks, policy_name
from dlsched.simulation.engine.state import State
from dlsched.simulation.log import Log
from dlsched.simulation.workload.clock import HORIZON, TICKS, seconds, ticks
from dlsched.simulation.workload.cluster import LOAN, Cluster
from dlsched.simulation.workload.eligibility import Eligibility
from dlsched.simulation.workload.workload import Workload

COMMIT_ROWS: Final = 5000
COMMIT_SECONDS: Final = 2.0
"""The log is written after as many rows or seconds, whichever comes first; but into a file, with
what is needed to go on from there, later where that would take long: after no fewer rows than there
are jobs, and no less than `COMMIT_SHARE` times the seconds that it took before."""
COMMIT_SHARE: Final = 20

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
        self.policy, self.log, self.seed = policy, log, seed
        self.workload, self.cluster = workload, cluster
        self.interval = interval_ticks(policy)
        self.on_events = bool(getattr(policy, "on_events", True))
        self.now = self.last = -1
        self.arrived = self.completed = self.decisions = self.left = self.passed = self.loan = 0
        self.planned = _planned(workload, cluster)
        self.wake: float = NEVER
        self.watch = Watch(stuck_after)
        self.latest = HORIZON // cluster.gpus
        estimated = not getattr(policy, "own_estimates", False)
        self.holdings = Holdings(workload, cluster, where, log, estimated=estimated)
        self.arrivals = [*self.holdings.jobs.submit.tolist(), NEVER]
        self.holdings.resources.open(s.id for s in cluster.servers if s.pool != LOAN)
        self.pool = [s.id for s in cluster.servers if s.pool == LOAN]

    def run(self, on_progress: Listener | None = None) -> None:
        """Simulate until all jobs are complete.

        Raises
        ------
        PolicyError
            If a decision is impossible, or jobs would wait for ever.
        """
        resumable = self.log.path is not None
        committed = time.monotonic()
        took = 0.0
        while not self.over:
            causes = self.advance()
            if causes is not None:
                self.decide(causes)
            now = time.monotonic()
            late = now - committed > max(COMMIT_SECONDS, COMMIT_SHARE * took)
            most = max(COMMIT_ROWS, len(self.holdings.active)) if resumable else COMMIT_ROWS
            if late or self.log.pending >= most:
                self.log.commit(state=self.to_data() if resumable else None)
                committed = time.monotonic()
                took = committed - now
                if on_progress is not None:
                    on_progress(self.now, self.completed, len(self.workload.jobs))
        self.close()

    @property
    def over(self) -> bool:
        """Whether no job is left."""
        return self.completed + self.left == len(self.workload.jobs)

    def close(self) -> None:
        """Write the end of a simulation that is over."""
        self.log.commit(state=None, end=self.last if self.completed else self.now)

    # Events.

    def advance(self) -> tuple[str, ...] | None:
        """Go to the next moment, and do what happens then.

        Returns
        -------
        tuple
            Why the policy has to decide now; None if it has not. Without jobs there is nothing to
            decide but the loan.
        """
        arrival, end, plan = (
            self.arrivals[self.arrived],
            self.holdings.next_end(),
            self.planned[self.passed][0],
        )
        turn = NEVER if self.interval is None else self._round(arrival)
        now = min(arrival, end, turn, self.wake, plan)
        if now >= self.latest:
            self._refuse_moment(now)
        self.now = now = int(now)
        causes = []
        if arrival == now:
            causes.append("arrival")
            while self.arrivals[self.arrived] == now:
                self.holdings.arrive(self.arrived)
                self.arrived += 1
        if end == now and (complete := self.holdings.complete(now)):
            causes.append("completion")
            self.completed += complete
            self.last = now
        if turn == now:
            causes.append("round")
        if self.wake == now:
            causes.append("wake")
            self.wake = NEVER
        while self.planned[self.passed][0] == now:
            _, _, kind, what = self.planned[self.passed]
            if kind not in causes:
                causes.append(kind)
            self._happen(kind, what)
            self.passed += 1
        if now in (arrival, end, plan):
            self.watch.begin()
        asked = (self.on_events and causes) or "round" in causes or "wake" in causes
        first = self.interval is None and not self.decisions
        if asked or first or self._in_use() > self.loan:
            if self.holdings.active:
                return tuple(causes)
            usable = self.holdings.resources.gpus
            self._return([name for name in self.pool if name in usable][self.loan :])
        return None

    def _refuse_moment(self, now: float) -> None:
        if now == NEVER:
            raise PolicyError(
                f"{self._who()}: {self._stuck()}, and no event is to come; start a job, or ask to "
                "decide again (Decision.wake)"
            )
        raise PolicyError(
            f"{self._who()}: the next event is at {_rough(now)} s; the clock ends at "
            f"{self.latest / TICKS:.3g} s with {self.cluster.gpus} GPUs; are speeds and "
            "overhead in seconds?"
        )

    def _who(self) -> str:
        """Return the policy and the time, for messages."""
        return f"policy {policy_name(self.policy)} at {float(seconds(max(0, self.now))):.15g} s"

    def _stuck(self) -> str:
        active = self.holdings.active
        names = ", ".join(self.workload.jobs[j].id for j in list(active)[:3])
        return (
            f"{len(active)} jobs are not complete, none of them makes progress (the first: {names})"
        )

    def _round(self, arrival: float) -> float:
        """Return the next multiple of the interval at which a job is present."""
        assert self.interval is not None, "there are rounds"
        start = self.now + 1
        if not self.holdings.active:
            if arrival == NEVER:
                return NEVER
            start = max(start, int(arrival))
        return -(-start // self.interval) * self.interval

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
        return sum(name in self.holdings.resources.gpus for name in self.pool)

    # Decisions.

    def decide(self, causes: tuple[str, ...]) -> None:
        """Ask the policy, and do what it decides.

        Raises
        ------
        PolicyError
            If that is impossible, or jobs would wait for ever.
        """
        try:
            self._apply(causes)
        except PolicyError as error:
            raise PolicyError(f"{self._who()}: {error}") from error.__cause__

    def _apply(self, causes: tuple[str, ...]) -> None:
        holdings = self.holdings
        running = len(holdings.held)
        waiting = len(holdings.active) - running
        began = time.perf_counter()
        decision = self._asked(self.state(causes))
        self.log.add("timings", (self.decisions, time.perf_counter() - began))
        started, moved, preempted = holdings.change(self.now, self.decisions, decision)
        self._return(decision.returned)
        if self._in_use() > self.loan:
            raise PolicyError(f"only {self.loan} servers are lent now; return the others")
        self.wake = NEVER if decision.wake is None else wake_ticks(decision.wake, self.now)
        solved = to_json(dict(decision.solved), "Decision.solved") if decision.solved else "{}"
        counts = (waiting, running, started, preempted)
        self.log.add("decisions", (self.now, "+".join(causes), *counts, solved))
        if not self.decisions:
            self._memory()
        self.decisions += 1
        nowhere = moved or preempted or holdings.next_end() == NEVER
        if nowhere and self.watch.stuck(lambda: holdings.least_left(self.now)):
            raise PolicyError(
                f"{self._stuck()} in {self.watch.limit} decisions that preempt or move jobs, or "
                "start none; preempt less (is the overhead longer than the time between?), or "
                "allow for more decisions (stuck_after=)"
            )

    def _asked(self, state: State) -> Decision:
        """Return the policy's decision.

        Raises
        ------
        PolicyError
            If the policy raises an error that is not dlsched's, or returns something else.
        KeyboardInterrupt
            Also if Ctrl-C has cut short what the policy solved: the decision would be another one.
        """
        interrupts = Run.interrupts
        try:
            decision = self.policy.decide(state)
        except DlschedError:
            raise
        except Exception as error:
            raise PolicyError(f"it raised {describe(error)}") from error
        if Run.interrupts > interrupts:
            raise KeyboardInterrupt
        if not isinstance(decision, Decision):
            what = f"it returned {spelled(decision)}"
            raise PolicyError(f"{what}; return a dlsched.simulation.Decision")
        return decision

    def state(self, causes: tuple[str, ...]) -> State:
        """Return the state at this moment."""
        counts = self.decisions, self.loan, self.seed, self.last
        return State(self.holdings, self.now, causes, *counts)

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
        self.watch.count, self.watch.mark = data["idle"], data["mark"]
        if hasattr(self.policy, "memory"):
            self.policy.memory = data["memory"]
        self.holdings.restore(data["holdings"])


def _planned(workload: Workload, cluster: Cluster) -> list[tuple[float, int, str, Any]]:
    """Return what is known beforehand: times, their order at a moment, kinds, and what changes."""
    loans = [(ticks(loan.time), 0, "loan", loan.servers) for loan in cluster.loans]
    changes = [(time, 1 + goes, "away", (goes, name)) for time, goes, name in cluster.changes]
    leave = [
        (ticks(job.cancelled), 3, "cancellation", j)
        for j, job in enumerate(workload.jobs)
        if job.cancelled is not None
    ]
    planned: list[Any] = sorted([*loans, *changes, *leave], key=lambda entry: entry[:2])
    return [*planned, (NEVER, 0, "", None)]


def _rough(time: float) -> str:
    """Return a time in seconds with three digits, however long it is."""
    try:
        return f"{time / TICKS:.3g}"
    except OverflowError:
        return "more than 1e308"

"""Hadar: in each round the jobs of the largest payoffs at the prices of GPUs (section III)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from dlsched.api import solve
from dlsched.errors import OptionError
from dlsched.problems.utility.heuristics.hadar import Hadar as Decider
from dlsched.problems.utility.instances import state as adapter
from dlsched.registry.cluster_state import ClusterState
from dlsched.schema import Id, Number
from dlsched.simulation.engine.decision import Decision
from dlsched.simulation.engine.jobs import JobView
from dlsched.simulation.engine.policy import BasePolicy, refuse_unused
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.solving import solved_by
from dlsched.simulation.policies.typed import (
    held_by_type,
    realize,
    supply,
    typed_state,
    views_by_submission,
)
from dlsched.simulation.workload.eligibility import TYPE

OWN: Final = ("hadar", "hadar_literal")
"""Methods of utility that decide slot by slot: only the slot of the round is decided."""
MODES: Final = ("sticky", "full", "keep")

Given = dict[Id, dict[str, int]]
"""GPUs by type of each job that runs."""


class Hadar(BasePolicy):
    """Hadar's online algorithm (Algorithms 1 and 2) in rounds.

    Problem: ``utility``. In each round the prices of all GPUs, per machine and type, start from no
    use (gamma at zero), and the jobs of the largest payoffs run; a job's utility is its effective
    throughput from submission to completion. See `dlsched.problems.utility.heuristics.hadar` for
    the repairs of Algorithm 2. The horizon, of which the paper states nothing, is
    `dlsched.problems.utility.instances.state.horizon`, and grows when it turns out too short
    **(D)**.

    A job that gets as many GPUs of each type as it holds stays on its servers **(D)**: the rate
    depends on the types alone. A job that completes within a round leaves its GPUs idle until the
    next **(D)**.

    Parameters
    ----------
    method
        None for the paper's, ``"hadar"``. ``"hadar_literal"`` likewise decides the round alone.
        Any other method of utility plans all jobs present to the horizon, and the first slot of
        the plan is the round; if it finds no plan, `hadar` decides.
    mode
        ``"sticky"``: until a job completes, running jobs keep their GPUs, and only jobs that are
        new are placed, on free GPUs (section IV-B, Scalability). ``"full"``: every round decides
        on all jobs. ``"keep"``: running jobs keep their GPUs until they complete, and waiting ones
        are placed on free GPUs; the same section may be read so too **(D)**.
    utility
        One of ``dlsched.problems.utility.instances.state.UTILITIES``. Section III-A names
        ``"effective_throughput"`` as a special case, and section IV does not say which utility it
        maximises **(D)**. Effective throughput puts short jobs last, and counts iterations of
        different models alike; with ``"normalized_throughput"`` it is divided by the job's rate on
        its fastest type. ``"inverse_time"`` and ``"linear"`` prefer jobs with little work left.
    interval
        Seconds of a round (section IV: six minutes).
    slots
        Horizon of the plans of other methods, from each round on; None for that above.
    **options
        Options of `dlsched.solve` for other methods, as ``time_limit``, and of the method.

    Raises
    ------
    OptionError
        If there is no such mode or utility.
    """

    name: ClassVar[str] = "hadar"
    keeps_to = frozenset((TYPE,))
    problem: ClassVar[str | None] = "utility"
    on_events: bool = False

    def __init__(
        self,
        method: Any = None,
        *,
        mode: str = "sticky",
        utility: str = "effective_throughput",
        interval: Number = 360,
        slots: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__("hadar" if method is None else method, **options)
        if self.method == "hadar":
            refuse_unused(options, "hadar")
        if mode not in MODES:
            raise OptionError(f"mode={mode!r} is none of {', '.join(MODES)}")
        if utility not in adapter.UTILITIES:
            raise OptionError(f"utility={utility!r} is none of {', '.join(adapter.UTILITIES)}")
        self.mode = mode
        self.utility = utility
        self.interval = interval
        self.slots = slots
        self._how: dict[str, Any] = {"slot_seconds": interval, "utility": utility}

    def decide(self, state: State) -> Decision:
        """Return the changes that make the jobs of this round run."""
        jobs = state.arrays.job
        latest = int(self.memory.get("latest", -1))
        known = int((jobs <= latest).sum())
        # Jobs were there at the last round that are not any more, or this is the first round.
        ended = known < int(self.memory.get("count", 1))
        fresh = {state.workload.jobs[j].id for j in jobs[known:]}
        new = [view for view in state.waiting if view.id in fresh]
        gpus = sum(supply(state).values())
        # Servers have come or gone.
        ended |= gpus != self.memory.get("gpus", gpus)
        ended |= len(state.allocations) < self.memory.get("runs", 0)
        self.memory |= {"latest": int(jobs[-1]), "count": len(jobs), "gpus": gpus}
        if self.mode == "keep" and state.allocations:
            ended = False
            new = list(state.waiting)
        if ended or self.mode == "full" or not state.allocations:
            counts, solved = self._choose(state, None)
        elif new:
            counts, solved = self._choose(state, new)
            for name, allocation in state.allocations.items():
                counts[name] = held_by_type(allocation, state.cluster)
        else:
            return Decision()
        self.memory["runs"] = len(counts)
        start, preempt = realize(state, counts)
        return Decision(start, preempt, solved=solved)

    def _choose(self, state: State, new: Sequence[JobView] | None) -> tuple[Given, dict[str, Any]]:
        """Return the jobs that get GPUs: of all jobs, or new ones that get free GPUs."""
        servers = [(v.server, v.server.gpus if new is None else v.free) for v in state.servers]
        views = views_by_submission(state) if new is None else new
        seen = typed_state(state, views, ((s, gpus) for s, gpus in servers if gpus))
        if not seen.servers:
            return {}, {}
        if self.method not in OWN:
            instance = adapter.instance(seen, slots=self.slots, **self._how)
            result = solve(instance, self.method, seed=state.seed, **self.options)
            if result.solution is not None:
                schedule = result.solution.schedule
                first = {job: runs[0] for job, runs in schedule.items() if runs}
                now = {job: run.gpus for job, run in first.items() if run.slot == 1}
                if now:
                    return _by_type(now), solved_by(result)
        return self._decide(seen, whole=new is None)

    def _decide(self, seen: ClusterState, whole: bool) -> tuple[Given, dict[str, Any]]:
        """Return the decision of the paper's algorithm, in one round."""
        method = self.method if self.method in OWN else "hadar"
        rounds = adapter.moment(seen, **self._how)
        slots = max(int(self.memory.get("slots", 0)), rounds.instance.slots)
        self.memory["slots"] = slots
        if slots != rounds.instance.slots:
            rounds = adapter.moment(seen, **self._how, slots=slots)
        decider = Decider(
            rounds.instance,
            factors=adapter.factors(rounds.instance, self.utility),
        )
        grants = decider.decide(rounds, literal=method == "hadar_literal")
        solved: dict[str, Any] = {"method": method}
        if decider.scanned:
            solved["scanned"] = True
        jobs = rounds.instance.jobs
        return _by_type({jobs[j].id: machines for j, machines in grants.items()}), solved


def _by_type(held: Mapping[Id, Mapping[str, Mapping[str, int]]]) -> Given:
    totals: Given = {}
    for name, machines in held.items():
        row = totals[name] = Counter[str]()
        for kinds in machines.values():
            row.update(kinds)
    return totals

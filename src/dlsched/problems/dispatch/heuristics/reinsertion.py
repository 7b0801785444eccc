"""The rule `reinserted`: MAST's plans by priority, then workloads moved to other clusters.

What starts at a priority depends on where the higher ones were placed, about which the levels say
nothing. So a workload that waits is planned again without what starts in one cluster, which is then
planned again itself, then without what starts in a region.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple, TypeAlias

from dlsched.problems.dispatch.definition.ranking import Ranked, startable
from dlsched.problems.dispatch.definition.schema import Instance, Solution
from dlsched.problems.dispatch.definition.workloads import MOST_PRIORITIES
from dlsched.problems.dispatch.heuristics.dispatcher import Dispatcher, Failures, Plan, Sites
from dlsched.problems.dispatch.programs.unjustified_victims import justified
from dlsched.problems.dispatch.structures.fleet import Fleet
from dlsched.problems.dispatch.structures.victims import Array
from dlsched.run import Run
from dlsched.schema import Number

WORK = 5
"""Most auctions by pending workload."""

Value: TypeAlias = tuple[Number, ...]
"""Jobs preempted and, negative, the size started, by priority; less is better."""
Near: TypeAlias = Callable[[int], list[Ranked]]
"""What a move at a cluster removes."""


class _State(NamedTuple):
    """What a move changes."""

    free: Array
    running: Array
    plans: dict[int, Plan]
    preempt: list[int]
    failed: Failures


class Reinsertion:
    """The search.

    Attributes
    ----------
    plans
        By position of a workload that starts, its plan.
    left
        How many auctions may still be held.
    """

    def __init__(self, instance: Instance, run: Run) -> None:
        self.instance, self.run = instance, run
        self.fleet = Fleet(instance)
        self.dispatcher = Dispatcher(self.fleet)
        self.ranking = startable(instance)
        self.ranked = {ranked.position: ranked for ranked in self.ranking}
        self.size = {w: instance.size(instance.pending[w]) for w in self.ranked}
        self.plans: dict[int, Plan] = {}
        self.left = WORK * len(self.ranking)

    def solve(self) -> Solution:
        """Return the solution found."""
        for _, group in groupby(self.ranking, key=lambda ranked: ranked.priority):
            self._priority(list(group))
        for w, plan in self.plans.items():
            self.dispatcher.record(self.ranked[w], plan)
        return justified(self.instance, self.dispatcher.solution())

    def _priority(self, group: Sequence[Ranked]) -> None:
        """Let the victims of a priority run that can, start what can, then make moves."""
        p = group[0].priority
        for v in self._victims(p):
            self._runs_again(v)
        self._start(p, group)
        for near in (self._in_cluster, self._in_region):
            while self._insert(p, group, near):
                pass

    def _insert(self, p: int, group: Sequence[Ranked], near: Near) -> bool:
        """Start what waits in the place of something that starts elsewhere; whether one did."""
        started = False
        for ranked in sorted(group, key=self._by_size):
            if ranked.position in self.plans:
                continue
            regions = self.dispatcher.everywhere(ranked).items()
            moves = ((r, sites, near(s)) for r, sites in regions for s in sites)
            started |= any(self._move(p, ranked, {r: sites}, out) for r, sites, out in moves)
        return started

    def _by_size(self, ranked: Ranked) -> tuple[int, Number]:
        return ranked.priority, -self.size[ranked.position]

    def _victims(self, p: int) -> list[int]:
        """Return the preempted workloads of a priority, those with most jobs first.

        One that cannot run again makes room for a higher priority: nothing else has started.
        """
        fleet = self.fleet
        mine = [v for v in self.dispatcher.preempt if fleet.priority[v] == p]
        return sorted(mine, key=lambda v: (-fleet.jobs[v], v))

    def _start(self, p: int, group: Sequence[Ranked]) -> None:
        """Start workloads by rank or by size, whichever is better."""
        before = self._state()
        self._auctions(group)
        if (
            self.left <= 0
            or self.run.stop_reason()
            or all(ranked.position in self.plans for ranked in group)
        ):
            return
        by_rank, value = self._state(), self._value(p)
        self._restore(before)
        self._auctions(sorted(group, key=self._by_size))
        if self._value(p) >= value:
            self._restore(by_rank)

    def _auctions(self, order: Iterable[Ranked]) -> None:
        for ranked in order:
            self._auction(ranked, self.dispatcher.everywhere(ranked))

    def _auction(self, ranked: Ranked, sites: Sites) -> bool:
        """Start a workload by the best plan, and return whether there is one."""
        self.left -= 1
        plan = self.dispatcher.auction(ranked, sites)
        if plan is None:
            return False
        self.dispatcher.occupy(ranked, plan)
        self.plans[ranked.position] = plan
        return True

    def _move(self, p: int, ranked: Ranked, sites: Sites, removed: Sequence[Ranked]) -> bool:
        """Start a workload before those that are removed start again; undo if not better."""
        if self.left <= 0 or not removed or self.run.stop_reason():
            return False
        before, value = self._state(), self._value(p)
        self.dispatcher.failed = {}
        for other in removed:
            self._remove(other)
        if self._auction(ranked, sites):
            self._auctions(sorted(removed, key=self._by_size))
            if self._value(p) < value:
                return True
        self._restore(before)
        return False

    def _in_cluster(self, s: int) -> list[Ranked]:
        """Return what starts with a job in a cluster."""
        plans = self.plans.items()
        return [self.ranked[w] for w, plan in plans if s in {job.site for job in plan.jobs}]

    def _in_region(self, s: int) -> list[Ranked]:
        """Return what starts in the region of a cluster, if that is the region's first."""
        sites = self.fleet.sites
        if s and sites[s - 1].region == sites[s].region:
            return []
        region = sites[s].region
        return [self.ranked[w] for w, plan in self.plans.items() if plan.region == region]

    def _remove(self, ranked: Ranked) -> None:
        plan = self.plans.pop(ranked.position)
        requests = self.fleet.requests[ranked.position]
        for job, request in zip(plan.jobs, requests, strict=True):
            self.fleet.take(job.site, request, job.machines, job.tasks, -1)

    def _runs_again(self, v: int) -> bool:
        """Let a victim run where it did if there is room, and return whether there is."""
        self.fleet.stop([v], -1)
        for s in self.fleet.where[v]:
            held = self.fleet.holdings[s]
            machines = held.machine[held.victim == v]
            if (self.fleet.free[:, machines + self.fleet.sites[s].machines.start] < 0).any():
                self.fleet.stop([v])
                return False
        self.dispatcher.preempt.remove(v)
        return True

    def _value(self, p: int) -> Value:
        """Return the levels of the priorities down to one."""
        lost = [0] * (MOST_PRIORITIES + 1)
        sizes: list[Number] = [0] * (MOST_PRIORITIES + 1)
        for v in self.dispatcher.preempt:
            lost[self.fleet.priority[v]] += self.fleet.jobs[v]
        for w in self.plans:
            sizes[self.ranked[w].priority] += self.size[w]
        levels = [level for q in range(1, p + 1) for level in (lost[q], -sizes[q])]
        return (*levels, *lost[p + 1 :])

    def _state(self) -> _State:
        fleet, dispatcher = self.fleet, self.dispatcher
        return _State(
            fleet.free.copy(),
            fleet.running.copy(),
            dict(self.plans),
            list(dispatcher.preempt),
            dispatcher.failed,
        )

    def _restore(self, state: _State) -> None:
        """Return to a state, which is not used again."""
        self.fleet.free, self.fleet.running = state.free, state.running
        self.plans = state.plans
        self.dispatcher.preempt, self.dispatcher.failed = state.preempt, state.failed

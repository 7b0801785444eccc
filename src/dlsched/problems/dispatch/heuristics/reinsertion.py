"""The rule `reinserted`: MAST's plans, priority by priority, then workloads moved to other clusters.

What starts at a priority depends on where the higher ones were placed, about which the levels say
nothing. So a workload that waits is planned again without what starts in one cluster, which is then
planned again itself; likewise a preempted workload runs again without what starts in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from dlsched.problems.dispatch.definition.ranking import Ranked, startable
from dlsched.problems.dispatch.definition.schema import Instance, Solution
from dlsched.problems.dispatch.definition.workloads import MOST_PRIORITIES
from dlsched.problems.dispatch.heuristics.dispatcher import Dispatcher, Failures, Plan
from dlsched.problems.dispatch.structures.fleet import Fleet
from dlsched.problems.dispatch.structures.victims import Array
from dlsched.run import Run
from dlsched.schema import Number

WORK = 5
"""Most auctions by pending workload, unless another number is asked for."""

Value = tuple[Number, ...]
"""Jobs preempted and, negative, the size started, by priority; less is better."""


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

    def __init__(self, instance: Instance, run: Run, work: int) -> None:
        self.instance, self.run = instance, run
        self.fleet = Fleet(instance)
        self.dispatcher = Dispatcher(self.fleet)
        self.ranking = startable(instance)
        self.ranked = {ranked.position: ranked for ranked in self.ranking}
        self.size = {w: instance.size(instance.pending[w]) for w in self.ranked}
        self.plans: dict[int, Plan] = {}
        self.left = work * len(self.ranking)

    def solve(self) -> Solution:
        """Return the solution found."""
        for _, group in groupby(self.ranking, key=lambda ranked: ranked.priority):
            self._priority(list(group))
        for w, plan in self.plans.items():
            self.dispatcher.record(self.ranked[w], plan)
        return self.dispatcher.solution()

    def _priority(self, group: Sequence[Ranked]) -> None:
        """Run again whom one can, start what one can, and improve both by moves."""
        p = group[0].priority
        for v in self._victims(p):
            if not self._runs_again(v):
                self._move(p, self._beside(v), victim=v)
        self._start(p, group)
        waiting = [ranked for ranked in group if ranked.position not in self.plans]
        for ranked in sorted(waiting, key=self._by_size):
            for r, sites in self.dispatcher.everywhere(ranked).items():
                if ranked.position in self.plans:
                    break
                for s in sites:
                    if self._move(p, self._in_cluster(s), first=(ranked, {r: sites})):
                        break

    def _by_size(self, ranked: Ranked) -> tuple[int, Number]:
        return ranked.priority, -self.size[ranked.position]

    def _victims(self, p: int) -> list[int]:
        """Return the preempted workloads of a priority, those with most jobs first."""
        fleet = self.fleet
        mine = [v for v in self.dispatcher.preempt if fleet.priority[v] == p]
        return sorted(mine, key=lambda v: (-fleet.jobs[v], v))

    def _start(self, p: int, group: Sequence[Ranked]) -> None:
        """Start workloads by rank or by size, whichever is better."""
        before = self._state()
        self._auctions(group)
        if self.left <= 0 or all(ranked.position in self.plans for ranked in group):
            return
        by_rank, value = self._state(), self._value(p)
        self._restore(before)
        self._auctions(sorted(group, key=self._by_size))
        if self._value(p) >= value:
            self._restore(by_rank)

    def _auctions(self, order: Iterable[Ranked]) -> None:
        for ranked in order:
            self._auction(ranked, self.dispatcher.everywhere(ranked))

    def _auction(self, ranked: Ranked, sites: dict[int, list[int]]) -> bool:
        """Start a workload by the best plan, and return whether there is one."""
        self.left -= 1
        plan = self.dispatcher.auction(ranked, sites)
        if plan is None:
            return False
        self.dispatcher.occupy(ranked, plan)
        self.plans[ranked.position] = plan
        return True

    def _move(
        self,
        p: int,
        removed: Sequence[Ranked],
        victim: int | None = None,
        first: tuple[Ranked, dict[int, list[int]]] | None = None,
    ) -> bool:
        """Start a workload, or let a victim run, before what is removed; undo if not better."""
        if self.left <= 0 or not removed or self.run.stop_reason():
            return False
        before, value = self._state(), self._value(p)
        self.dispatcher.failed = {}
        for ranked in removed:
            self._remove(ranked)
        possible = self._runs_again(victim) if victim is not None else True
        if first is not None:
            possible = self._auction(*first)
        if possible:
            self._auctions(sorted(removed, key=self._by_size))
            if self._value(p) < value:
                return True
        self._restore(before)
        return False

    def _in_cluster(self, s: int) -> list[Ranked]:
        """Return what starts with a job in a cluster."""
        return [
            self.ranked[w]
            for w, plan in self.plans.items()
            if any(job.site == s for job in plan.jobs)
        ]

    def _beside(self, v: int) -> list[Ranked]:
        """Return what starts on a machine of a running workload."""
        on = {s: set(held.tolist()) for s, held in self._machines(v)}
        return [
            self.ranked[w]
            for w, plan in self.plans.items()
            if any(on.get(job.site, set()) & set(job.machines.tolist()) for job in plan.jobs)
        ]

    def _machines(self, v: int) -> list[tuple[int, Array]]:
        """Return by cluster the machines of a running workload."""
        holdings = [(s, self.fleet.holdings[s]) for s in self.fleet.where[v]]
        return [(s, held.machine[held.victim == v]) for s, held in holdings]

    def _remove(self, ranked: Ranked) -> None:
        plan = self.plans.pop(ranked.position)
        requests = self.fleet.requests[ranked.position]
        for job, request in zip(plan.jobs, requests, strict=True):
            self.fleet.take(job.site, request, job.machines, job.tasks, -1)

    def _runs_again(self, v: int) -> bool:
        """Let a victim run where it did if there is room, and return whether there is."""
        self.fleet.stop([v], -1)
        for s, machines in self._machines(v):
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

"""Improving MAST's result: a started workload leaves its region to one that waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dlsched.objective import Objective
from dlsched.problems.dispatch.definition.check import evaluate
from dlsched.problems.dispatch.definition.ranking import startable
from dlsched.problems.dispatch.definition.schema import MOST_PRIORITIES, Instance, Solution, Started
from dlsched.problems.dispatch.heuristics.dispatcher import Dispatcher
from dlsched.problems.dispatch.structures.fleet import Fleet, Request
from dlsched.problems.dispatch.structures.victims import Array
from dlsched.run import Run
from dlsched.schema import Number

Change = frozenset[tuple[int, int]]
"""Pairs of a workload's position and a region in which it may not start."""

ROUNDS = 200
"""The most repetitions of `mast`, unless another number is asked for."""


class State(NamedTuple):
    """What is free, runs, failed, started and is preempted before a workload's turn."""

    free: Array
    running: Array
    failed: dict[tuple[int, int], list[tuple[Request, int]]]
    start: dict[str, Started]
    preempt: list[int]


class Attempt(NamedTuple):
    """A repetition of `mast`: its solution and objective, and the states in the order of rank."""

    solution: Solution
    value: Objective
    states: list[State]


def improve(instance: Instance, run: Run, rounds: int) -> Solution:
    """Return MAST's solution after changes that improve it, the first found at each step.

    A change keeps a workload out of a region that a waiting workload could use, or out of all of
    them, which lets lower ranks start.
    """
    regions = [set(instance.regions_of(workload)) for workload in instance.pending]
    repeated = Repeated(instance)
    order = repeated.order
    position = {ranked.workload: ranked.position for ranked in order}

    def changes(solution: Solution) -> Iterator[tuple[int, int]]:
        at = {region.id: r for r, region in enumerate(instance.regions)}
        where = {position[name]: at[s.region] for name, s in solution.start.items()}
        waiting = [ranked.position for ranked in order if ranked.position not in where]
        for w in waiting:
            for u, r in where.items():
                if r in regions[w]:
                    yield u, r
        for u, r in where.items():
            yield u, r

    banned: Change = frozenset()
    best = repeated.first()
    tried: set[Change] = {banned}
    improved = True
    while improved and len(tried) <= rounds:
        improved = False
        for change in changes(best.solution):
            new = banned | {change}
            if new in tried:
                continue
            if run.stop_reason() or len(tried) > rounds:
                return best.solution
            tried.add(new)
            other = repeated.better(best, new, change[0])
            if other is not None:
                best, banned, improved = other, new, True
                run.record(float(sum(best.value[1:14:2])), None)
                break
    return best.solution


class Repeated:
    """Repetitions of `mast` with changes, each only as far as it may be better than the best."""

    def __init__(self, instance: Instance) -> None:
        self.instance, self.fleet = instance, Fleet(instance)
        self.order = startable(instance)
        self.index = {ranked.position: i for i, ranked in enumerate(self.order)}
        pending = instance.pending
        self.sites = [self.fleet.sites_of(pending[ranked.position]) for ranked in self.order]
        self.size = {pending[r.position].id: instance.size(pending[r.position]) for r in self.order}

    def first(self) -> Attempt:
        """Return what `mast` does without changes."""
        fleet = self.fleet
        state = State(fleet.free.copy(), fleet.running.copy(), {}, {}, [])
        found = self._from([state], frozenset(), None)
        assert found is not None  # nothing to be better than
        return found

    def better(self, best: Attempt, banned: Change, changed: int) -> Attempt | None:
        """Return the repetition with other changes if it is better than the best one.

        Until the turn of the workload that the change concerns, all is as in the best one.
        """
        return self._from(best.states[: self.index[changed] + 1], banned, best.value)

    def _from(self, states: list[State], banned: Change, best: Objective | None) -> Attempt | None:
        """Continue from the last of some states; ``None`` if the result is no better."""
        dispatcher = Dispatcher(self.fleet)
        _restore(states[-1], dispatcher)
        states, equal = states[:-1], best
        for i in range(len(states), len(self.order)):
            ranked = self.order[i]
            states.append(_saved(dispatcher))
            own = {r: s for r, s in self.sites[i].items() if (ranked.position, r) not in banned}
            plan = dispatcher.auction(ranked, own)
            if plan is not None:
                dispatcher.execute(ranked, plan)
            last = i + 1 == len(self.order) or self.order[i + 1].priority != ranked.priority
            if last and equal is not None:
                sign = _compared(self._final(dispatcher, ranked.priority), equal)
                if sign < 0:
                    return None
                equal = equal if sign == 0 else None
        solution = dispatcher.solution()
        value = evaluate(self.instance, solution)
        if best is not None and not value.better_than(best):
            return None
        return Attempt(solution, value, states)

    def _final(self, dispatcher: Dispatcher, priority: int) -> list[Number]:
        """Return the levels up to what is preempted at the next priority: they will not change.

        Victims are of lower priority than what they are preempted for.
        """
        fleet = self.fleet
        lost = [0] * (MOST_PRIORITIES + 1)
        for v in dispatcher.preempt:
            lost[fleet.priority[v]] += fleet.jobs[v]
        gained: list[Number] = [0] * (MOST_PRIORITIES + 1)
        for ranked in self.order:
            if ranked.workload in dispatcher.start:
                gained[ranked.priority] += self.size[ranked.workload]
        pairs = zip(lost[1:], gained[1:], strict=True)
        levels = [level for pair in pairs for level in pair]
        return levels[: 2 * priority + 1]


def _compared(levels: Sequence[Number], best: Objective) -> int:
    """Return 1 if the first levels, preempted and started in turn, are better than the best's."""
    for i, (ours, theirs) in enumerate(zip(levels, best, strict=False)):
        if ours != theirs:
            return 1 if (ours < theirs) == (i % 2 == 0) else -1
    return 0


def _saved(dispatcher: Dispatcher) -> State:
    """Return a copy of the present state."""
    fleet = dispatcher.fleet
    failed = {key: list(entries) for key, entries in dispatcher.failed.items()}
    return State(
        fleet.free.copy(), fleet.running.copy(), failed,
        dict(dispatcher.start), list(dispatcher.preempt),
    )  # fmt: skip


def _restore(state: State, dispatcher: Dispatcher) -> None:
    """Return to a state."""
    fleet = dispatcher.fleet
    fleet.free[:], fleet.running[:] = state.free, state.running
    dispatcher.failed = {key: list(entries) for key, entries in state.failed.items()}
    dispatcher.start, dispatcher.preempt = dict(state.start), list(state.preempt)

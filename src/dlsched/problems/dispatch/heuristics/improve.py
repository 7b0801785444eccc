"""Improving MAST's result: a started workload leaves its region to one that waits."""

from __future__ import annotations

from collections.abc import Iterator

from dlsched.objective import Objective
from dlsched.problems.dispatch.definition.check import evaluate
from dlsched.problems.dispatch.definition.ranking import startable
from dlsched.problems.dispatch.definition.schema import Instance, Solution
from dlsched.problems.dispatch.heuristics.dispatcher import Dispatcher
from dlsched.problems.dispatch.structures.fleet import Fleet
from dlsched.run import Run

Change = frozenset[tuple[int, int]]
"""Pairs of a workload's position and a region in which it may not start."""

ROUNDS = 200
"""The most repetitions of `mast`, unless another number is asked for."""


def improve(instance: Instance, run: Run, rounds: int) -> Solution:
    """Return MAST's solution after changes that improve it, the first found at each step.

    A change keeps a workload out of a region that a waiting workload could use, or out of all of
    them, which lets lower ranks start.
    """
    fleet = Fleet(instance)
    free = fleet.free.copy()
    regions = [set(instance.regions_of(workload)) for workload in instance.pending]
    order = startable(instance)
    position = {ranked.workload: ranked.position for ranked in order}

    def attempt(banned: Change) -> tuple[Solution, Objective]:
        fleet.free[:] = free
        fleet.running[:] = True
        dispatcher = Dispatcher(fleet)
        for ranked in order:
            sites = fleet.sites_of(instance.pending[ranked.position])
            own = {r: s for r, s in sites.items() if (ranked.position, r) not in banned}
            plan = dispatcher.auction(ranked, own)
            if plan is not None:
                dispatcher.execute(ranked, plan)
        solution = dispatcher.solution()
        return solution, evaluate(instance, solution)

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
    best, value = attempt(banned)
    tried: set[Change] = {banned}
    improved = True
    while improved and len(tried) <= rounds:
        improved = False
        for change in changes(best):
            new = banned | {change}
            if new in tried:
                continue
            if run.stop_reason() or len(tried) > rounds:
                return best
            tried.add(new)
            other, worth = attempt(new)
            if worth.better_than(value):
                best, value, banned, improved = other, worth, new, True
                run.record(float(sum(value[1:14:2])), None)
                break
    return best

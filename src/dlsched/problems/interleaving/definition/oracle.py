"""Brute force for interleaving."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations, permutations

from dlsched.problems.interleaving.definition.check import efficiency, evaluate
from dlsched.problems.interleaving.definition.schema import Group, Instance
from dlsched.results.objective import Objective


def brute_force(instance: Instance) -> Objective | None:
    """Return the optimum over all partitions and offsets; ``None`` if none is feasible.

    For up to about ten jobs.
    """
    k = len(instance.resources)
    jobs = instance.jobs
    budget = instance.gpu_budget
    sizes = [k] if instance.grouping == "uniform" else range(1, instance.group_limit + 1)

    @cache
    def best_group(members: tuple[int, ...]) -> tuple[Fraction, tuple[int, ...]]:
        stages = [jobs[j].stages for j in members]
        arranged = permutations(range(k), len(members))
        return max((efficiency(stages, offsets), offsets) for offsets in arranged)

    @cache
    def best(
        rest: tuple[int, ...], gpus: int | None
    ) -> tuple[Fraction, tuple[tuple[int, ...], ...]] | None:
        if not rest:
            return Fraction(0), ()
        first = rest[0]
        others = rest[1:]
        size_of_class = jobs[first].gpus
        spare = None if gpus is None else gpus - size_of_class
        best_value = None
        for size in sizes if spare is None or spare >= 0 else ():
            for more in combinations(
                [j for j in others if jobs[j].gpus == size_of_class], size - 1
            ):
                tail = best(tuple(j for j in others if j not in more), spare)
                if tail is not None:
                    worth = best_group((first, *more))[0] * instance.weight(size_of_class)
                    value = (worth + tail[0], ((first, *more), *tail[1]))
                    best_value = (
                        value if best_value is None or value[0] > best_value[0] else best_value
                    )
        return best_value

    optimum = best(tuple(range(len(jobs))), budget)
    if optimum is None:
        return None
    groups = [
        Group(jobs=tuple(jobs[j].id for j in members), offsets=best_group(members)[1])
        for members in optimum[1]
    ]
    return evaluate(instance, groups)

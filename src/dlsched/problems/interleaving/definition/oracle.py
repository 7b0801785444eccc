"""Brute force for interleaving."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations
from typing import NamedTuple

from dlsched.problems.interleaving.definition.check import efficiency, evaluate
from dlsched.problems.interleaving.definition.schema import Group, Instance
from dlsched.results.objective import Objective

Members = tuple[int, ...]
"""Positions of a group's jobs, ascending."""


class _Grouping(NamedTuple):
    worth: Fraction
    groups: tuple[Members, ...]


def brute_force(instance: Instance) -> Objective | None:
    """Return the optimum over all partitions and offsets; ``None`` if none is feasible.

    For up to about ten jobs. With p the GPUs of the first of some jobs R, and w their weight,

        best(R, budget) = max over groups S of R with its first job:
                          w gamma(S) + best(R - S, budget - p).
    """

    @cache
    def arranged(members: Members) -> tuple[Fraction, Members]:
        """Return gamma at the best offsets, and these."""
        stages = [instance.jobs[j].stages for j in members]
        every = permutations(range(len(instance.resources)), len(members))
        return max((efficiency(stages, offsets), offsets) for offsets in every)

    @cache
    def best(rest: Members, budget: int | None) -> _Grouping | None:
        if not rest:
            return _Grouping(Fraction(0), ())
        gpus = instance.jobs[rest[0]].gpus
        spare = None if budget is None else budget - gpus
        if spare is not None and spare < 0:
            return None
        groupings = []
        for members in _groups_with_first(instance, rest):
            others = best(tuple(j for j in rest if j not in members), spare)
            if others is not None:
                worth = arranged(members)[0] * instance.weight(gpus)
                groupings.append(_Grouping(worth + others.worth, (members, *others.groups)))
        return max(groupings, key=lambda grouping: grouping.worth, default=None)

    optimum = best(tuple(range(len(instance.jobs))), instance.gpu_budget)
    if optimum is None:
        return None
    groups = [
        Group(jobs=tuple(instance.jobs[j].id for j in members), offsets=arranged(members)[1])
        for members in optimum.groups
    ]
    return evaluate(instance, groups)


def _groups_with_first(instance: Instance, jobs: Members) -> Iterator[Members]:
    """Yield the groups that the first of some jobs can be in."""
    first = jobs[0]
    alike = [j for j in jobs[1:] if instance.jobs[j].gpus == instance.jobs[first].gpus]
    for size in instance.group_sizes:
        for others in combinations(alike, size - 1):
            yield (first, *others)

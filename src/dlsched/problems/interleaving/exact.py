"""Exact methods for interleaving, and which of them suits an instance."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import TYPE_CHECKING

from dlsched.errors import OptionError
from dlsched.objective import Bound
from dlsched.problems.interleaving.groups import (
    GAMMA_ERROR,
    count_groups,
    pair_efficiencies,
    smallest_size,
    solution_of,
    stage_array,
    trivial_bound,
)
from dlsched.problems.interleaving.heuristics import start_groups
from dlsched.problems.interleaving.matching import SCALE, match
from dlsched.problems.interleaving.muri import improve
from dlsched.problems.interleaving.schema import Instance, Solution
from dlsched.registry import method
from dlsched.result import Claim, Start, Status
from dlsched.run import Run
from dlsched.solvers.levels import SOLVER_LIBRARIES

if TYPE_CHECKING:
    from dlsched.problems.interleaving.pool import Groups, Pool

MOST_MULTISETS = 1_000_000
"""`aggregated` looks through all multisets of profiles, and refuses to look through more."""
_FEW_MULTISETS = 300_000
"""Up to here looking through all is faster than searching by price: 48 profiles of one class."""


def choose(instance: Instance) -> str:
    """Return the exact method that suits an instance."""
    if _is_matching(instance):
        return "blossom"
    alike = len(instance.profiles) < len(instance.jobs) and multisets(instance) <= _FEW_MULTISETS
    return "aggregated" if alike else "column_generation"


@method("interleaving", kind="exact", preload=SOLVER_LIBRARIES)
def milp(instance: Instance, run: Run) -> Claim:
    """Integer program: set partitioning over every group, each at its best offsets.

    Exact because every allowed group is a column, and a grouping is a choice of columns that holds
    each job once (models/interleaving.md). Above 200,000 groups it refuses.
    """
    from dlsched.problems.interleaving import model
    from dlsched.solvers.levels import solve_levels

    return solve_levels(instance, run, model)


@method("interleaving", kind="exact")
def blossom(instance: Instance) -> Claim:
    """Maximum-weight matching, for two resources and uniform groups (section 4.1).

    Exact because the groups are then the edges of a perfect matching, all weights are positive, so
    that the heaviest matching is perfect, and Edmonds' algorithm finds it. It is run on few edges,
    and the assignment bound proves that those left out can be in no heavier matching.

    Raises
    ------
    OptionError
        If the groups are not pairs.
    """
    if not _is_matching(instance):
        raise OptionError(
            "blossom is exact for two resources and uniform groups only; use aggregated or "
            "column_generation, or the heuristic muri"
        )
    stages = stage_array(instance)
    groups: list[tuple[int, ...]] = []
    total = ceiling = rounded = Fraction(0)
    for gpus, jobs in instance.classes.items():
        found = match(pair_efficiencies(stages[list(jobs)]))
        groups += [(jobs[i], jobs[j]) for i, j in found.pairs.tolist()]
        weight = instance.weight(gpus)
        error = len(found.pairs) * (Fraction(GAMMA_ERROR) + Fraction(1, SCALE))
        total += weight * Fraction(found.weight, SCALE)
        rounded += weight * error
        ceiling += weight * (Fraction(found.ceiling + 1, SCALE) + error)
    return Claim(
        solution=solution_of(instance, groups, "blossom"),
        status=Status.OPTIMAL,
        reason="the heaviest matching",
        objective=[float(total)],
        bounds=[
            [
                Bound(min(ceiling, trivial_bound(instance)), "certified", "assignment potentials"),
                Bound(float(total + rounded), "claimed", "blossom"),
            ]
        ],
    )


@method("interleaving", kind="exact", preload=(".colgen", ".local"))
def aggregated(instance: Instance, run: Run, rounds: int = 200) -> Claim:
    """Set partitioning over multisets of profiles, all of them looked through.

    Exact because jobs of one profile are interchangeable, so that a grouping is worth what its
    multisets are, and any choice of multisets that uses each profile as often as it has jobs can
    be given jobs. The relaxation is solved by column generation over the list; groups further from
    its prices than the gap are in no better grouping, and the integer program decides the rest.

    Parameters
    ----------
    rounds
        Rounds of neighbourhood search without progress after which to give up.

    Raises
    ------
    OptionError
        If there are more than a million multisets.
    """
    from dlsched.problems.interleaving.pool import Enumerated

    count = multisets(instance)
    if count > MOST_MULTISETS:
        raise OptionError(
            f"{instance.name} has {count} multisets of profiles, the most is {MOST_MULTISETS}; "
            f"use column_generation"
        )
    return _search(instance, run, rounds, Enumerated, "aggregated")


@method("interleaving", kind="exact", preload=(".colgen", ".local"))
def column_generation(instance: Instance, run: Run, rounds: int = 200) -> Claim:
    """Column generation: exact pricing, a safe bound, then the groups that can still matter.

    Exact because pricing searches all groups, so that its largest reduced value proves the bound,
    and a group whose reduced value is further below that than the gap is in no better grouping. If
    the groups that are left are too many to decide, it returns the incumbent of a neighbourhood
    search, and the certified gap.

    Parameters
    ----------
    rounds
        Rounds of neighbourhood search without progress after which to give up.
    """
    from dlsched.problems.interleaving.pool import Pool

    return _search(instance, run, rounds, Pool, "column_generation")


def multisets(instance: Instance) -> int:
    """Return how many multisets of profiles there are at most."""
    sizes = [sum(p.gpus == gpus for p in instance.profiles) for gpus in instance.classes]
    return count_groups(sizes, smallest_size(instance), instance.group_limit, repeated=True)


def _is_matching(instance: Instance) -> bool:
    return instance.grouping == "uniform" and len(instance.resources) == 2


def _search(instance: Instance, run: Run, rounds: int, kind: type[Pool], name: str) -> Claim:
    from dlsched.problems.interleaving.colgen import Search

    if not instance.jobs:
        empty = solution_of(instance, [], name)
        bound = Bound(0, "certified", "there are no jobs")
        return Claim(empty, Status.OPTIMAL, "there are no jobs", [0], [[bound]])
    began = time.perf_counter()
    pool = kind(instance)
    search = Search(pool, run, name)
    built = time.perf_counter() - began
    first = start_groups(instance)
    if len(first) <= _MOST_SWAPPED:
        first = improve(instance, first, passes=20)
    search.offer(_groups_of(pool, instance, first))
    if isinstance(run.start, Solution):
        index = instance.job_index
        own = [tuple(index[job] for job in group.jobs) for group in run.start.groups]
        better = search.offer(_groups_of(pool, instance, own))
        search.start = Start(True, "the first incumbent" if better else "no better than swap's")
    search.solve(rounds)
    return search.claim(instance, built)


_MOST_SWAPPED = 400
"""The local search looks at every pair of groups: beyond this it takes seconds."""


def _groups_of(pool: Pool, instance: Instance, groups: list[tuple[int, ...]]) -> Groups:
    """Return groups of jobs as groups of their profiles."""
    row = {j: p for p, jobs in enumerate(instance.profiles.values()) for j in jobs}
    return pool.groups([[row[j] for j in group] for group in groups])

"""Exact methods for interleaving, and the bound that they prove."""

from collections.abc import Iterator
from fractions import Fraction

from dlsched.errors import OptionError
from dlsched.problems.interleaving import model
from dlsched.problems.interleaving.definition.schema import Instance
from dlsched.problems.interleaving.exact.group_columns import COLUMN_LIBRARIES, GroupSearch
from dlsched.problems.interleaving.heuristics import consecutive_groups, initial_groups
from dlsched.problems.interleaving.heuristics.matching import MATCHING_LIBRARIES, SCALE, match
from dlsched.problems.interleaving.heuristics.muri import improve
from dlsched.problems.interleaving.programs.column_pool import GroupPool
from dlsched.problems.interleaving.programs.columns import Groups
from dlsched.problems.interleaving.programs.tunables import TUNABLES
from dlsched.problems.interleaving.structures.group_counts import (
    MOST_MULTISETS,
    choose,
    count_multisets,
    is_matching,
)
from dlsched.problems.interleaving.structures.groups import (
    GAMMA_ERROR,
    pair_efficiencies,
    solution_of,
    stage_array,
    trivial_bound,
)
from dlsched.registry.own import method
from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Status
from dlsched.run import Run, Stage
from dlsched.solvers.arrays import Flags
from dlsched.solvers.incumbent import nothing_to_do
from dlsched.solvers.levels import SOLVER_LIBRARIES, solve_levels


@method("interleaving", kind="exact", preload=SOLVER_LIBRARIES)
def milp(instance: Instance, run: Run) -> Claim:
    """Integer program: set partitioning over every group, each at its best offsets.

    Exact because every allowed group is a column, and a grouping is a choice of columns with each
    job in exactly one (models/interleaving.md). Above 200,000 groups it refuses.
    """
    return solve_levels(instance, run, model)


@method("interleaving", kind="exact", preload=MATCHING_LIBRARIES)
def blossom(instance: Instance) -> Claim:
    """Maximum-weight matching, for two resources and uniform groups (section 4.1).

    Exact because the groups are then the edges of a perfect matching; all weights are positive, so
    a heaviest matching is perfect, and Edmonds' algorithm finds it. The algorithm gets few edges
    per node, and the assignment bound proves that no other edge is in a heavier matching.

    Raises
    ------
    OptionError
        If the groups are not pairs.
    """
    if not is_matching(instance):
        raise OptionError(
            "blossom is exact for two resources and uniform groups only; use aggregated or "
            "column_generation, or the heuristic muri"
        )
    stages = stage_array(instance)
    groups: list[tuple[int, ...]] = []
    total = ceiling = rounded = Fraction(0)
    for gpus, jobs in instance.classes.items():
        matching = match(pair_efficiencies(stages[list(jobs)]))
        groups += [(jobs[i], jobs[j]) for i, j in matching.pairs.tolist()]
        weight = instance.weight(gpus)
        error = len(matching.pairs) * (Fraction(GAMMA_ERROR) + Fraction(1, SCALE))
        total += weight * Fraction(matching.weight, SCALE)
        rounded += weight * error
        ceiling += weight * (Fraction(matching.ceiling + 1, SCALE) + error)
    certified = Bound(min(ceiling, trivial_bound(instance)), "certified", "assignment potentials")
    return Claim(
        solution=solution_of(instance, groups),
        status=Status.OPTIMAL,
        objective=[float(total)],
        bounds=[[certified, Bound(float(total + rounded), "claimed", "blossom")]],
    )


@method("interleaving", kind="exact", preload=COLUMN_LIBRARIES, begins_with="lagrangian")
def aggregated(instance: Instance, run: Run) -> Claim:
    """Set partitioning over multisets of profiles, all of them enumerated.

    Exact because jobs of one profile are interchangeable, so that a grouping is worth what its
    multisets are worth, and any choice of multisets that uses each profile as often as it has jobs
    is a grouping. The relaxation is solved by column generation over the list. A group whose
    reduced value is below the largest one by more than the gap is in no better grouping; the
    integer program over the others finds the optimum.

    Raises
    ------
    OptionError
        If there are more than a million multisets.
    """
    count = count_multisets(instance)
    if count > MOST_MULTISETS:
        raise OptionError(
            f"{instance.name} has {count} multisets of profiles, the most is {MOST_MULTISETS}; "
            f"use column_generation"
        )
    return search_groups(instance, run, listed=True)


@method("interleaving", kind="exact", preload=COLUMN_LIBRARIES, begins_with="lagrangian")
def column_generation(instance: Instance, run: Run) -> Claim:
    """Column generation: exact pricing, a safe bound, then the groups near the prices.

    Exact because pricing searches all groups, so that its largest reduced value proves the bound,
    and a group whose reduced value is below that by more than the gap is in no better grouping. If
    the groups that are left are too many for the integer program, the result is the incumbent of a
    neighbourhood search, and the certified gap.

    With many distinct jobs prices come from representatives and from heuristic pricing, and are
    raised for each job by its share of the groups above them, which a pass over all groups finds; a
    pass that is stopped proves a bound too (`exact_pass`).
    """
    return search_groups(instance, run)


def search_groups(
    instance: Instance, run: Run, listed: bool = False, apart: Flags | None = None
) -> Claim:
    """Solve as `aggregated` or `column_generation`; `listed` and `apart` are as in `GroupPool`."""
    if not instance.jobs:
        return nothing_to_do(solution_of(instance, []), "there are no jobs")
    run.announce(Stage.BUILDING, f"the table of groups of {instance.name}")
    pool = GroupPool(instance, listed, apart)
    search = GroupSearch(pool, run)

    def first() -> Iterator[Groups]:
        run.announce(Stage.SEARCHING, "a first grouping, by heuristics")
        groups = initial_groups(instance, run)
        if len(groups) <= TUNABLES.swapped_groups:
            groups = improve(instance, groups, TUNABLES.swap_passes, run, apart)
        yield pool.groups_of_jobs(groups)

    search.incumbent.begin(first, search.own)
    # The limit may have ended the heuristics before they were better than no search at all.
    search.incumbent.offer(pool.groups_of_jobs(consecutive_groups(instance)))
    run.announce(Stage.SEARCHING, "groups as columns")
    search.solve()
    return search.claim()


@method("interleaving", kind="bound", preload=COLUMN_LIBRARIES)
def lagrangian(instance: Instance, run: Run) -> Claim:
    """The least Lagrangian bound that column generation finds, proved by an exact pricing pass."""
    return bound_groups(instance, run, listed=choose(instance) == "aggregated")


def bound_groups(
    instance: Instance, run: Run, listed: bool = False, apart: Flags | None = None
) -> Claim:
    """Return the bound of `lagrangian`; `listed` and `apart` are as in `GroupPool`."""
    bounds = [Bound(0, "certified", "there are no jobs")]
    if instance.jobs:
        pool = GroupPool(instance, listed, apart)
        search = GroupSearch(pool, run)
        search.incumbent.offer(pool.groups_of_jobs(initial_groups(instance, run)))
        search.solve_relaxation(share=1.0)
        bounds = search.bounds()
    return Claim(status=Status.NO_SOLUTION, bounds=[bounds])

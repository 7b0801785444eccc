"""Bounds for interleaving."""

from __future__ import annotations

from dlsched.problems.interleaving.definition.schema import Instance
from dlsched.problems.interleaving.exact.group_columns import COLUMN_LIBRARIES, GroupSearch
from dlsched.problems.interleaving.heuristics import initial_groups
from dlsched.problems.interleaving.programs.column_pool import Pool
from dlsched.problems.interleaving.structures.group_counts import MOST_MULTISETS, count_multisets
from dlsched.problems.interleaving.structures.groups import Flags
from dlsched.registry.own import method
from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Status
from dlsched.run import Run


@method("interleaving", kind="bound", preload=COLUMN_LIBRARIES)
def lagrangian(instance: Instance, run: Run) -> Claim:
    """The least Lagrangian bound that column generation finds, proved by an exact pricing pass."""
    return bound_groups(instance, run, listed=count_multisets(instance) <= MOST_MULTISETS)


def bound_groups(
    instance: Instance, run: Run, listed: bool = False, apart: Flags | None = None
) -> Claim:
    """Return the bound of `lagrangian`; `listed` and `apart` are as in `Pool`."""
    bounds = [Bound(0, "certified", "there are no jobs")]
    if instance.jobs:
        pool = Pool(instance, listed, apart)
        search = GroupSearch(pool, run)
        search.incumbent.offer(pool.groups_of_jobs(initial_groups(instance, run)))
        search.solve_relaxation(share=1.0)
        bounds = search.bounds()
    return Claim(status=Status.NO_SOLUTION, bounds=[bounds])

"""Bounds for interleaving, and their re-check from prices alone."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from dlsched.problems.interleaving.definition.schema import Instance
from dlsched.problems.interleaving.exact.group_columns import COLUMN_LIBRARIES, GroupSearch
from dlsched.problems.interleaving.heuristics import initial_groups
from dlsched.problems.interleaving.programs.column_pool import Pool
from dlsched.problems.interleaving.programs.columns import Prices
from dlsched.problems.interleaving.structures.group_counts import (
    MOST_MULTISETS,
    count_multisets,
    few_jobs,
)
from dlsched.problems.interleaving.structures.groups import Flags, Vector
from dlsched.problems.interleaving.structures.tables import Query
from dlsched.registry.own import method
from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Status
from dlsched.run import Run


@method("interleaving", kind="bound", preload=COLUMN_LIBRARIES, small=few_jobs)
def lagrangian(instance: Instance, run: Run) -> Claim:
    """The least Lagrangian bound that column generation finds, proved by an exact pricing pass."""
    bounds = [Bound(0, "certified", "there are no jobs")]
    if instance.jobs:
        pool = Pool(instance, listed=count_multisets(instance) <= MOST_MULTISETS)
        search = GroupSearch(pool, run)
        search.update_incumbent(pool.groups_of_jobs(initial_groups(instance, run)))
        search.solve_relaxation(share=1.0)
        bounds = search.bounds()
    return Claim(status=Status.NO_SOLUTION, bounds=[bounds])


def bound_apart(instance: Instance, run: Run, apart: Flags) -> Claim:
    """Return the bound of `lagrangian` where pairs of jobs must not share; see `Pool`."""
    if not instance.jobs:
        return lagrangian(instance, run)
    pool = Pool(instance, apart=apart)
    search = GroupSearch(pool, run)
    search.update_incumbent(pool.groups_of_jobs(initial_groups(instance, run)))
    search.solve_relaxation(share=1.0)
    return Claim(status=Status.NO_SOLUTION, bounds=[search.bounds()])


def lagrangian_bound(
    instance: Instance, prices: Mapping[str, float], gpu_price: float = 0.0
) -> Fraction:
    """Return the bound that a price vector proves, by one exact pricing pass alone.

    For any prices a grouping is worth at most the prices of its jobs and GPUs plus the largest
    reduced values of its groups; see `pool.Pool.bound`, which states the rounding. The bound is at
    most `groups.trivial_bound`, that of full efficiency.

    Parameters
    ----------
    prices
        For each job any finite number; all jobs of one profile get the least of theirs.
    gpu_price
        Price of a GPU of the budget, at least 0.

    Raises
    ------
    ValueError
        If a price is missing or not finite, or the GPU price is negative.
    """
    pool = Pool(instance)
    price_of_job = np.array([prices.get(job.id, np.nan) for job in instance.jobs], dtype=float)
    rows: Vector = np.array([price_of_job[list(jobs)].min() for jobs in instance.profiles.values()])
    if not np.isfinite(rows).all() or not (np.isfinite(gpu_price) and gpu_price >= 0):
        raise ValueError("give every job a finite price, and GPUs a finite one from 0")
    gpu = float(gpu_price) if instance.gpu_budget is not None else 0.0
    given = Prices(rows, gpu).clipped()
    priced = pool.price(given, Query(-np.inf, 1, 1), Run())
    assert priced is not None
    return pool.bound(given, priced.highest)

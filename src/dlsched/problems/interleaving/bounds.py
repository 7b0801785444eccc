"""Bounds for interleaving, and their re-check from prices alone."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from dlsched.objective import Bound
from dlsched.problems.interleaving.exact import MOST_MULTISETS, multisets
from dlsched.problems.interleaving.groups import Vector
from dlsched.problems.interleaving.schema import Instance
from dlsched.registry import method
from dlsched.result import Claim, Status
from dlsched.run import Run


@method("interleaving", kind="bound", preload=(".colgen", ".local"))
def lagrange(instance: Instance, run: Run) -> Claim:
    """The best prices that column generation finds, each proved by one exact pricing pass."""
    from dlsched.problems.interleaving.colgen import Search
    from dlsched.problems.interleaving.exact import _groups_of
    from dlsched.problems.interleaving.heuristics import start_groups
    from dlsched.problems.interleaving.pool import Enumerated, Pool

    if not instance.jobs:
        bound = Bound(0, "certified", "there are no jobs")
        return Claim(status=Status.NO_SOLUTION, reason="bound only", bounds=[[bound]])
    pool = (Enumerated if multisets(instance) <= MOST_MULTISETS else Pool)(instance)
    search = Search(pool, run, "lagrange")
    search.offer(_groups_of(pool, instance, start_groups(instance)))
    search.relax(share=1.0)
    reason = run.stop_reason() or "bound only"
    return Claim(status=Status.NO_SOLUTION, reason=reason, bounds=[search.bounds()])


def priced_bound(
    instance: Instance, prices: Mapping[str, float], gpu_price: float = 0.0
) -> Fraction:
    """Return the bound that a price vector proves, by one exact pricing pass and nothing else.

    For any prices a grouping is worth at most what its jobs and GPUs cost plus what the groups'
    reduced values can add; see `pool.Pool.bound`, which states the rounding. It is never above what
    full efficiency would give (`groups.trivial_bound`).

    Parameters
    ----------
    prices
        For each job any finite number; jobs of one profile are given the lowest of theirs.
    gpu_price
        Price of a GPU of the budget, at least 0.

    Raises
    ------
    ValueError
        If a price is missing or not finite, or the GPU price is negative.
    """
    from dlsched.problems.interleaving.pool import Pool, Prices

    pool = Pool(instance)
    rows: Vector = np.array(
        [
            min(float(prices[instance.jobs[j].id]) for j in jobs)
            if all(instance.jobs[j].id in prices for j in jobs)
            else np.nan
            for jobs in instance.profiles.values()
        ]
    )
    if not np.isfinite(rows).all() or not (np.isfinite(gpu_price) and gpu_price >= 0):
        raise ValueError("give every job a finite price, and GPUs a finite one from 0")
    gpu = float(gpu_price) if instance.gpu_budget is not None else 0.0
    given = Prices(rows, gpu).limited()
    answer = pool.price(given, -np.inf, 1, 1, Run())
    assert answer is not None
    return pool.bound(given, answer.highest)

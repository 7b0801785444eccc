"""The model, the exact methods and their bounds: brute force, each other, scales, limits."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dlsched
from dlsched.problems.interleaving import Instance
from dlsched.testing import oracles, strategies
from drawing import drawn

HEURISTICS = ("muri", "muri_needed", "swap", "regroup", "greedy", "muri_worst_order")


def test_a_cover_with_few_profiles_is_proved() -> None:
    """300 jobs of 48 profiles under a budget are proved, and no heuristic is better."""
    instance = dlsched.generate(
        "interleaving", 1, jobs=300, grouping="cover", distinct=False, budget=0.25
    )
    best = dlsched.solve(instance)
    assert (best.method, best.status) == ("aggregated", "optimal")
    for rule in HEURISTICS:
        assert not dlsched.solve(instance, rule).objective.better_than(best.objective)


def test_many_distinct_jobs_have_the_same_optimum_and_bound() -> None:
    """With more than 150 profiles prices come from samples: the same, with any threads."""
    instance = dlsched.generate(
        "interleaving", 1, jobs=310, resources=2, grouping="cover", budget=0.2, gpus={1: 1.0}
    )
    listed = dlsched.solve(instance, "aggregated")
    for threads in (2, 1):
        priced = dlsched.solve(instance, "column_generation", threads=threads)
        assert priced.status == listed.status == "optimal"
        assert float(priced.objective[0]) == pytest.approx(float(listed.objective[0]), rel=1e-9)
        bounds = [float(r.certified[0].value) for r in (priced, listed)]
        assert bounds[0] == pytest.approx(bounds[1], rel=2e-6)
        assert min(bounds) >= float(listed.objective[0])


@pytest.mark.parametrize("limit", [1e-9, 1e-3, 0.05, 0.3, None])
def test_a_bound_of_many_jobs_wherever_the_limit_strikes(limit: float | None) -> None:
    """152 distinct jobs on four resources: no bound is below a grouping, or above 38."""
    instance = dlsched.generate("interleaving", 1, jobs=152)
    known = dlsched.solve(instance, "regroup").objective[0]
    bound = dlsched.solve(instance, "lagrangian", time_limit=limit).certified[0].value
    assert known <= bound <= 38
    assert limit is not None or bound <= known * Fraction(1002, 1000)


def test_no_progress_ends_the_search() -> None:
    """Where the integer program would be too large, the search ends after `rounds`, unproved."""
    instance = dlsched.generate("interleaving", 1, jobs=100)
    result = dlsched.solve(instance, "column_generation", rounds=1)
    assert (result.status, result.termination) == ("feasible", "iteration_limit")
    assert result.certified[0].value > result.objective[0]
    assert not dlsched.solve(instance, "swap").objective.better_than(result.objective)


@drawn(60, strategies.interleaving(max_jobs=8, max_resources=2))
def test_blossom_is_optimal_for_pairs(instance: Instance) -> None:
    """With two resources and uniform groups, matching is the optimum, as the paper says."""
    if instance.grouping != "uniform" or len(instance.resources) != 2:
        with pytest.raises(dlsched.OptionError, match="two resources"):
            dlsched.solve(instance, "blossom")
        return
    optimum = oracles.interleaving(instance)
    for method in ("blossom", "milp", "muri", "swap"):
        assert dlsched.solve(instance, method).objective == optimum

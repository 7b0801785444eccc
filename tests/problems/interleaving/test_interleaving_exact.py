"""The model, the exact methods and their bounds: brute force, each other, scales, limits."""

from fractions import Fraction

import pytest

import dlsched
from dlsched.problems.interleaving import Instance
from dlsched.testing import oracles, strategies
from drawing import drawn


@pytest.mark.parametrize("limit", [1e-9, 1e-3, 0.05, 0.3, None])
def test_a_bound_of_many_jobs_wherever_the_limit_strikes(limit: float | None) -> None:
    """No bound is below a grouping, or above 38; these 152 jobs differ from a model's by scale."""
    instance = dlsched.generate("interleaving", 1, jobs=152, noise=0.0)
    known = dlsched.solve(instance, "regroup").objective[0]
    bound = dlsched.solve(instance, "lagrangian", time_limit=limit).certified[0].value
    assert known <= bound <= 38
    assert limit is not None or bound <= known * Fraction(1002, 1000)


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

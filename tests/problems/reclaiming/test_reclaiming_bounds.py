"""The linear relaxation's bound: certified, on the grid, never above the optimum."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dlsched


@pytest.mark.parametrize("demand", [6, 15, 30])
def test_the_bound_is_certified_and_holds(demand: int) -> None:
    """At 60 servers it is a whole number, re-checked, and at most the optimum."""
    for seed in range(3):
        instance = dlsched.generate("reclaiming", seed, servers=60, demand=demand)
        bound = dlsched.bound(instance)
        assert bound.preempted.kind == "certified"
        assert Fraction(bound.preempted.value).denominator == 1
        assert bound.preempted.value <= dlsched.solve(instance).objective.preempted
        assert bound.collateral is None


def test_the_relaxation_is_rounded_up() -> None:
    """Figure 5: the relaxation's fraction of a job becomes the one job that must go."""
    assert dlsched.bound("lyra-fig5").preempted.value == 1


def test_a_bound_is_no_solution() -> None:
    """The method returns no servers, and says so."""
    result = dlsched.solve("lyra-fig5", "lp")
    assert (result.status, result.solution) == ("no solution", None)

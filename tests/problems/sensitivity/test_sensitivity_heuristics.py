"""TUNE, GREEDY and the baselines, step by step and in general."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import dlsched
from dlsched.problems.sensitivity import Instance
from dlsched.problems.sensitivity.generate import examples
from dlsched.problems.sensitivity.heuristics import best_case
from dlsched.testing import strategies


@given(strategies.sensitivity(max_jobs=6, max_servers=3))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_nobody_falls_below_the_proportional_share(instance: Instance) -> None:
    """With tune, greedy and drf every job is at least as fast as with its proportional share."""
    for rule in ("tune", "greedy", "drf"):
        result = dlsched.solve(instance, rule)
        if result.solution is None:
            assert not instance.allow_split or dlsched.solve(instance).status == "infeasible"
            continue
        for job in instance.jobs:
            given_ = result.solution.allocation[job.id]
            got = instance.profile(job).at(given_.cpus, given_.memory)
            assert got >= instance.proportional(job.profile).throughput


def test_best_case_is_the_least_that_saturates() -> None:
    """Of equally fast choices the one with fewest CPUs, then least memory, is the demand."""
    tables = examples()[0]
    demands = [best_case(tables, job)[:2] for job in tables.jobs]
    assert demands == [(5, 62.5), (5, 62.5), (1, 62.5), (1, 62.5)]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_order_of_the_rules(seed: int) -> None:
    """On generated clusters tune and drf are above proportional, and nobody above the optimum."""
    instance = dlsched.generate("sensitivity", seed, servers=16)
    best = dlsched.solve(instance).objective
    base = dlsched.solve(instance, "proportional").objective
    for rule in ("tune", "greedy", "drf"):
        found = dlsched.solve(instance, rule).objective
        assert found.better_than(base)
        assert not found.better_than(best)

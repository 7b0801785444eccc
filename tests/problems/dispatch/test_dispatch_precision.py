"""Data of many digits: nothing called optimal that is not, no bound beaten, nothing raised."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from dispatch_instances import instance, job, machines, tenant, waiting
from hostile import hostile

import dlsched
from dlsched.problems.dispatch import Instance
from dlsched.problems.dispatch.definition.oracle import brute_force
from dlsched.problems.dispatch.programs.block_program import Counts
from dlsched.problems.dispatch.structures.blocks import coarsest
from dlsched.results.objective import relative_gap

NINE_DIGITS = 2e-9
"""A solver's values are right to nine digits; so an optimum of two values closer than that may be
either."""


def cpu_jobs(cpus: list[float], count: int, have: Any) -> Instance:
    """Return one workload with jobs that need CPUs only, and one group of empty machines."""
    jobs = [job(f"j{j}", cpus=Fraction(repr(n)), memory=0) for j, n in enumerate(cpus)]
    return instance(
        [machines("m", 0, have, 0, count=count)],
        pending=[waiting("w", *jobs)],
        lowest_priority=1, cpu_weight=1, tenants=[tenant(cpus=10**9)],
    )  # fmt: skip


THREE, NEARLY = 3.000000000299999, 2.999999999999999


@pytest.mark.parametrize("method", ["milp", "classes"])
@pytest.mark.parametrize(
    ("cpus", "count", "have"),
    [
        ([THREE, NEARLY], 2, 4),
        ([THREE, NEARLY], 1, Fraction("6.000000000299998")),
        ([THREE, NEARLY], 1, Fraction("6.000000000299997")),
        ([2.969969517132217, 3.134769781556], 1, Fraction("6.104739298688217")),
        ([2.969969517132217, 3.134769781556], 2, Fraction("3.134769781556")),
        ([1.0000000000000002, 1.0], 2, 2),
    ],
)
def test_jobs_that_just_fit(method: str, cpus: list[float], count: int, have: Any) -> None:
    """Jobs start exactly if they fit, and the optimum is proved."""
    instance = cpu_jobs(cpus, count, have)
    result = dlsched.solve(instance, method)
    assert result.status == "optimal" and result.objective == brute_force(instance)


def require_truth(instance: Instance, methods: tuple[str, ...]) -> None:
    """Fail if a method's answer differs from brute force in what it states."""
    best = brute_force(instance)
    for method in methods:
        result = dlsched.solve(instance, method)
        assert result.objective is None or not result.objective.better_than(best)
        if result.status == "optimal":
            pairs = zip(result.objective, best, strict=True)
            first = next(((a, b) for a, b in pairs if a != b), (0, 0))
            assert relative_gap(*first) <= NINE_DIGITS, (method, first)
            assert first[0] == first[1] or "proved optimal within" in result.reason
        for (level, bound), value in zip(result.bound.pairs(), best, strict=True):
            assert bound is None or not level.better(value, bound.value), (method, level, bound)
            if bound is None or bound.value != value:
                break


def test_the_reason_says_to_which_precision() -> None:
    """An optimum that the solver's bound leaves open in the tenth digit is not just "proved"."""
    data = cpu_jobs([3.0000000000001], 1, 4).to_data()
    data["pending"].append(waiting("v", job("j0", cpus=3, memory=0)))
    both = Instance.parse(data, "the test")
    require_truth(both, ("milp", "classes"))
    result = dlsched.solve(both, "classes")
    exactly = result.bound.started_1.value == result.objective.started_1
    assert exactly or "of started_1: smaller differences are beyond" in result.reason


@pytest.mark.parametrize(
    "seed", [*range(12), *(pytest.param(n, marks=pytest.mark.slow) for n in range(100, 700))]
)
def test_hostile_draws(seed: int) -> None:
    """The exact methods, the bounds and `counted`, against brute force."""
    methods = ("milp", "classes", "lp", "aggregated", "counted")
    instance = hostile(seed)
    require_truth(instance, (*methods, "clusters") if instance.scope == "one" else methods)


def test_most_hostile_draws_are_proved() -> None:
    """Exact rows leave few instances that the solver's precision does not decide."""
    proved = [dlsched.solve(hostile(seed, "batch"), "classes").status for seed in range(20, 40)]
    assert proved.count("optimal") >= 18


def test_rows_for_solvers_are_small() -> None:
    """No row of the model or of the counts has integers that a solver's tolerances mistake."""
    for seed in range(30):
        instance = hostile(seed)
        fleet, ranking, victims, blocks = coarsest(instance)
        for _, _, a in Counts(fleet, ranking, victims, blocks).cells:
            assert abs(a) <= 2**20
        for row in dlsched.model(instance).DIGITS.values():
            assert all(abs(a) <= 2**20 for digit in row for a in digit.cells.values())

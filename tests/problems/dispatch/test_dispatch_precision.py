"""Data of many digits: nothing called optimal that is not, no bound beaten, nothing raised."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
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


def cpu_jobs(cpus: list[float], machines: dict[str, Any], tasks: int = 1) -> Instance:
    """Return one workload with jobs that need CPUs only, and one group of empty machines."""
    jobs = [
        {"id": f"j{j}", "tasks": tasks, "cpus": Fraction(repr(each)), "memory": 0}
        for j, each in enumerate(cpus)
    ]
    group = {"id": "m", "memory": 0} | machines
    return Instance(
        name="cpus",
        lowest_priority=1,
        cpu_weight=1,
        regions=[{"id": "r", "clusters": [{"id": "c", "machines": [group]}]}],
        tenants=[{"id": "t", "priority": 1, "gpu_quota": 9, "cpu_quota": 10**9}],
        pending=[{"id": "w", "tenant": "t", "age": 0, "jobs": jobs}],
    )


THREE, NEARLY = 3.000000000299999, 2.999999999999999


@pytest.mark.parametrize("method", ["milp", "classes"])
@pytest.mark.parametrize(
    ("cpus", "machines"),
    [
        ([THREE, NEARLY], {"count": 2, "cpus": 4}),
        ([THREE, NEARLY], {"count": 1, "cpus": Fraction("6.000000000299998")}),
        ([THREE, NEARLY], {"count": 1, "cpus": Fraction("6.000000000299997")}),
        ([2.969969517132217, 3.134769781556], {"count": 1, "cpus": Fraction("6.104739298688217")}),
        ([2.969969517132217, 3.134769781556], {"count": 2, "cpus": Fraction("3.134769781556")}),
        ([1.0000000000000002, 1.0], {"count": 2, "cpus": 2}),
    ],
)
def test_jobs_that_just_fit(method: str, cpus: list[float], machines: dict[str, Any]) -> None:
    """Jobs start exactly if they fit, and the optimum is proved."""
    instance = cpu_jobs(cpus, machines)
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
    instance = cpu_jobs([3.0000000000001], {"count": 1, "cpus": 4}, tasks=1)
    waiting = instance.pending[0]
    other = waiting.jobs[0].model_copy(update={"cpus": 3})
    second = waiting.model_copy(update={"id": "v", "jobs": (other,)})
    both = Instance.model_validate(
        instance.model_copy(update={"pending": (waiting, second)}).to_data()
    )
    require_truth(both, ("milp", "classes"))
    result = dlsched.solve(both, "classes")
    exactly = result.bound.started_1.value == result.objective.started_1
    assert exactly or "of started_1: smaller differences are beyond" in result.reason


@pytest.mark.parametrize("seed", range(12))
def test_hostile_draws(seed: int) -> None:
    """The exact methods and the bounds, against brute force."""
    require_truth(hostile(seed), ("milp", "classes", "lp", "aggregated"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 700))
def test_more_hostile_draws(seed: int) -> None:
    """The same, with the method for the scope one, too."""
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
        for _, _, a in Counts(coarsest(instance)).cells:
            assert abs(a) <= 2**20
        for row in dlsched.model(instance).DIGITS.values():
            assert all(abs(a) <= 2**20 for digit in row for a in digit.cells.values())

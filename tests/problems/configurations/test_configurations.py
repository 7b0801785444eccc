"""Optima by hand, the public code's numbers, proofs; reports.txt has the definition."""

from fractions import Fraction
from typing import Any

import pytest
from changed_documents import documents

import dlsched

INSTANCE: dict[str, Any] = documents("configurations")["instance"]


def test_a_power_above_0_is_maximised() -> None:
    """Goodput counts as it is, with its sign changed, and waiting as before."""
    assert dlsched.solve(INSTANCE | {"power": 1}).objective == (Fraction(-15), 1)  # 2 + 4 + 9


def test_gpus_on_different_nodes_are_no_configuration() -> None:
    """Three jobs of 4 GPUs have 12, but not on two nodes of 6."""
    jobs = [{"id": name, "model": "m"} for name in "xyz"]
    best = dlsched.solve(INSTANCE | {"jobs": jobs})
    assert sorted(best.solution.configurations.values()) == ["a1", "a4", "a4"]


def test_the_public_code_has_no_factor_on_another_type() -> None:
    """A move to another type has the factor in the text, and none in the scheduler's code."""
    models = [{"id": "m", "goodput": {"a1": 1, "a4": 4, "b2": 4}}]
    jobs = [{"id": "x", "model": "m", "age": 90, "restarts": 1, "present": "a1"}]
    small = INSTANCE | {"models": models, "jobs": jobs, "power": -1}
    assert dlsched.solve(small).objective == (Fraction("0.5"), 1)
    moved = dlsched.solve(small, "sia_public").solution
    assert moved.configurations == {"x": "b2"}  # 1/4 + .02 there; on its type 1/2 + .02


def test_two_decimals_hide_what_is_better() -> None:
    """Costs of .707 and .711 are both .71: then the public program keeps what has no change."""
    models = [{"id": "m", "goodput": {"a1": 1, "a4": 1.98, "b2": 2}, "restart_seconds": 0}]
    jobs = [{"id": "x", "model": "m", "age": 90, "present": "a4"}]
    small = INSTANCE | {"models": models, "jobs": jobs}
    assert dlsched.solve(small).solution.configurations == {"x": "b2"}
    assert dlsched.solve(small, "sia_public").solution.configurations == {"x": "a4"}


@pytest.mark.parametrize("method", ["sia", "max_min"])
def test_costs_that_the_solver_refuses_are_solved(method: str) -> None:
    """Goodputs of 1e-9 and 1e15 samples per second have costs of -1 and -1e48."""
    models = [{"id": "m", "goodput": {"a1": 1e-9, "a4": 1e15, "b1": 3}}]
    jobs = [{"id": name, "model": "m"} for name in "xyz"]
    result = dlsched.solve(INSTANCE | {"models": models, "jobs": jobs, "power": 2}, method)
    chosen = [*result.solution.configurations.values()]
    assert len(chosen) == 3
    assert chosen.count("a4") == (2 if method == "sia" else 1)


def test_the_first_rounds_of_the_cluster_are_proved() -> None:
    """The optimum on Sia's 64 GPUs is proved exactly, at both levels."""
    instance = dlsched.load("configurations-64-philly")
    proof = dlsched.prove(instance, dlsched.solve(instance).solution)
    assert [level.kind for level in proof.levels] == ["certified", "certified"]


@pytest.mark.parametrize("seed", range(5))
def test_a_round_of_2048_gpus_is_solved(seed: int) -> None:
    """1,000 jobs are at the optimum, which is within 1e-4 of the bound of the prices."""
    best = dlsched.solve(dlsched.generate("configurations", seed, jobs=1000, scale=32))
    bound = best.certified.cost
    assert best.status == "optimal" and best.objective is not None and bound is not None
    assert bound.value <= best.objective.cost <= bound.value * Fraction("1.0001")


@pytest.mark.parametrize("penalty", [10**12, 123456789012345])
def test_costs_that_doubles_do_not_hold_are_not_called_optimal(penalty: int) -> None:
    """Three jobs that wait cost 3e12: a difference of a billionth is beyond the solver."""
    jobs = [{"id": f"j{i}", "model": "n", "age": i} for i in range(6)]
    result = dlsched.solve(INSTANCE | {"penalty": penalty, "jobs": jobs})
    assert result.bound is not None
    exact = result.bound[0] is not None and result.bound[0].value == result.objective.cost
    assert exact or (result.status, str(result.termination)) == ("feasible", "tolerances")

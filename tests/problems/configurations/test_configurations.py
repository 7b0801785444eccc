"""The definition by hand: costs, factors, nodes; the public code's numbers; refused files."""

from fractions import Fraction
from typing import Any

import pytest

import dlsched
from dlsched import InstanceError
from dlsched.problems.configurations import Instance

HEAD = {"dlsched": 1, "problem": "configurations"}
INSTANCE: dict[str, Any] = HEAD | {
    "name": "hand",
    "types": [
        {"id": "a", "nodes": 2, "gpus_per_node": 6},
        {"id": "b", "nodes": 1, "gpus_per_node": 2},
    ],
    "configurations": [
        {"id": "a1", "type": "a", "gpus": 1},
        {"id": "a4", "type": "a", "gpus": 4},
        {"id": "a12", "type": "a", "nodes": 2, "gpus": 12},
        {"id": "b1", "type": "b", "gpus": 1},
        {"id": "b2", "type": "b", "gpus": 2},
    ],
    "models": [
        {"id": "m", "goodput": {"a1": 2, "a4": 8, "a12": 18, "b1": 0}},
        {"id": "n", "goodput": {"a1": 3, "a4": 12, "b2": 27}, "restart_seconds": 20},
    ],
    "jobs": [
        {"id": "x", "model": "m", "age": 90, "restarts": 1, "present": "a1"},
        {"id": "y", "model": "n", "age": 100},
        {"id": "z", "model": "n", "age": 5, "restarts": 2, "present": "b2"},
    ],
}
# x with a4: (90 - 30) / (90 + 30) = 1/2 of 8/2 is 2; y with b2: 27/3 = 9; z elsewhere: 5 - 40 < 0.


def verify(configurations: dict[str, str], **changes: Any) -> dlsched.Report:
    """Check configurations of the instance with some fields changed."""
    solution = HEAD | {"instance": "hand", "configurations": configurations}
    return dlsched.verify(INSTANCE | changes, solution)


@pytest.mark.parametrize(
    ("given", "cost", "moved"),
    [
        ({}, "3.3", 2),
        ({"x": "a1", "z": "b2"}, "2.433333333", 0),  # 1 + 1.1 + 1/3
        ({"x": "a4", "y": "b2"}, "2.140440114", 2),  # 2^-.5 + 1/3 + 1.1
        ({"x": "a12", "z": "b2"}, "1.904737854", 1),  # 4.5^-.5 + 1.1 + 1/3
        ({"x": "a4", "y": "a4", "z": "b2"}, "1.540440114", 1),
    ],
)
def test_costs_are_those_by_hand(given: dict[str, str], cost: str, moved: int) -> None:
    """A restart's factor is on all but the present configuration; who waits costs 1.1."""
    report = verify(given)
    assert report.feasible
    assert report.objective is not None
    assert tuple(report.objective) == (Fraction(cost), moved)


def test_a_power_above_0_is_maximised() -> None:
    """Goodput counts as it is, with its sign changed, and waiting as before."""
    report = verify({"x": "a4", "z": "b2"}, power=1)
    assert report.objective is not None
    assert report.objective.cost == Fraction("-9.9")  # - 2 - 9 + 1.1
    assert dlsched.solve(INSTANCE | {"power": 1}).objective == (Fraction(-15), 1)  # 2 + 4 + 9


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"w": "a1"}, "unknown_job"),
        ({"x": "c"}, "unknown_configuration"),
        ({"x": "b1"}, "unusable"),  # its goodput is 0
        ({"x": "b2"}, "unusable"),  # none is stated
        ({"z": "a1"}, "unusable"),  # its factor is 0
        ({"x": "a12", "y": "a1"}, "over_capacity"),
    ],
)
def test_each_violation_has_its_kind(given: dict[str, str], kind: str) -> None:
    """What is wrong is said under its own name."""
    assert [violation.kind for violation in verify(given).violations] == [kind]


def test_gpus_on_different_nodes_are_no_configuration() -> None:
    """Three jobs of 4 GPUs have 12, but not on two nodes of 6."""
    jobs = [{"id": name, "model": "m"} for name in "xyz"]
    report = verify(dict.fromkeys("xyz", "a4"), jobs=jobs)
    assert [violation.kind for violation in report.violations] == ["unplaceable"]
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


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"power": 0}, "power"),
        ({"penalty": 0.1234567891}, "penalty"),
        ({"configurations": [{"id": "a", "type": "a", "gpus": 3}]}, "configurations[0].gpus"),
        ({"configurations": [{"id": "a", "type": "c", "gpus": 1}]}, "configurations[0].type"),
        ({"models": [{"id": "m", "goodput": {"c": 1}}]}, "models[0].goodput.c"),
        ({"jobs": [{"id": "x", "model": "o"}]}, "jobs[0].model"),
        ({"jobs": [{"id": "x", "model": "m", "present": "b1"}]}, "jobs[0].present"),
    ],
)
def test_a_wrong_entry_is_named(change: dict[str, Any], path: str) -> None:
    """The error has the place of what is wrong."""
    with pytest.raises(InstanceError) as error:
        Instance.parse(INSTANCE | change, "it")
    assert error.value.path == path


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

"""Exact methods, bounds and heuristics of sensitivity on numbers far apart, or nearly equal."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dlsched
from dlsched.problems.sensitivity import Instance
from dlsched.testing import oracles
from sensitivity_instances import by_cpus, profile
from sensitivity_instances import instance as made_of

METHODS = ("patterns", "milp", "pooled", "price_round", "tune")


def one_server(cpus: Any, axis: list[Any], throughput: list[Any], jobs: int = 2) -> Instance:
    """Return one server of two GPUs and jobs of one GPU with these choices."""
    profiles = {"p": profile(1, axis, [1], [[value] for value in throughput])}
    return made_of((1, 2, cpus, 2), profiles, ["p"] * jobs)


def examine(instance: Instance, method: str) -> None:
    """Assert that a method says nothing false, with brute force as the truth."""
    optimum = oracles.sensitivity(instance)
    assert optimum is not None
    result = dlsched.solve(instance, method)
    for bounds in (result.bound, result.certified):
        if bounds[0] is not None:
            assert bounds[0].value >= optimum[0]
    if result.status == "optimal":
        exact = tuple(result.objective) == tuple(optimum)
        assert exact or (result.gap[0] <= 1e-6 and "optimal within" in result.reason)


@pytest.mark.parametrize("digits", [9, 12, 15])
def test_amounts_that_just_do_not_fit(digits: int) -> None:
    """Two jobs with half of the CPUs and a little more do not fit, whatever a solver tolerates."""
    # milp returned such points, and the checker refused them.
    much = Fraction(1) + Fraction(1, 10**digits)
    instance = one_server(2, [Fraction(1, 2), 1, much], [2, 2, 4])
    for method in METHODS:
        examine(instance, method)
    assert dlsched.solve(instance).objective[0] == 6


def test_throughputs_that_differ_in_the_last_digits() -> None:
    """A tie up to 13 digits: the better one, exactly or with the precision in the reason."""
    better = 1 + Fraction(1, 10**13)
    instance = one_server(2, [1], [better])
    assert dlsched.solve(instance).objective[0] == 2 * better
    for method in ("patterns", "milp"):
        examine(
            one_server(4, [1, 2], [better, 1 + 2 * (better - 1)], jobs=3).model_copy(
                update={"may_wait": True}
            ),
            method,
        )


def test_throughputs_far_apart() -> None:
    """A job at 1e15 beside one at 1e-300: found, and either proved or left with a stated gap."""
    profiles = {name: by_cpus(t, 2 * t) for name, t in (("large", 10**14), ("small", 1e-300))}
    instance = made_of((1, 2, 2, 2), profiles, profiles)
    result = dlsched.solve(instance)
    assert result.objective[0] == 10**14 + Fraction("1e-300")
    assert result.certified[0].value >= result.objective[0]
    assert result.gap[0] < 1e-10


def test_throughputs_with_many_digits() -> None:
    """Costs of 17 digits are rounded for the solver: optimal, with the remaining gap."""
    # If the largest throughput cannot be attained, the gap may be larger than 1e-9, and the status
    # is not optimal.
    rng = np.random.default_rng(7)
    for large in [1.0] * 15 + [1e15] * 15:
        table = [0.1, 0.3, rng.uniform(0.4, 2), large * rng.uniform(2, 3) / 3]
        profiles = {f"p{gpus}": by_cpus(*table, gpus=gpus) for gpus in (1, 2)}
        instance = made_of((2, 2, 4, 2), profiles, ["p1", "p1", "p2"], allow_split=False)
        optimum = oracles.sensitivity(instance)
        result = dlsched.solve(instance)
        assert result.objective == optimum
        assert result.bound[0].value >= optimum[0]
        assert (result.status == "optimal") == (result.gap[0] <= 1e-9)
        assert (result.termination == "tolerances") == (result.status == "feasible")
        assert dlsched.solve(instance, "pooled").bound[0].value >= optimum[0]


@pytest.mark.parametrize("name", ["price_round", "patterns"])
@pytest.mark.parametrize("small", [1e-300, 3e-320])
def test_throughputs_that_are_far_apart(name: str, small: float) -> None:
    """1e12 beside 1e-300 and beside 3e-320: multiples of the granularity are no doubles."""
    profiles = {"small": by_cpus(small), "large": by_cpus(10**12)}
    made = made_of((1, 2, 2, 2), profiles, ["small", "large"])
    result = dlsched.solve(made, name)
    assert result.objective[0] == oracles.sensitivity(made)[0]
    assert result.bound[0] is None or result.bound[0].value >= result.objective[0]


def test_throughputs_that_no_job_can_have() -> None:
    """Two jobs of 8e-11 each, which would have 3e11 with 6 GB a GPU, on servers of 2 GB a GPU."""
    # What the solver says of the pooled cluster is known to 1e-9 of the largest throughput only.
    table = [[0, 0], [8e-11, 3e11], [400, 4]]
    made = made_of((2, 4, 16, 8), {"p": profile(4, [3, 4, 7], [2, 6], table)}, ["p", "p"])
    optimum = oracles.sensitivity(made)
    assert optimum is not None and optimum[0] == Fraction(16, 10**11)
    assert dlsched.solve(made, "patterns").bound[0].value >= optimum[0]


@pytest.mark.parametrize(
    ("servers", "cpus", "memory", "throughput"),
    [
        ((2, 3, 6, 3), [1, 2], [1], [[1e-300], [1e15]]),
        ((2, 4, 1e15, 4), [1e-300, 2.5e14], [1], [[1], [2]]),
        ((2, 4, 4, 1e15), [1], [1e-300, 2.5e14], [[1, 2]]),
    ],
)
def test_values_far_apart(servers: Any, cpus: Any, memory: Any, throughput: Any) -> None:
    """1e-300 beside 1e15 in one instance: every heuristic gives all jobs full throughput."""
    made = made_of(servers, {"p": profile(2, cpus, memory, throughput)}, ["p", "p"])
    most = 2 * max(max(row) for row in throughput)
    for name in ("tune", "tune_public", "proportional", "greedy", "drf", "tetris"):
        assert dlsched.solve(made, name).objective[0] == most

"""Exact methods and bounds of sensitivity on numbers far apart, with many digits, nearly equal."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sensitivity_instances import by_cpus, profile
from sensitivity_instances import instance as made_of

import dlsched
from dlsched.problems.sensitivity import Instance, model
from dlsched.problems.sensitivity.definition.oracle import brute_force
from dlsched.problems.sensitivity.structures import server_patterns

METHODS = ("patterns", "milp", "pooled", "price_round", "tune")


def one_server(cpus: Any, axis: list[Any], throughput: list[Any], jobs: int = 2) -> Instance:
    """Return one server of two GPUs and jobs of one GPU with these choices."""
    profiles = {"p": profile(1, axis, [1], [[value] for value in throughput])}
    return made_of((1, 2, cpus, 2), profiles, ["p"] * jobs)


def drawn(rng: random.Random) -> Instance:
    """Return an instance whose amounts and throughputs each have two units and a kind of digits."""
    gpus = rng.choice([1, 2, 2, 3])

    def factor(kind: str) -> Fraction:
        if kind == "digits":
            return Fraction(repr(rng.uniform(0.5, 4)))
        if kind == "near":
            return 1 + Fraction(rng.choice([-1, 0, 1]), 10 ** rng.choice([9, 12, 15]))
        return Fraction(rng.choice([1, 1, 2, 3]))

    def number(value: Fraction) -> Fraction:
        return Fraction(repr(float(min(value, Fraction(10**15)))))

    def axis(unit: Fraction, kind: str) -> tuple[Fraction, list[Fraction]]:
        """Return a server's amount, and the axis with the share of a GPU."""
        share = number(unit * factor("" if kind == "digits" else kind))
        total = number(share * gpus)
        share = total / gpus
        steps = {share}
        for _ in range(rng.randint(0, 2)):
            steps.add(number(share * factor(kind) * rng.choice([1, 2, Fraction(1, 2)])))
        return total, sorted(steps)

    units = [Fraction(10) ** rng.choice([-9, -3, 0, 0, 3, 9, 14]) for _ in range(4)]
    kinds = [rng.choice(["digits", "near", "ties"]) for _ in range(3)]
    (cpus, rows), (memory, columns) = axis(units[0], kinds[0]), axis(units[1], kinds[1])
    profiles = {}
    for name in ("p", "q"):
        table = [
            [
                number(rng.choice(units[2:]) * factor(kinds[2]) * (1 + r + c))
                for c in range(len(columns))
            ]
            for r in range(len(rows))
        ]
        least = min(value for row in table for value in row)
        table[rows.index(cpus / gpus)][columns.index(memory / gpus)] = least
        profiles[name] = profile(rng.randint(1, gpus), rows, columns, table)
    return Instance(
        name="hostile",
        servers={"count": rng.randint(1, 2), "gpus": gpus, "cpus": cpus, "memory": memory},
        allow_split=rng.random() < 0.5,
        may_wait=True,
        profiles=profiles,
        jobs=[{"id": f"j{k}", "profile": rng.choice("pq")} for k in range(rng.randint(1, 4))],
    )


def examine(instance: Instance, method: str) -> None:
    """Assert that a method says nothing false, with brute force as the truth."""
    optimum = brute_force(instance)
    assert optimum is not None
    result = dlsched.solve(instance, method)
    for bounds in (result.bound, result.certified):
        if bounds[0] is not None:
            assert bounds[0].value >= optimum[0]
    if result.status == "optimal":
        exact = tuple(result.objective) == tuple(optimum)
        assert exact or (result.gap[0] <= 1e-6 and "optimal within" in result.reason)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 250), marks=pytest.mark.slow)])
def test_nothing_false_is_said_of_hostile_numbers(method: str, seeds: range) -> None:
    """No bound is beaten, no optimum is false, and no disagreement is raised."""
    for seed in seeds:
        rng = random.Random(seed)
        instance = None
        while instance is None:
            try:
                instance = drawn(rng)
            except (dlsched.InstanceError, ValueError):
                continue  # a share that is no double
        examine(instance, method)


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
        optimum = brute_force(instance)
        result = dlsched.solve(instance)
        assert result.objective == optimum
        assert result.bound[0].value >= optimum[0]
        assert (result.status == "optimal") == (result.gap[0] <= 1e-9)
        assert (result.termination == "tolerances") == (result.status == "feasible")
        assert dlsched.solve(instance, "pooled").bound[0].value >= optimum[0]


def test_too_many_sums_are_left_to_another_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a server's table would be too large, milp is used, or heuristics and the pooled bound."""
    instance = dlsched.generate("sensitivity", 1, servers=2)
    best = dlsched.solve(instance).objective
    monkeypatch.setattr(server_patterns, "MOST_STATES", 10)
    assert dlsched.solve(instance).objective == best
    monkeypatch.setattr(model, "MOST_VARIABLES", 10)
    result = dlsched.solve(instance)
    assert (result.status, result.termination) == ("feasible", "undecided")
    assert not dlsched.solve(instance, "tune_public").objective.better_than(result.objective)
    assert "table would have" in result.reason
    assert result.certified[0].value >= best[0]

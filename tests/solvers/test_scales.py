"""Optima are found for costs of any size, in spite of solvers' absolute tolerances."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

import dlsched
from dlsched.problems import elastic, reclaiming
from dlsched.testing import oracles

SCALES = ["1e-12", "1e-9", "1e-6", "1e6", "1e9"]


def many_digits(draw: random.Random) -> Fraction:
    """Return a number from 1 to 10 with fourteen digits, so that the granularity is of no use."""
    return Fraction(draw.randint(10**13, 10**14), 10**13)


def fleet(seed: int, weights: Any) -> reclaiming.Instance:
    """Return six servers and six jobs on them, with weights drawn by `weights(random)`."""
    draw = random.Random(seed)
    jobs = []
    for j in range(6):
        weight = weights(draw)
        held = draw.sample(range(6), draw.randint(1, 3))
        workers = [{"server": f"s{s}", "gpus": 1} for s in held]
        jobs.append({"id": f"j{j}", "weight": weight, "workers": workers})
    servers = [{"id": f"s{s}", "gpus": 8} for s in range(6)]
    return reclaiming.Instance(name="fleet", demand=draw.randint(1, 4), servers=servers, jobs=jobs)


def queue(seed: int, times: Any) -> elastic.Instance:
    """Return four jobs with tables of running times drawn by `times(random)`."""
    draw = random.Random(seed)
    jobs = []
    for j in range(4):
        least, choices = draw.randint(1, 2), draw.randint(1, 3)
        jobs.append(
            {
                "id": f"j{j}",
                "gpus_per_worker": draw.randint(1, 3),
                "min_workers": least,
                "max_workers": least + choices - 1,
                "running": draw.random() < 0.3,
                "running_times": [times(draw) for _ in range(choices)],
            }
        )
    return elastic.Instance(name="queue", capacity=draw.randint(2, 12), jobs=jobs)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("make", [fleet, queue])
def test_milp_finds_the_optimum_at_every_scale(make: Any, scale: str) -> None:
    """With costs multiplied by 1e-12 to 1e9, the optimum of the brute force is proved."""
    for seed in range(6):
        instance = make(seed, lambda draw: many_digits(draw) * Fraction(scale))
        best = getattr(oracles, instance.problem)(instance)
        result = dlsched.solve(instance, "milp")
        assert result.status == "optimal" and result.objective == best, (seed, result)
        assert all(g is not None and g <= 2e-9 for g in result.gap), (seed, result.gap)


@pytest.mark.parametrize("make", [fleet, queue])
def test_costs_far_apart(make: Any) -> None:
    """With costs from 1e-9 to 1e9 in one level, the bounds hold and a gap of 0 is an optimum."""
    for seed in range(15):
        instance = make(seed, lambda draw: draw.randint(1, 9) * Fraction(10) ** draw.randint(-9, 9))
        best = getattr(oracles, instance.problem)(instance)
        result = dlsched.solve(instance, "milp")
        for (level, bound), optimum in zip(result.bound.pairs(), best, strict=True):
            if bound is None or bound.value != optimum:
                assert bound is None or not level.better(optimum, bound.value), (seed, level)
                break
        if result.gap == (0, 0):
            assert result.objective == best, seed

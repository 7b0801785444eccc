"""Jobs that all require something else: optimum, size, bounds, over many orders of magnitude."""

from __future__ import annotations

import random

import pytest
from gavel_all_pairs import optimum

from dlsched.problems.shares import Job, Rates, check, shares
from gavel_workloads import random_rates


def own_jobs(rng: random.Random, rates: Rates, count: int) -> list[Job]:
    """Return jobs that all have weights and steps of their own, over two orders of magnitude."""
    keys = sorted((m, s or 1) for m, s in rates.alone)
    return [
        Job(f"j{i}", *rng.choice(keys), rng.randint(1, 100), rng.randint(10**4, 10**6),
            rng.randint(0, 10**4))
        for i in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize("gpus", [1, 4, 12])
@pytest.mark.parametrize("policy", ["max_min", "makespan", "finish_time_fairness"])
def test_jobs_that_all_differ(policy: str, gpus: int) -> None:
    """With few and with many GPUs the optimum is that with a variable for each pair of jobs."""
    pytest.importorskip("cvxpy", reason="cvxpy is an optional extra")
    rng = random.Random(gpus)
    rates = random_rates(rng, 3, (1, 2))
    jobs = own_jobs(rng, rates, 14)
    supply = {"V100": gpus, "P100": gpus, "K80": gpus + 1}
    found = shares(rates, supply, jobs, policy=policy)
    assert found.kinds == 14
    assert float(found.objective) == pytest.approx(
        optimum(policy, jobs, rates, supply, True), rel=1e-6
    )
    assert found.gap is not None and found.gap < 1e-8


def test_the_size_does_not_depend_on_the_jobs() -> None:
    """200 jobs with steps of their own have the columns of 20, and as few rows."""
    rng = random.Random(1)
    rates = random_rates(rng, 4)
    supply = {"V100": 2, "P100": 2, "K80": 2}
    few, many = (
        shares(rates, supply, own_jobs(rng, rates, count), policy="makespan") for count in (20, 200)
    )
    assert (few.kinds, many.kinds) == (20, 200)
    assert few.size[1] == many.size[1]
    assert max(few.size[0], many.size[0]) < 20


@pytest.mark.parametrize("seed", range(4))
def test_random_jobs_that_all_differ(seed: int) -> None:
    """Shares of jobs that all differ pass the checker, pairs exist, and the gap is closed."""
    rng = random.Random(seed)
    rates = random_rates(rng, 2 + seed % 2, (1, 2))
    jobs = own_jobs(rng, rates, 18)
    supply = {"V100": rng.randint(1, 9), "P100": rng.randint(1, 9), "K80": rng.randint(2, 9)}
    for policy in ("water_filling", "makespan", "finish_time_fairness"):
        found = shares(rates, supply, jobs, policy=policy)
        assert check(found.shares, rates, supply, jobs, policy=policy).feasible
        assert all(pair.job != pair.other for pair in found.pairs())
        assert found.gap is not None and found.gap < 1e-7
        for entry in found.rounds:
            assert entry.bound is not None and entry.bound / entry.level < 1 + 1e-6


def test_steps_of_seven_orders_of_magnitude() -> None:
    """A job that needs a millionth of another's time does not weaken the bound."""
    pairs = {("a", "a", "V100"): (0.001, 0.00075), ("a", "b", "V100"): (0.0005, 0.0006)}
    jobs = [Job("a1", "a", 2, steps=10), Job("a2", "a", 2, steps=1), Job("b", "b", 1, steps=1)]
    jobs.append(Job("long", "a", 2, steps=10**7))
    rates = {"a": {"V100": 0.001}, "b": {"V100": 0.001}}
    found = shares(rates, {"V100": 2}, jobs, policy="makespan", pairs=pairs)
    assert found.gap is not None and found.gap < 1e-9

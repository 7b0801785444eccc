"""Programs over groups of jobs that all require something else: division, inequalities, optimum."""

from __future__ import annotations

import random

import numpy as np
import pytest
from gavel_all_pairs import optimum
from gavel_workloads import random_rates
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched import Run
from dlsched.problems.shares import Job, Rates, check, shares
from dlsched.problems.shares.division import Cut, divide
from dlsched.problems.shares.groups import Groups, Option
from dlsched.problems.shares.kinds import group_jobs
from dlsched.problems.shares.levels import LevelProgram
from dlsched.problems.shares.measures import MEASURES
from drawing import draws


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


def test_inequalities_are_needed_and_kept() -> None:
    """A long job needs the fast GPUs for itself; a second level finds the inequality known."""
    rates = Rates.of({"a": {"V100": 10, "K80": 1}})
    jobs = [Job("long", "a", steps=100), Job("b", "a", steps=1), Job("c", "a", steps=1)]
    supply = {"V100": 1, "K80": 9}
    kinds = group_jobs(jobs, rates, supply, MEASURES["makespan"])
    assert len(kinds) == 2
    program = LevelProgram(Groups.of(kinds, rates, supply, False), Run())
    required = [k.example.steps for k in kinds]
    found = program.solve(required)
    # Without the inequality the group's 3 jobs would have 10 + 2 for 102 steps.
    assert float(found.value) == pytest.approx(1 / 10)
    count = len(program.cuts)
    assert count > 1
    program.solve(required)
    assert len(program.cuts) == count


OPTIONS = tuple(Option(o, 1, 1 + (o == 2), o == 2, ()) for o in range(4))


@settings(max_examples=draws(60), deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 3), min_size=2, max_size=5))
def test_inequalities_hold_for_all_times(seed: int, counts: list[int]) -> None:
    """Whatever the multipliers, times of jobs that satisfy the rows satisfy the inequality."""
    rng = np.random.default_rng(seed)
    rates = rng.random(4)
    jobs = [c for c, count in enumerate(counts) for _ in range(count)]
    times = rng.random((len(jobs), 4)) * (rng.random((len(jobs), 4)) < 0.6)
    times /= max(1.0, times.sum(axis=1).max())
    times[:, 2] = np.minimum(times[:, 2], times[:, 2].sum() - times[:, 2].max())
    most = times[:, 2].sum() / 2
    times[:, 2] = np.minimum(times[:, 2], most)
    if times[:, 2].max() * 2 > times[:, 2].sum():
        times[:, 2] = 0
    cut = Cut(0, rng.random(len(counts)), rng.random(len(counts)) * (rng.random() < 0.7))
    per_column = cut.weights(OPTIONS, rates, np.array(counts, dtype=float))
    columns = times.sum(axis=0) / np.array([option.times for option in OPTIONS])
    left = sum(cut.work[c] * (rates @ times[i]) - cut.time[c] for i, c in enumerate(jobs))
    assert left <= per_column @ columns + 1e-12


@settings(max_examples=draws(40), deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 3), min_size=2, max_size=5))
def test_a_division_or_an_inequality_that_forbids_it(seed: int, counts: list[int]) -> None:
    """Either every kind gets what it needs, all times are used, or an inequality is violated."""
    rng = np.random.default_rng(seed)
    many = np.array(counts, dtype=float)
    rates, totals = rng.random(4), rng.random(4) * (rng.random(4) < 0.8)
    totals *= min(1.0, many.sum() * rng.uniform(0.3, 1) / max(totals.sum(), 1e-9))
    needs = rng.random(len(counts)) ** 2
    work = float(rates @ totals)
    needs *= work / float(many @ needs) * rng.uniform(0.8, 1.1)
    found = divide(0, OPTIONS, totals, rates, many, needs, Run())
    assert found.times.sum(axis=0) == pytest.approx(totals, abs=1e-9)
    assert (found.times.sum(axis=1) <= many + 1e-9).all() and (found.times >= -1e-9).all()
    assert (found.times[many == 1, 2] <= totals[2] / 2 + 1e-9).all()
    reached = (found.times @ rates) / many
    if found.cut is None:
        assert (reached >= needs * (1 - 1e-8)).all()
    else:
        columns = totals / np.array([option.times for option in OPTIONS])
        supply = found.cut.weights(OPTIONS, rates, many) @ columns
        assert many @ (found.cut.work * needs - found.cut.time) > supply


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

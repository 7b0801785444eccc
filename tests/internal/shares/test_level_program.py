"""Internal: the program of one level of Gavel's shares, its inequalities, division and duals."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from dlsched import Run
from dlsched.problems.shares import Job, Rates, shares
from dlsched.problems.shares import api as gavel_api
from dlsched.problems.shares.division import Cut, divide
from dlsched.problems.shares.groups import Groups, Option
from dlsched.problems.shares.kinds import group_jobs
from dlsched.problems.shares.levels import LevelProgram
from dlsched.problems.shares.measures import MEASURES
from dlsched.problems.shares.optimum import Solved
from drawing import draws
from gavel_workloads import random_jobs, random_rates


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


@pytest.mark.parametrize("size", [1e-6, 1e-2, 1.0])
def test_a_certificate_from_other_duals(size: float) -> None:
    """Whatever the duals, the bound holds: those of a solver only make it strong."""
    rng = random.Random(3)
    rates = random_rates(rng, 4, (1, 2))
    jobs = random_jobs(rng, rates, 20)
    gpus = {"V100": 3, "P100": 3, "K80": 3}
    best = shares(rates, gpus, jobs)
    kinds = group_jobs(jobs, rates, gpus, MEASURES["max_min"])
    fair = [k.example.weight * k.proportional / k.example.scale for k in kinds]
    found = LevelProgram(Groups.of(kinds, rates, gpus, True), Run()).solve(fair).optimum
    assert found.bound() == best.bound
    noise = np.random.default_rng(0).normal(scale=size, size=len(found.duals))
    worse = replace(found, duals=found.duals + noise)
    assert worse.bound() >= best.objective
    assert worse.bound() > found.bound()


RATES = Rates.of(
    {"a": {"V100": 4, "K80": 1}, "b": {"V100": 8}, "c": {"V100": 2, "K80": 2}},
    {("a", "b", "V100"): (3, 6), ("a", "a", "V100"): (3, 3)},
)
GPUS = {"V100": 1, "K80": 1}
JOBS = [Job("a1", "a"), Job("a2", "a"), Job("b1", "b"), Job("c2", "c", 2)]


def test_a_wrong_program_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares that break a requirement, or beat their bound, are not returned."""
    real = gavel_api.solve

    def doubled(*args: Any) -> Solved:
        found = real(*args)
        return Solved([2 * t for t in found.times], found.bound, found.size)

    def low(*args: Any) -> Solved:
        found = real(*args)
        assert found.bound is not None
        return Solved(found.times, found.bound * Fraction(99, 100), found.size)

    for wrong, said in ((doubled, "the checker refuses"), (low, "better than their bound")):
        monkeypatch.setattr(gavel_api, "solve", wrong)
        with pytest.raises(dlsched.SolverDisagreement, match=said):
            shares(RATES, GPUS, JOBS[:3])

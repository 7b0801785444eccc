"""Limits, starts, certificates and extremes of the exact methods for elastic."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from dlsched.problems.elastic import Instance, Solution
from dlsched.problems.elastic.definition.check import check
from dlsched.problems.elastic.exact import dp
from dlsched.problems.elastic.programs import knapsack_search
from dlsched.problems.elastic.programs.dominated_choices import needless, uses
from dlsched.problems.elastic.programs.lagrangian import relax
from dlsched.problems.elastic.structures.knapsack import items_of
from dlsched.problems.elastic.structures.knapsack_table import fill_table, proves
from dlsched.run import Run
from dlsched.testing import oracles, strategies


def never() -> str | None:
    """Return no reason to stop."""
    return None


def correlated(jobs: int, choices: int, scale: int) -> Instance:
    """Return jobs whose reductions nearly equal their GPUs; filling the table takes minutes."""
    rng = random.Random(1)
    rows = []
    for j in range(jobs):
        gpus = rng.randrange(scale, 3 * scale)
        times = [10**12]
        times += [times[-1] - sum(rng.randrange(gpus, gpus + 50) for _ in range(k)) for k in
                  range(1, choices)]  # fmt: skip
        row = {"id": f"j{j}", "gpus_per_worker": gpus, "min_workers": 1, "max_workers": choices}
        rows.append(row | {"running": True, "running_times": times})
    return Instance(name="correlated", capacity=jobs * choices * scale // 2, jobs=rows)


def test_a_time_limit_leaves_a_certified_bound() -> None:
    """Stopped early, dp returns a feasible solution and a certified bound that is no worse."""
    result = dlsched.solve(correlated(8, 300, 2000), "dp", time_limit=0.1)
    assert (result.status, result.termination) == ("feasible", "time_limit")
    assert result.bound.reduction.kind == "certified"
    assert result.objective.reduction <= result.bound.reduction.value


def test_an_interrupt_leaves_a_solution() -> None:
    """Interrupted, dp returns its incumbent."""
    run = Run(interrupted=True)
    claim = dp(correlated(8, 300, 2000), run)
    assert (claim.status, claim.termination) == ("feasible", "interrupted")
    assert claim.solution is not None


def test_too_large_a_table_is_not_filled() -> None:
    """Above the memory limit, dp returns the incumbent and its bound, and the reason."""
    result = dlsched.solve(correlated(50, 4, 10**5), "dp")
    assert (result.status, result.termination) == ("feasible", "memory_limit")
    assert "GiB" in result.reason
    assert result.gap.reduction < 0.05


@pytest.mark.parametrize("method", ["dp", "milp"])
def test_a_start_is_used(method: str) -> None:
    """A start is accepted, and the optimum is no worse."""
    made = dlsched.generate("elastic", seed=3, jobs=30)
    start = dlsched.solve(made, "prices")
    result = dlsched.solve(made, method, start=start)
    assert result.start.accepted
    assert not start.objective.better_than(result.objective)


def test_lyra_ignores_a_start() -> None:
    """The paper's heuristic does not use a start."""
    made = dlsched.generate("elastic", seed=3, jobs=30)
    plain, started = (
        dlsched.solve(made, "lyra"),
        dlsched.solve(made, "lyra", start=dlsched.solve(made)),
    )
    assert started.solution == plain.solution
    assert not started.start.accepted


@settings(max_examples=50, deadline=None, derandomize=True)
@given(strategies.elastic(), st.integers(0, 10**6), st.integers(1, 3))
def test_a_lowered_table_proves_nothing(instance: Instance, where: int, by: int) -> None:
    """A table with a lowered entry or a missing row, and a check that is stopped, prove nothing."""
    items = items_of(instance)
    numbers = np.arange(len(items))
    table = fill_table(items, numbers, items.exact.worth, items.capacity, never)
    assert table is not None and proves(table, never)
    entries = table.entries
    best = table.most
    entries[-1, -1] -= by
    if best > 0:
        assert not proves(table, never)
    entries[-1, -1] = best
    assert not proves(table._replace(entries=entries[:-1]), never)
    assert not proves(table, lambda: "time limit") or len(entries) == 1
    entries[0, where % entries.shape[1]] = -1
    assert not proves(table, never)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(strategies.elastic(), st.sampled_from([1, 10**9]))
def test_losses_exclude_no_optimum(instance: Instance, factor: int) -> None:
    """The relaxation bounds the optimum, also with integers beyond 64 bits, and if stopped."""
    jobs = [
        job.model_copy(update={"gpus_per_worker": job.gpus_per_worker * factor})
        for job in instance.jobs
    ]
    large = Instance(name="large", capacity=instance.capacity * factor, jobs=tuple(jobs))
    items, best = items_of(large), oracles.elastic(large)
    for run in (Run(), Run(interrupted=True)):
        relaxation = relax(items, best.launched, best.launched, run)
        assert (relaxation.bound >> relaxation.shift) * items.unit >= best.reduction
        chosen = np.array(relaxation.chosen, dtype=np.int64)
        assert sum(items.gpus[chosen, 0].tolist()) <= items.capacity[0]
        assert int(items.launch[chosen].sum()) == best.launched


def test_sums_of_huge_demands_do_not_wrap() -> None:
    """Ten thousand base demands of 1e15 GPUs exceed 64 bits together; one fits."""
    row = {"gpus_per_worker": 10**15, "min_workers": 1, "max_workers": 1, "min_running_time": 1}
    jobs = [{"id": str(j)} | row for j in range(10_000)]
    result = dlsched.solve(Instance(name="huge", capacity=10**15, jobs=jobs), "dp")
    assert (result.status, tuple(result.objective)) == ("optimal", (1, 0))


@pytest.mark.parametrize("method", ["dp", "milp", "lyra", "prices", "afs", "fifo"])
@pytest.mark.parametrize("capacity", [0, 10**9])
def test_no_jobs_or_no_gpus(method: str, capacity: int) -> None:
    """Every method accepts instances without jobs or without GPUs."""
    assert tuple(
        dlsched.solve(Instance(name="n", capacity=capacity, jobs=[]), method).objective
    ) == (
        0,
        0,
    )
    made = dlsched.generate("elastic", seed=1, jobs=5, capacity=0)
    assert tuple(dlsched.solve(made, method).objective) == (0, 0)


def near_1e15(seed: int) -> Instance:
    """Return jobs that run for 1e15 seconds, less up to 1e14."""
    r = random.Random(seed)
    rows: list[dict[str, object]] = []
    for j in range(r.randint(2, 5)):
        least, choices = r.randint(1, 2), r.randint(1, 3)
        row = {"id": f"j{j}", "gpus_per_worker": r.choice([1, 2, 3]), "min_workers": least}
        row |= {"max_workers": least + choices - 1, "running": r.random() < 0.7}
        times = (10**15 - r.randint(0, 10 ** r.randint(3, 14)) for _ in range(choices))
        rows.append(row | {"running_times": sorted(times, reverse=True)})
    return Instance(name="large", capacity=r.randint(1, 10), jobs=rows)


@pytest.mark.parametrize("seed", [44, 68, 134, 180, 193, 195])
def test_seconds_near_1e15(seed: int) -> None:
    """With costs that HiGHS cannot scale, the optimum of dp is within the gap of milp."""
    model, table = (dlsched.solve(near_1e15(seed), method) for method in ("milp", "dp"))
    assert (model.status, table.status) == ("optimal", "optimal")
    assert model.objective.launched == table.objective.launched
    assert model.objective.reduction <= table.objective.reduction <= model.bound.reduction.value
    assert max(model.gap) < 1e-8
    assert (tuple(model.gap) == (0, 0)) <= (model.objective == table.objective)


def test_nothing_to_save_is_zero() -> None:
    """The base demands of five jobs use all GPUs: milp proves a reduction of exactly 0."""
    rows = [
        (1, 2, 4, (75196, 22300, 3636)), (1, 4, 7, 41930), (8, 4, 7, 41637), (8, 3, 5, 67975),
        (1, 4, 7, 31903), (1, 1, 2, 33316),
    ]  # fmt: skip
    jobs = [
        {"id": f"j{j}", "gpus_per_worker": g, "min_workers": a, "max_workers": b}
        | ({"running_times": t} if isinstance(t, tuple) else {"min_running_time": t})
        for j, (g, a, b, t) in enumerate(rows)
    ]
    result = dlsched.solve(Instance(name="full", capacity=35, jobs=jobs), "milp")
    assert (result.status, tuple(result.objective)) == ("optimal", (5, 0))
    assert tuple(result.gap) == (0, 0)
    assert [bound.kind for bound in result.bound] == ["certified", "certified"]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(strategies.elastic(mixed=True))
def test_needless_choices_are_needless(instance: Instance) -> None:
    """Brute force without the choices that milp fixes at 0 finds the same optimum."""
    without = needless(instance)
    ids = [job.id for job in instance.jobs]
    choices = [
        [*([] if job.running else [0]), *range(job.min_workers, job.max_workers + 1)]
        for job in instance.jobs
    ]
    left = [[w for w in row if (j, w) not in without] for j, row in zip(ids, choices, strict=True)]
    allocations = (dict(zip(ids, numbers, strict=True)) for numbers in product(*left))
    reports = [check(instance, Solution(workers=a)) for a in allocations]
    worth = [report.objective for report in reports if report.feasible]
    best = oracles.elastic(instance)
    assert best in worth
    assert not any(w.better_than(best) for w in worth)


def test_a_start_with_a_needless_choice_is_accepted() -> None:
    """If a start uses choices that milp fixes at 0, milp fixes none."""
    made = dlsched.generate("elastic", seed=1, items=60, capacity=40)
    start = dlsched.solve(made, "fifo").solution
    assert uses(made, start, needless(made))
    result = dlsched.solve(made, "milp", start=start)
    assert result.start is not None
    assert result.start.accepted, result.start.reason
    assert result.objective == dlsched.solve(made).objective


@pytest.mark.parametrize("gap", [0.0, 0.01])
def test_seconds_from_1e_300_to_1e15(monkeypatch: pytest.MonkeyPatch, gap: float) -> None:
    """In their granularity such times have a thousand digits; dp is exact, and no method fails."""
    far = Fraction("1e-300"), 10**15, 1, Fraction("3e-300"), Fraction("2.5e14")
    jobs = [
        {"id": f"j{j}", "gpus_per_worker": 1 + j % 2, "min_workers": 1, "max_workers": 3,
         "running_times": [far[j], far[j - 1], far[j - 2]], "running": j > 2}
        for j in range(5)
    ]  # fmt: skip
    instance = Instance(name="far", capacity=8, jobs=jobs)
    best = oracles.elastic(instance)
    assert dlsched.solve(instance, "dp").objective == best
    monkeypatch.setattr(knapsack_search, "SMALL", {"int64": -1, "object": -1})
    fixed = dlsched.solve(instance, "dp", gap=gap)
    assert fixed.status == "optimal"
    assert gap or fixed.objective == best
    for rule in ("lyra", "prices", "afs", "fifo"):
        assert not dlsched.solve(instance, rule).objective.better_than(best)
    assert dlsched.bound(instance).reduction.value >= best.reduction


def test_launching_comes_before_saving() -> None:
    """Two small jobs are launched although one large job would save more."""
    jobs = [
        {"id": "large", "gpus_per_worker": 1, "min_workers": 1, "max_workers": 4,
         "min_running_time": 1000},
        {"id": "small", "gpus_per_worker": 2, "min_workers": 1, "max_workers": 1,
         "min_running_time": 1},
        {"id": "other", "gpus_per_worker": 2, "min_workers": 1, "max_workers": 1,
         "min_running_time": 1},
    ]  # fmt: skip
    best = dlsched.solve(Instance(name="x", capacity=5, jobs=jobs))
    assert tuple(best.objective) == (3, 0)
    best = dlsched.solve(Instance(name="x", capacity=4, jobs=jobs))
    assert tuple(best.objective) == (2, 2000)
    assert best.solution.workers["large"] == 2


def test_longer_times_with_more_workers() -> None:
    """A job that is slower with a second worker keeps one."""
    job = {"id": "a", "gpus_per_worker": 1, "min_workers": 1, "max_workers": 3,
           "running_times": [10, 20, 9], "running": True}  # fmt: skip
    for capacity, worth in ((1, 0), (2, 1)):
        for method in ("dp", "milp"):
            made = Instance(name="x", capacity=capacity, jobs=[job])
            assert tuple(dlsched.solve(made, method).objective) == (0, worth)


def test_generator_counts_items() -> None:
    """The paper's worst epoch has 354 items and 245 GPUs, whatever the mix."""
    for running in (0.0, 0.5, 1.0):
        made = dlsched.generate("elastic", seed=2, items=354, capacity=245, running=running)
        assert (sum(map(len, made.items)), made.capacity) == (354, 245)
    assert (
        made.sha256
        == dlsched.generate("elastic", seed=2, items=354, capacity=245, running=1.0).sha256
    )

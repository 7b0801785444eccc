"""Limits, starts, certificates and extremes of the exact methods for elastic."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from elastic_instances import epoch, job
from hypothesis import strategies as st

import dlsched
from dlsched import Run
from dlsched.problems.elastic import Instance, Solution
from dlsched.problems.elastic.definition.check import check
from dlsched.problems.elastic.definition.job_choices import choices
from dlsched.problems.elastic.exact import dp, needless, uses
from dlsched.problems.elastic.programs import knapsack_search
from dlsched.problems.elastic.programs.lagrangian import relax
from dlsched.problems.elastic.structures.knapsack import items_of
from dlsched.problems.elastic.structures.knapsack_table import fill_table, proves
from dlsched.testing import oracles, strategies
from drawing import drawn


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
        for k in range(1, choices):
            times.append(10**12 - sum(rng.randrange(gpus, gpus + 50) for _ in range(k)))
        rows.append(job(f"j{j}", 1, choices, times, gpus, running=True))
    return epoch(jobs * choices * scale // 2, *rows)


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
    result = dlsched.solve(correlated(50, 4, 10**4), "dp", memory_gib=0.1)
    assert (result.status, result.termination) == ("feasible", "memory_limit")
    assert "GiB" in result.reason
    assert result.gap.reduction < 0.05


def test_lyra_ignores_a_start() -> None:
    """The paper's heuristic does not use a start."""
    made = dlsched.generate("elastic", seed=3, jobs=30)
    started = dlsched.solve(made, "lyra", start=dlsched.solve(made))
    assert started.solution == dlsched.solve(made, "lyra").solution
    assert not started.start.accepted


@drawn(50, strategies.elastic(), st.integers(0, 10**6), st.integers(1, 3))
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


@drawn(80, strategies.elastic(), st.sampled_from([1, 10**9]))
def test_losses_exclude_no_optimum(instance: Instance, factor: int) -> None:
    """The relaxation bounds the optimum, also with integers beyond 64 bits, and if stopped."""
    rows = instance.to_data()["jobs"]
    jobs = [row | {"gpus_per_worker": row["gpus_per_worker"] * factor} for row in rows]
    large = Instance(name="large", capacity=instance.capacity * factor, jobs=jobs)
    items, best = items_of(large), oracles.elastic(large)
    for run in (Run(), Run(interrupted=True)):
        relaxation = relax(items, best.launched, best.launched, run)
        assert (relaxation.bound >> relaxation.shift) * items.unit >= best.reduction
        chosen = np.array(relaxation.chosen, dtype=np.int64)
        assert sum(items.gpus[chosen, 0].tolist()) <= items.capacity[0]
        assert int(items.launch[chosen].sum()) == best.launched


def test_sums_of_huge_demands_do_not_wrap() -> None:
    """Ten thousand base demands of 1e15 GPUs exceed 64 bits together; one fits."""
    jobs = [job(str(j), 1, 1, 1, 10**15) for j in range(10_000)]
    result = dlsched.solve(epoch(10**15, *jobs), "dp")
    assert (result.status, tuple(result.objective)) == ("optimal", (1, 0))


@pytest.mark.parametrize("method", ["dp", "milp", "lyra", "afs", "fifo"])
@pytest.mark.parametrize("capacity", [0, 10**9])
def test_no_jobs_or_no_gpus(method: str, capacity: int) -> None:
    """Every method accepts instances without jobs or without GPUs."""
    made = dlsched.generate("elastic", seed=1, jobs=5, capacity=0)
    for nothing in (epoch(capacity), made):
        assert tuple(dlsched.solve(nothing, method).objective) == (0, 0)


def near_1e15(seed: int) -> Instance:
    """Return jobs that run for 1e15 seconds, less up to 1e14."""
    r = random.Random(seed)
    rows = []
    for j in range(r.randint(2, 5)):
        least, choices = r.randint(1, 2), r.randint(1, 3)
        gpus, running = r.choice([1, 2, 3]), r.random() < 0.7
        times = (10**15 - r.randint(0, 10 ** r.randint(3, 14)) for _ in range(choices))
        longest_first = sorted(times, reverse=True)
        rows.append(job(f"j{j}", least, least + choices - 1, longest_first, gpus, running=running))
    return epoch(r.randint(1, 10), *rows)


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
    full = epoch(
        35,
        job("a", 2, 4, [75196, 22300, 3636]),
        job("b", 4, 7, 41930),
        job("c", 4, 7, 41637, 8),
        job("d", 3, 5, 67975, 8),
        job("e", 4, 7, 31903),
        job("f", 1, 2, 33316),
    )
    result = dlsched.solve(full, "milp")
    assert (result.status, tuple(result.objective)) == ("optimal", (5, 0))
    assert tuple(result.gap) == (0, 0)
    assert [bound.kind for bound in result.bound] == ["certified", "certified"]


@drawn(80, strategies.elastic(mixed=True))
def test_needless_choices_are_needless(instance: Instance) -> None:
    """Brute force without the choices that milp fixes at 0 finds the same optimum."""
    without = needless(instance)
    ids = [row.id for row in instance.jobs]
    choices = [
        [*[0] * (not row.running), *range(row.min_workers, row.max_workers + 1)]
        for row in instance.jobs
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
    made = epoch(2, job("a", 1, 3, [10, 20, 9], running=True))
    start = Solution(workers={"a": 2})
    assert uses(made, start, needless(made))
    result = dlsched.solve(made, "milp", start=start)
    assert result.start is not None
    assert result.start.accepted, result.start.reason
    assert result.objective == dlsched.solve(made).objective


@pytest.mark.parametrize("gap", [0.0, 0.01])
def test_seconds_from_1e_300_to_1e15(monkeypatch: pytest.MonkeyPatch, gap: float) -> None:
    """In their granularity such times have a thousand digits; dp is exact, and no method fails."""
    far = Fraction("1e-300"), 10**15, 1, Fraction("3e-300"), Fraction("2.5e14")
    times = [[far[j], far[j - 1], far[j - 2]] for j in range(5)]
    rows = [job(f"j{j}", 1, 3, row, 1 + j % 2, running=j > 2) for j, row in enumerate(times)]
    instance = epoch(8, *rows)
    best = oracles.elastic(instance)
    assert dlsched.solve(instance, "dp").objective == best
    monkeypatch.setattr(knapsack_search, "SMALL", {"int64": -1, "object": -1})
    fixed = dlsched.solve(instance, "dp", gap=gap)
    assert fixed.status == "optimal"
    assert gap or fixed.objective == best
    for rule in ("lyra", "afs", "fifo"):
        assert not dlsched.solve(instance, rule).objective.better_than(best)
    assert dlsched.bound(instance).reduction.value >= best.reduction


@pytest.mark.parametrize(("capacity", "objective"), [(5, (3, 0)), (4, (2, 2000))])
def test_launching_comes_before_saving(capacity: int, objective: tuple[int, int]) -> None:
    """Two small jobs are launched although one large job would save more."""
    jobs = job("large", 1, 4, 1000), job("small", 1, 1, 1, 2), job("other", 1, 1, 1, 2)
    assert tuple(dlsched.solve(epoch(capacity, *jobs)).objective) == objective


@pytest.mark.parametrize("method", ["dp", "milp"])
@pytest.mark.parametrize(("capacity", "saved"), [(1, 0), (2, 1)])
def test_longer_times_with_more_workers(method: str, capacity: int, saved: int) -> None:
    """A job that is slower with a second worker keeps one."""
    made = epoch(capacity, job("a", 1, 3, [10, 20, 9], running=True))
    assert tuple(dlsched.solve(made, method).objective) == (0, saved)


@pytest.mark.parametrize("running", [0.0, 0.5, 1.0])
def test_generator_counts_items(running: float) -> None:
    """The paper's worst epoch has 354 items and 245 GPUs, whatever the mix."""
    made = dlsched.generate("elastic", seed=2, items=354, capacity=245, running=running)
    items = [choice for row in choices(made) for choice in row if any(choice.gpus)]
    assert (len(items), made.capacity) == (354, 245)

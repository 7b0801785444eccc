"""The model, the exact methods and their relaxations: brute force, bounds, scales, limits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from interleaving_instances import cover, job

import dlsched
from dlsched import Run
from dlsched.doctor import highs
from dlsched.problems.interleaving import PROBLEM, Instance, model
from dlsched.problems.interleaving.exact import group_columns
from dlsched.problems.interleaving.heuristics import initial_groups
from dlsched.problems.interleaving.programs import large_relaxation
from dlsched.problems.interleaving.programs.column_pool import Pool
from dlsched.problems.interleaving.programs.columns import Prices
from dlsched.problems.interleaving.programs.exact_pass import raised
from dlsched.problems.interleaving.programs.heuristic_pricing import climb
from dlsched.problems.interleaving.programs.large_relaxation import LargeRelaxation
from dlsched.problems.interleaving.programs.master import choice_form, counted_form
from dlsched.problems.interleaving.structures.groups import stage_array, trivial_bound
from dlsched.problems.interleaving.structures.tables import Query
from dlsched.registry import call
from dlsched.testing import oracles, strategies
from drawing import drawn

SAME = 1e-9


def bound_at(pool: Pool, prices: Prices) -> Fraction:
    """Return the bound that prices prove, by one exact pricing pass."""
    priced = pool.price(prices, Query(-np.inf, 1, 1), Run())
    assert priced is not None
    return pool.bound(prices, priced.highest)


@drawn(60, strategies.interleaving(max_jobs=8, max_resources=2))
def test_blossom_is_optimal_for_pairs(instance: Instance) -> None:
    """With two resources and uniform groups, matching is the optimum, as the paper says."""
    if instance.grouping != "uniform" or len(instance.resources) != 2:
        with pytest.raises(dlsched.OptionError, match="two resources"):
            dlsched.solve(instance, "blossom")
        return
    optimum = oracles.interleaving(instance)
    for method in ("blossom", "muri", "swap"):
        assert dlsched.solve(instance, method).objective == optimum


def test_pricing_in_steps_proves_the_same_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pricing with a check of the time limit after each job proves the same bound."""
    pool = Pool(dlsched.generate("interleaving", 1, jobs=12))
    prices = Prices(0.2 + 0.01 * (np.arange(12) % 7), 0.0)
    at_once = bound_at(pool, prices)
    monkeypatch.setattr("dlsched.problems.interleaving.programs.column_pool._STEP", 1)
    assert bound_at(pool, prices) == at_once


@pytest.mark.parametrize("seed", [1, 2])
def test_distinct_jobs_are_proved_and_order_does_not_matter(seed: int) -> None:
    """24 distinct jobs: aggregated = column generation, also with the jobs reversed."""
    instance = dlsched.generate("interleaving", seed, jobs=24)
    first = dlsched.solve(instance, "column_generation")
    assert first.status == "optimal"
    turned = instance.model_copy(update={"jobs": instance.jobs[::-1]})
    for other in (dlsched.solve(instance, "aggregated"), dlsched.solve(turned)):
        assert other.status == "optimal"
        assert abs(other.objective[0] - first.objective[0]) < SAME


def test_a_cover_with_few_profiles_is_proved() -> None:
    """300 jobs of 48 profiles under a budget are proved, and no heuristic is better."""
    instance = dlsched.generate(
        "interleaving", 1, jobs=300, grouping="cover", distinct=False, budget=0.25
    )
    best = dlsched.solve(instance)
    assert (best.method, best.status) == ("aggregated", "optimal")
    for rule in ("muri", "muri_needed", "swap", "greedy", "muri_worst_order"):
        assert not dlsched.solve(instance, rule).objective.better_than(best.objective)


def test_too_large_a_model_names_the_alternative() -> None:
    """The model refuses above its size, and says what to use."""
    with pytest.raises(dlsched.OptionError, match="column_generation"):
        dlsched.model(dlsched.generate("interleaving", 1, jobs=128))


def test_an_interrupt_leaves_a_solution_and_a_bound() -> None:
    """Stopped after its first bound, column generation has a solution and certifies that bound."""
    instance = dlsched.generate("interleaving", 1, jobs=48)
    run = Run(on_progress=lambda point: setattr(run, "interrupted", point.bound is not None))
    claim = call(PROBLEM.methods["column_generation"], instance, run, {})
    assert (claim.status, claim.termination) == ("feasible", "interrupted")
    ((bound,),) = claim.bounds
    assert bound.kind == "certified" and bound.value >= claim.objective[0]


def test_no_progress_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the integer program would be too large, the search ends after `rounds`, unproved."""
    monkeypatch.setattr("dlsched.problems.interleaving.exact.group_columns._MOST_COLUMNS", 4)
    instance = dlsched.generate("interleaving", 1, jobs=16)
    result = dlsched.solve(instance, "column_generation", rounds=0)
    assert (result.status, result.termination) == ("feasible", "iteration_limit")
    assert result.certified[0].value > result.objective[0]


def test_same_seed_same_answer() -> None:
    """Column generation is deterministic for a seed."""
    instance = dlsched.generate("interleaving", 3, jobs=32)
    first, second = (dlsched.solve(instance, seed=7) for _ in range(2))
    assert first.solution == second.solution


@pytest.mark.parametrize("many", [1, 10**6])
def test_the_number_of_threads_may_change(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a call with two threads one with a single thread is proved."""
    monkeypatch.setattr("dlsched.problems.interleaving.exact.group_columns.MANY_PROFILES", many)
    instance = dlsched.generate("interleaving", 1, jobs=20)
    for threads in (1, 2, 1):
        result = dlsched.solve(instance, "column_generation", threads=threads)
        assert result.status == "optimal" and result.certified[0] is not None


def test_bound_alone() -> None:
    """The bound method certifies the exact method's bound, and names its solver."""
    instance = dlsched.generate("interleaving", 1, jobs=32)
    bound = dlsched.solve(instance, "lagrangian")
    best = dlsched.solve(instance)
    assert (bound.status, bound.termination) == ("no solution", "bound_only")
    assert bound.solver == best.solver == "highs" and bound.solver_version
    assert np.isclose(float(bound.bound[0].value), float(best.certified[0].value), rtol=1e-6)


def test_a_limit_before_the_first_pricing_leaves_a_bound() -> None:
    """No grouping is more efficient than if all stages overlapped in full."""
    instance = dlsched.generate("interleaving", 1, jobs=40)
    result = dlsched.solve(instance, "column_generation", time_limit=1e-9)
    assert result.status == "feasible" and result.termination == "time_limit"
    resources = len(instance.resources)
    full = sum(instance.weight(j.gpus) for j in instance.jobs) / Fraction(resources)
    assert result.certified[0].value == full
    assert result.objective[0] < full


@pytest.mark.parametrize("method", ["lagrangian", "column_generation", "aggregated"])
def test_efficiencies_that_nearly_tie_end_the_relaxation(method: str) -> None:
    """Columns whose gammas differ by 1e-9 are priced once, so that the relaxation ends."""
    rows = [(2, 2), (2, 0.3), (2, 20), (20, 20), (2, 0.3), (2, 0.3), (2, 2)]
    jobs = [job(f"j{i}", [(2e9 + a) / 1e10, b / 1e10], 4) for i, (a, b) in enumerate(rows)]
    near = cover(jobs, 17, weigh_by="gpus")
    result = dlsched.solve(near, method, time_limit=60)
    optimum = oracles.interleaving(near)
    assert result.termination != "time_limit"
    assert float(result.certified[0].value / optimum[0]) == pytest.approx(1, abs=0.3)
    if result.objective is not None:
        assert abs(result.objective[0] - optimum[0]) <= 1e-12 * optimum[0]


HUGE = [1e30, -1e30, 1e15, 5e-324, 0.0]
INSTANCES = st.one_of(
    strategies.interleaving(max_jobs=7), strategies.interleaving(max_jobs=6, scales=True)
)


@drawn(100, INSTANCES, st.lists(st.floats(-1, 2) | st.sampled_from(HUGE), min_size=7, max_size=7))
def test_prices_of_any_size_give_a_bound(instance: Instance, numbers: list[float]) -> None:
    """Any prices, up to 1e30, bound the optimum, and at most by full efficiency."""
    if instance.jobs:
        pool = Pool(instance)
        gpu = 0.0 if pool.budget is None else abs(numbers[-1])
        bound = bound_at(pool, Prices(np.array(numbers[: len(pool.profiles)]), gpu))
        assert oracles.interleaving(instance)[0] <= bound <= trivial_bound(instance)


def test_the_trivial_bound_by_hand() -> None:
    """Seven jobs of one GPU and two of four on three resources: 7/3 + 2/3, by GPUs 7/3 + 8/3."""
    made = cover([job(f"j{i}", [1, 2, 3], 1 if i < 7 else 4) for i in range(9)])
    assert trivial_bound(made) == 3
    assert trivial_bound(made.model_copy(update={"weigh_by": "gpus"})) == 5


@pytest.mark.parametrize("method", ["column_generation", "aggregated", "lagrangian", "blossom"])
def test_no_certified_bound_is_above_full_efficiency(method: str) -> None:
    """Jobs that interleave perfectly: every certified bound is the number of groups, not more."""
    jobs = [job(f"j{i}", [2, 1] if i % 2 else [1, 2]) for i in range(8)]
    made = cover(jobs, grouping="uniform")
    assert dlsched.solve(made, method).certified[0].value == 4


@drawn(100, INSTANCES, st.integers(0, 2**32 - 1))
def test_pricing_finds_what_enumeration_finds_at_every_scale(instance: Instance, seed: int) -> None:
    """The largest reduced value of each class, with times from 1e-300 to 1e15 side by side."""
    if not instance.jobs:
        return
    search, listed = Pool(instance), Pool(instance, listed=True)
    rng = np.random.default_rng(seed)
    heaviest = search.class_weights.max()
    prices = Prices(heaviest * rng.uniform(-0.5, 1, len(search.profiles)), 0.1 * rng.random())
    query = Query(-np.inf, 3, 1000)
    highest = [pool.price(prices, query, Run()).highest for pool in (search, listed)]
    assert highest[0] == pytest.approx(highest[1], abs=1e-11 * heaviest)


def test_times_as_far_apart_as_files_hold() -> None:
    """Subnormal times beside 1e15: the exact methods find the optimum of brute force."""
    subnormal = {"a": [5e-324, 0, 0], "b": [1e15, 0, 3], "c": [0, 5e-324, 1e-323]}
    rows = [job(name, stages) for name, stages in subnormal.items()]
    made = cover([*rows, job("d", [1, 1e-300, 0])], 2)
    assert (stage_array(made)[stage_array(made) > 0] > 1e-200).all()
    optimum = oracles.interleaving(made)
    for method in ("milp", "aggregated", "column_generation"):
        assert dlsched.solve(made, method).objective == optimum
    for rule in ("muri", "muri_needed", "swap", "regroup", "greedy", "muri_worst_order"):
        assert not dlsched.solve(made, rule).objective.better_than(optimum)
    assert bound_at(Pool(made), Prices(np.full(4, 0.5), 0.0)) >= optimum[0]


@drawn(100, INSTANCES)
def test_exact_methods_agree_at_every_scale(instance: Instance) -> None:
    """Brute force = milp = aggregated = column_generation, up to the last places of a double."""
    optimum = oracles.interleaving(instance)[0]
    for method in ("milp", "aggregated", "column_generation"):
        result = dlsched.solve(instance, method)
        assert result.status == "optimal"
        assert abs(result.objective[0] - optimum) <= 2.0**-50 * optimum
        assert result.certified[0].value >= optimum


def test_groups_are_those_allowed() -> None:
    """Three jobs of one GPU and one of two: three singles, three pairs, a triple, and the other."""
    jobs = [*(job(name, [1, 2, 3]) for name in "abc"), job("d", [1, 1, 1], 2)]
    m = model.build(cover(jobs, 4))
    assert len(m.GROUPS) == 8
    assert len(m.budget) == 1
    assert m.GRANULARITY["efficiency"] > 0


MADE: list[dict[str, Any]] = [
    {"jobs": 40},
    {"jobs": 36, "resources": 3},
    {"jobs": 40, "grouping": "cover", "budget": 0.2},
    {"jobs": 60, "grouping": "cover", "cluster": 16, "weigh_by": "gpus"},
    {"jobs": 60, "grouping": "cover", "distinct": False, "budget": 0.4},
]
EVERYTHING = Query(0.0, 100_000, 100_000)


def drawn_prices(pool: Pool, seed: int) -> Prices:
    """Return random prices near those of an efficient grouping, in units of the weight."""
    rng = np.random.default_rng(seed)
    heaviest = pool.class_weights.max()
    gpu = 0.02 * rng.random() if pool.budget is not None else 0.0
    return Prices(heaviest * rng.uniform(-0.1, 0.5, len(pool.profiles)), gpu)


@drawn(30, INSTANCES, st.integers(0, 2**32 - 1))
def test_the_ascent_finds_allowed_groups_above_the_threshold(instance: Instance, seed: int) -> None:
    """Its groups are among all groups, worth what these are, and none exceeds the largest value."""
    if not instance.jobs:
        return
    pool, listed = Pool(instance), Pool(instance, listed=True)
    prices = drawn_prices(pool, seed)
    found = climb(pool, prices, 1e-9)
    known = {tuple(sorted(row)): worth for row, worth in zip(
        listed.listed.members.tolist(), listed.listed.worth.tolist(), strict=True
    )}  # fmt: skip
    for row, worth in zip(found.groups.members.tolist(), found.groups.worth.tolist(), strict=True):
        assert worth == pytest.approx(known[tuple(sorted(row))], rel=1e-12)
    assert (pool.reduced(prices, found.groups) > 0).all()
    highest = listed.price(prices, Query(-np.inf, 1, 10**6), Run())
    assert highest is not None
    assert (found.best <= highest.highest[pool.class_of] + 1e-9).all()


@drawn(30, INSTANCES, st.integers(0, 2**32 - 1))
def test_raised_prices_are_exceeded_by_no_group(instance: Instance, seed: int) -> None:
    """They are nowhere lower; a pass at them finds no group, and they bound the optimum."""
    if not instance.jobs:
        return
    pool = Pool(instance)
    prices = drawn_prices(pool, seed)
    priced = pool.price(prices, EVERYTHING, Run())
    assert priced is not None
    higher = raised(pool, prices, priced.groups, Run())
    if higher is None:
        assert not len(priced.groups)
        return
    assert (higher.rows >= prices.rows).all()
    again = Pool(instance, listed=True).price(higher, Query(-np.inf, 1, 10**6), Run())
    assert again is not None
    assert (again.highest <= 0).all()
    heaviest = pool.class_weights.max()
    bound = pool.bound(higher, np.zeros(len(pool.classes)))
    assert oracles.interleaving(instance)[0] <= bound
    assert bound <= pool.bound(prices, priced.highest) + 1e-9 * heaviest


@drawn(25, INSTANCES)
def test_its_bounds_are_above_the_optimum(instance: Instance) -> None:
    """Every bound is at least brute force's optimum, and the last one is near the smoothed one."""
    if not instance.jobs:
        return
    pool, optimum = Pool(instance), oracles.interleaving(instance)[0]
    groups = pool.groups_of_jobs(initial_groups(instance, Run()))
    proved = [pool.bound(*at) for at in LargeRelaxation(pool, Run(), groups).bounds(np.inf)]
    smoothed = dlsched.solve(instance, "lagrangian").certified[0].value
    assert proved and min(proved) >= optimum
    assert float(min(proved)) <= float(smoothed) * (1 + 1e-4)


@pytest.mark.parametrize("options", MADE, ids=str)
@pytest.mark.parametrize("sample", [8, pytest.param(200, marks=pytest.mark.slow)])
def test_it_gives_the_bound_of_the_smoothed_relaxation(
    options: dict[str, Any], sample: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with prices lifted from a sample; the prices alone prove the same bound again."""
    instance = dlsched.generate("interleaving", 1, **options)
    expected = float(dlsched.solve(instance, "lagrangian").certified[0].value)
    monkeypatch.setattr(large_relaxation, "_SAMPLE", sample)
    pool = Pool(instance)
    groups = pool.groups_of_jobs(initial_groups(instance, Run()))
    *_, (prices, highest) = LargeRelaxation(pool, Run(), groups).bounds(np.inf)
    bound = pool.bound(prices, highest)
    assert float(bound) == pytest.approx(expected, rel=2e-6)
    assert float(bound_at(pool, prices)) <= float(bound) * (1 + 1e-9)


def test_the_exact_method_proves_the_optimum_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """With this relaxation for 24 jobs, column generation finds the same optimum."""
    instance = dlsched.generate("interleaving", 2, jobs=24)
    best = dlsched.solve(instance, "column_generation")
    monkeypatch.setattr(group_columns, "MANY_PROFILES", 1)
    again = dlsched.solve(instance, "column_generation")
    assert (again.status, best.status) == ("optimal", "optimal")
    assert abs(again.objective[0] - best.objective[0]) < 1e-9


def test_a_method_that_fails_leaves_the_smoothed_relaxation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If the interior-point method gives no prices, the bound is the smoothed relaxation's."""
    instance = dlsched.generate("interleaving", 2, jobs=24)
    expected = dlsched.solve(instance, "column_generation").certified[0].value
    monkeypatch.setattr(group_columns, "MANY_PROFILES", 1)
    monkeypatch.setattr(large_relaxation.InteriorMaster, "solve", lambda *_: None)
    again = dlsched.solve(instance, "column_generation")
    assert again.status == "optimal"
    assert float(again.certified[0].value) == pytest.approx(float(expected), rel=1e-6)


@drawn(25, INSTANCES)
def test_counting_groups_by_class_changes_no_optimum(instance: Instance) -> None:
    """The integer master with the numbers of groups as columns has the optimum of the plain one."""
    if instance.gpu_budget is None or not instance.jobs:
        return
    pool = Pool(instance, listed=True)
    groups = pool.listed
    assert groups is not None
    plain = highs.solve(choice_form(pool, groups), 0, Run(), quiet=True)
    counted = highs.solve(counted_form(pool, groups), 0, Run(), quiet=True)
    assert plain.objective == pytest.approx(counted.objective, rel=1e-9)
    assert counted.values is not None
    numbers = np.bincount(
        groups.class_of, weights=counted.values[: len(groups)], minlength=len(pool.classes)
    )
    assert counted.values[len(groups) :] == pytest.approx(numbers)
    assert pool.class_gpus @ numbers <= instance.gpu_budget + 1e-6

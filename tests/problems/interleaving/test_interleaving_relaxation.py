"""The relaxation of large instances gives the bound of the smoothed one, and every part is safe."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawing import drawn
from hypothesis import strategies as st

import dlsched
from dlsched.problems.interleaving import Instance
from dlsched.problems.interleaving.exact import group_columns
from dlsched.problems.interleaving.exact.bounds import lagrangian_bound
from dlsched.problems.interleaving.heuristics import initial_groups
from dlsched.problems.interleaving.programs import large_relaxation
from dlsched.problems.interleaving.programs.column_pool import Enumerated, Pool, Prices
from dlsched.problems.interleaving.programs.heuristic_pricing import climb
from dlsched.problems.interleaving.programs.large_relaxation import LargeRelaxation
from dlsched.problems.interleaving.programs.price_increase import raised
from dlsched.problems.interleaving.structures.tables import Query
from dlsched.run import Run
from dlsched.testing import oracles, strategies

INSTANCES = st.one_of(
    strategies.interleaving(max_jobs=7), strategies.interleaving(max_jobs=6, scales=True)
)
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
    heaviest = max(one.weight for one in pool.classes)
    gpu = 0.02 * rng.random() if pool.budget is not None else 0.0
    return Prices(heaviest * rng.uniform(-0.1, 0.5, len(pool.profiles)), gpu)


@drawn(30, INSTANCES, st.integers(0, 2**32 - 1))
def test_the_ascent_finds_allowed_groups_above_the_threshold(instance: Instance, seed: int) -> None:
    """Its groups are among all groups, worth what these are, and none exceeds the largest value."""
    if not instance.jobs:
        return
    pool, listed = Pool(instance), Enumerated(instance)
    prices = drawn_prices(pool, seed)
    found = climb(pool, prices, 1e-9)
    known = {tuple(sorted(row)): worth for row, worth in zip(
        listed.all.members.tolist(), listed.all.worth.tolist(), strict=True
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
    higher, highest = raised(pool, prices, priced, Run())
    assert (higher.rows >= prices.rows).all()
    again = Enumerated(instance).price(higher, Query(-np.inf, 1, 10**6), Run())
    assert again is not None
    heaviest = max(one.weight for one in pool.classes)
    assert (again.highest <= highest + 1e-11 * heaviest).all()
    assert (highest <= 1e-9 * heaviest).all()
    bound = pool.bound(higher, highest)
    assert oracles.interleaving(instance)[0] <= bound
    assert bound <= pool.bound(prices, priced.highest) + 1e-9 * heaviest


def test_an_incomplete_list_raises_nothing() -> None:
    """With groups missing from the list, prices and largest values stay those of the pass."""
    pool = Pool(dlsched.generate("interleaving", 1, jobs=16))
    prices = Prices(np.full(16, 0.1), 0.0)
    priced = pool.price(prices, Query(0.0, 3, 3), Run())
    assert priced is not None and not priced.complete
    assert raised(pool, prices, priced, Run()) == (prices, priced.highest)


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
@pytest.mark.parametrize("sample", [8, 200])
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
    each = {job.id: prices.rows[pool.row_of[j]] for j, job in enumerate(instance.jobs)}
    assert float(lagrangian_bound(instance, each, prices.gpu)) <= float(bound) * (1 + 1e-9)


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

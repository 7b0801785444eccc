"""The exact pass of many jobs: its groups, its shares, and the bound wherever it is stopped."""

from __future__ import annotations

from fractions import Fraction
from itertools import count

import numpy as np
import pytest
from hypothesis import strategies as st

import dlsched
from dlsched import Run
from dlsched.problems.interleaving import Instance
from dlsched.problems.interleaving.exact import group_columns
from dlsched.problems.interleaving.programs import exact_pass, large_relaxation
from dlsched.problems.interleaving.programs.column_pool import Pool
from dlsched.problems.interleaving.programs.columns import Prices
from dlsched.problems.interleaving.programs.exact_pass import (
    Pass,
    full_efficiency,
    proved,
    search,
)
from dlsched.problems.interleaving.programs.large_relaxation import representatives
from dlsched.testing import oracles, strategies
from drawing import drawn

INSTANCES = strategies.interleaving(max_jobs=7, max_resources=4)
SEEDS = st.integers(0, 2**32 - 1)
CAPACITY = 5_000


class Stopped(Run):
    """A run that a limit stops at the n-th look at it."""

    def __init__(self, looks: int) -> None:
        super().__init__(time_limit=1.0)
        self.looks = count(1 - looks)

    def remaining(self) -> float:
        """Return 0 from the n-th call on."""
        return float(next(self.looks) < 0)


def scaled(instance: Instance, exponents: list[int]) -> Instance:
    """Return the instance with times of other sizes, side by side."""
    jobs = [
        job.model_copy(update={"stages": tuple(s * Fraction(10) ** e for s in job.stages)})
        for job, e in zip(instance.jobs, exponents, strict=False)
    ]
    return instance.model_copy(update={"jobs": tuple(jobs)})


def prices_of(pool: Pool, seed: int) -> Prices:
    """Draw prices near those at which some groups are above and some below."""
    rng = np.random.default_rng(seed)
    weight = pool.class_weights[pool.class_of]
    gpu = 0.0 if pool.budget is None else float(rng.uniform(0, 0.2))
    return Prices(weight * rng.uniform(-0.05, 0.4, len(weight)), gpu)


WIDE = st.lists(st.sampled_from([-9, 0, 0, 0, 1, 12]), min_size=7, max_size=7)


@drawn(25, INSTANCES, SEEDS, WIDE)
def test_a_pass_finds_what_enumeration_finds(
    instance: Instance, seed: int, exponents: list[int]
) -> None:
    """Its groups are all those above the prices, and a job's share the largest in one of them."""
    if not instance.jobs:
        return
    listed = Pool(scaled(instance, exponents), listed=True)
    pool, prices = Pool(listed.instance), prices_of(listed, seed)
    found = search(pool, prices, 0.0, CAPACITY, Run())
    assert found.complete and found.searched.all()
    value = listed.reduced(prices, listed.listed)
    known = dict(zip(listed.listed.identities(), value.tolist(), strict=True))
    assert {key for key, v in known.items() if v > 1e-9} <= set(found.groups.identities())
    assert all(known[key] > -1e-9 for key in found.groups.identities())
    if pool.largest not in exact_pass.SIZES:
        return
    share = np.zeros(len(found.share))
    for row, v in zip(listed.listed.members, value.tolist(), strict=True):
        members = row[row >= 0]
        share[members] = np.maximum(share[members], v / len(members))
    assert found.share == pytest.approx(share, abs=1e-9)


@drawn(25, INSTANCES, SEEDS, WIDE, st.integers(0, 6), st.sampled_from([0.0, 0.05]))
def test_a_bound_holds_wherever_a_pass_is_stopped(
    instance: Instance, seed: int, exponents: list[int], looks: int, above: float
) -> None:
    """No group exceeds the prices that it proves, and they bound brute force's optimum."""
    if not instance.jobs:
        return
    listed = Pool(scaled(instance, exponents), listed=True)
    pool, known = Pool(listed.instance), full_efficiency(listed)
    none = np.zeros(len(pool.classes))
    optimum = oracles.interleaving(listed.instance)
    for part, more in ((looks, 0), (looks // 2, 1)):
        prices = prices_of(listed, seed + more)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(exact_pass, "_STEP", 1)
            found = search(pool, prices, above, CAPACITY, Stopped(part))
        known = proved(pool, prices, found, known)
        assert (listed.reduced(known, listed.listed) <= 0).all()
        assert optimum is None or optimum[0] <= pool.bound(known, none)


def test_a_stopped_pass_keeps_what_is_searched() -> None:
    """Half of a pass lowers the prices of the jobs with the largest stages, and no others."""
    pool = Pool(dlsched.generate("interleaving", 1, jobs=16))
    prices = Prices(np.full(16, 0.2), 0.0)
    none = np.zeros(1)
    bounds = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact_pass, "_STEP", 1)
        for looks in (1, 8, 17):
            found = search(pool, prices, 0.0, CAPACITY, Stopped(looks))
            order = found.searched[pool.classes[0].rows]
            assert order.tolist() == sorted(order.tolist(), reverse=True)
            assert order.sum() == looks - 1
            bounds.append(
                float(pool.bound(proved(pool, prices, found, full_efficiency(pool)), none))
            )
    assert bounds[0] == pytest.approx(4) and bounds[0] > bounds[1] > bounds[2]


def test_too_many_groups_still_raise_the_prices() -> None:
    """Groups beyond the capacity are not listed, but the shares of all of them are known."""
    pool = Pool(dlsched.generate("interleaving", 1, jobs=16))
    prices = Prices(np.full(16, 0.1), 0.0)
    every, few = (search(pool, prices, 0.0, most, Run()) for most in (10**5, 3))
    assert every.complete and not few.complete and len(few.groups) <= 3
    assert (every.share == few.share).all()
    assert isinstance(every, Pass)


def test_a_tiny_limit_leaves_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the limit strikes after the heuristics, the bound is certified and not too low."""
    monkeypatch.setattr(group_columns, "MANY_PROFILES", 1)
    instance = dlsched.generate("interleaving", 1, jobs=12)
    best = dlsched.solve(instance, "column_generation")
    for limit in (1e-9, 1e-3, 0.02):
        result = dlsched.solve(instance, "column_generation", time_limit=limit)
        assert result.certified[0].value >= best.objective[0] - 1e-9
        assert result.certified[0].value <= 3


@drawn(20, INSTANCES, st.integers(1, 8))
def test_representatives_stand_for_all_jobs(instance: Instance, most: int) -> None:
    """Of each class the representatives stand for as many jobs as there are."""
    pool = Pool(instance)
    kept = representatives(pool, most)
    for part in pool.classes:
        assert kept[part.rows].sum() == pool.multiplicity[part.rows].sum()


def test_jobs_of_a_kind_have_one_representative() -> None:
    """Of two kinds of jobs, each slightly different, two are kept, which stand for four each."""
    near = [[1 + i / 100, 9, 1, 1] for i in range(4)] + [[9, 1 + i / 100, 1, 1] for i in range(4)]
    data = {"name": "two", "grouping": "uniform", "resources": list("rstu")}
    jobs = [{"id": f"j{i}", "gpus": 1, "stages": row} for i, row in enumerate(near)]
    kept = representatives(Pool(Instance(**data, jobs=jobs)), 2)
    assert sorted(kept.tolist()) == [0] * 6 + [4, 4]


def test_a_job_in_no_group_with_representatives_has_a_price(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With one job kept of each three that form a group, the optimum is that of brute force."""
    monkeypatch.setattr(group_columns, "MANY_PROFILES", 1)
    monkeypatch.setattr(large_relaxation, "_SAMPLE", 2)
    stages = [[1, 5, 8], [12, 4, 2], [2, 3, 0], [1, 6, 6], [1, 1, 8], [1, 12, 5]]
    gpus = [1, 1, 2, 2, 2, 1]
    jobs = [{"id": f"j{i}", "gpus": gpus[i], "stages": row} for i, row in enumerate(stages)]
    data = {"name": "near", "grouping": "uniform", "resources": list("rst"), "jobs": jobs}
    result = dlsched.solve(Instance(**data), "column_generation")
    assert result.objective[0] == oracles.interleaving(Instance(**data))[0]

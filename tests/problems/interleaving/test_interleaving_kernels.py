"""The loops of interleaving: built and run by Python alike."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dlsched
from dlsched.problems.interleaving.kernels import local_search, pricing
from dlsched.problems.interleaving.programs.column_pool import Pool
from dlsched.problems.interleaving.programs.columns import Prices
from dlsched.problems.interleaving.structures.groups import (
    offsets_by_size,
    padded,
    padded_efficiencies,
)
from dlsched.problems.interleaving.structures.tables import Query, growth_tables
from kernel_sources import as_python

SEARCHES = (local_search, as_python("problems.interleaving.kernels.local_search"))
PRICING = (pricing, as_python("problems.interleaving.kernels.pricing"))


def searched(kernel: ModuleType, name: str, seed: int) -> tuple[Any, ...]:
    """Return the groups, and whether each pass changed any, after three passes of a search."""
    rng = np.random.default_rng(seed)
    k, largest = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    stages = np.eye(k)[rng.integers(k, size=9)] + rng.integers(0, 7, (9, k))
    apart = rng.random((9, 9)) < 0.1 * (seed % 2)
    jobs = kernel.Jobs(
        stages, *offsets_by_size(k, min(k, largest)), (apart | apart.T) if seed % 2 else None
    )
    rows = [tuple(part) for part in np.split(rng.permutation(9), [1, 3, 4, 6, 8])]
    if name == "divide_pairs":
        rows += [(), ()]
    members = padded(rows, min(k, largest))
    sizes = (members >= 0).sum(axis=1)
    changed = np.full(len(rows), len(rows) ** 2)
    more = () if name == "exchange_pass" else ((-1.0, 0.0, 0.1)[seed % 3],)
    search = getattr(kernel, name)
    passes = [search(jobs, members, sizes, seed % 4 == 3, changed, n, *more) for n in (1, 2, 3)]
    assert sorted(members[members >= 0].tolist()) == list(range(9))
    if not seed % 2 and name == "exchange_pass":
        before = padded_efficiencies(stages, padded(rows, members.shape[1])).sum()
        assert padded_efficiencies(stages, members).sum() >= before
    return list(map(bool, passes)), members.tolist(), sizes.tolist(), changed.tolist()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", ["exchange_pass", "divide_pairs"])
def test_local_searches(name: str, seed: int) -> None:
    """The built loops change groups as Python does, with the same efficiencies."""
    built, run = (searched(kernel, name, seed) for kernel in SEARCHES)
    assert built == run


def priced(kernel: ModuleType, name: str, seed: int) -> tuple[Any, ...]:
    """Return the groups above prices, with their values and shares, and how many there are."""
    rng = np.random.default_rng(seed)
    made = dlsched.generate("interleaving", seed, jobs=9, resources=3 + seed % 2)
    if seed % 3:
        made = made.model_copy(update={"grouping": "cover", "gpu_budget": 9})
    apart = rng.random((9, 9)) < 0.1
    pool = Pool(made, apart=(apart | apart.T) & ~np.eye(9, dtype=bool) if seed % 4 > 1 else None)
    profiles = pool.classes[0].at(Prices(rng.uniform(-0.05, 0.4, len(pool.profiles)), 0.0))
    tables, n = growth_tables(profiles), len(profiles.sums)
    query = Query((0.0, 0.1)[seed % 2], (3, 100)[seed % 2], (20, 500)[seed % 3 // 2], seed % 5 == 4)
    members = np.full((query.capacity, pool.largest), -1)
    values, share = np.zeros((2, query.capacity))
    if name == "price_class":
        answer = kernel.price_class(0, n, tables, profiles, query, members, values)
        return *answer, members.tolist(), values.tolist()
    moved = np.ascontiguousarray(profiles.rotated.transpose(0, 2, 1))
    found = (query.threshold, 0, members, values, share)
    count = kernel.price_pairs(0, n, tables, profiles, moved, *found)
    return count, members.tolist(), values.tolist(), share.tolist()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", ["price_class", "price_pairs"])
def test_pricing(name: str, seed: int) -> None:
    """The built loops find the same groups as Python does, of the same values."""
    built, run = (priced(kernel, name, seed) for kernel in PRICING)
    assert built == run

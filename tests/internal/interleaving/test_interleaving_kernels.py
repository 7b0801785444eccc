"""Internal: interleaving's kernels against brute force, built and run by Python."""

from itertools import combinations, combinations_with_replacement, product
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from dlsched.problems.interleaving import Instance
from dlsched.problems.interleaving.kernels import local_search, pricing
from dlsched.problems.interleaving.programs.column_pool import GroupPool
from dlsched.problems.interleaving.programs.columns import Prices, Profiles, Query, growth_tables
from dlsched.problems.interleaving.structures.groups import offsets_by_size, padded
from dlsched.testing import strategies
from drawing import drawn
from interleaving_instances import gamma_in_doubles
from kernel_sources import as_python

HOME = "problems.interleaving.kernels"
PRICING = (pricing, as_python(f"{HOME}.pricing"))
INSTANCES = st.one_of(
    strategies.interleaving(max_jobs=7), strategies.interleaving(max_jobs=6, scales=True)
)
SEEDS = st.integers(0, 2**32 - 1)


def priced_class(instance: Instance, seed: int) -> Profiles:
    """Return the profiles of a class at drawn prices, in two of three cases with pairs apart."""
    rng = np.random.default_rng(seed)
    n = len(instance.jobs)
    apart = np.triu(rng.random((n, n)) < 0.2 * (seed % 3), 1)
    pool = GroupPool(instance, apart=apart | apart.T if seed % 3 else None)
    weights = pool.class_weights[pool.class_of]
    gpu = 0.0 if pool.budget is None else float(rng.uniform(0, 0.2))
    return pool.classes[0].at(Prices(weights * rng.uniform(-0.1, 0.4, len(weights)), gpu))


def every_group(of: Profiles) -> dict[tuple[int, ...], float]:
    """Return the reduced values of all groups, by their profiles in order."""
    values = {}
    for size in range(of.smallest, of.largest + 1):
        for row in combinations_with_replacement(range(len(of.sums)), size):
            few = all(row.count(p) <= of.multiplicity[p] for p in row)
            if few and not (len(of.apart) and any(of.apart[p, q] for p, q in combinations(row, 2))):
                worth = of.weight * gamma_in_doubles(of.rotated[0][list(row)])
                values[row] = worth - of.fixed - sum(of.prices[p] for p in row)
    return values


def best_of(members: Any, values: Any) -> dict[tuple[int, ...], float]:
    """Return the largest value of each group that was found, in whichever order of its jobs."""
    best: dict[tuple[int, ...], float] = {}
    for row, value in zip(members.tolist(), values.tolist(), strict=True):
        key = tuple(sorted(p for p in row if p >= 0))
        best[key] = max(value, best.get(key, -np.inf))
    return best


@pytest.mark.parametrize("kernel", PRICING, ids=["built", "python"])
@pytest.mark.parametrize("search", ["price_class", "price_pairs"])
def test_pricing_finds_all_groups_above_a_threshold(kernel: ModuleType, search: str) -> None:
    """Those of brute force and no others, with the largest value, and each job's largest share."""

    @drawn(180, INSTANCES, SEEDS)
    @np.errstate(over="ignore")  # built loops do not say that times are too far apart
    def run(instance: Instance, seed: int) -> None:
        if not instance.jobs or (search == "price_pairs" and instance.group_limit not in (3, 4)):
            return
        of = priced_class(instance, seed)
        threshold = of.weight * (0.0, 0.1)[seed % 2]
        every = every_group(of)
        margin = 1e-9 * (of.weight + abs(of.prices).max() + of.fixed)
        above = {key: value for key, value in every.items() if value > threshold + margin}
        members, values = np.full((5000, of.largest), -1), np.zeros(5000)
        share = np.zeros(len(of.sums))
        tables = growth_tables(of)
        if search == "price_class":
            query = Query(threshold, 5000, 5000)
            count, best = kernel.price_class(0, len(of.sums), tables, of, query, members, values)
            highest = max(every.values(), default=-np.inf)
            assert max(best, threshold) == pytest.approx(max(highest, threshold), abs=margin)
        else:
            moved = np.ascontiguousarray(of.rotated.transpose(0, 2, 1))
            count = kernel.price_pairs(
                0, len(of.sums), tables, of, moved, threshold, 0, members, values, share
            )
            least, most = (
                [max((every[key] / len(key) for key in keys if p in key), default=0.0)
                 for p in range(len(share))]
                for keys in (above, [key for key in every if every[key] > threshold - margin])
            )  # fmt: skip
            assert (share >= np.array(least) - margin).all()
            assert (share <= np.array(most) + margin).all()
        found = best_of(members[:count], values[:count])
        assert above.keys() <= found.keys() <= every.keys()
        assert all(value == pytest.approx(every[k], abs=margin) for k, value in found.items())
        assert all(value > threshold for value in found.values())

    run()


def jobs_of(kernel: ModuleType, rng: np.random.Generator, limited: bool, k: int) -> Any:
    """Return nine jobs of a local search, their stages, and which must not share."""
    largest = int(rng.integers(2, min(k, 4) + 1))
    stages = np.eye(k)[rng.integers(k, size=9)] + rng.integers(0, 7, (9, k))
    apart = np.triu(rng.random((9, 9)) < 0.1, 1) * limited
    apart |= apart.T
    made = kernel.Jobs(stages, *offsets_by_size(k, largest), apart if limited else None)
    return made, largest, stages, apart


def worth_of(stages: Any, apart: Any, *groups: Any) -> float:
    """Return the efficiencies of groups, less 100 for each pair that must not share."""
    bad = sum(apart[i, j] for group in groups for i, j in combinations(group, 2))
    return sum(gamma_in_doubles(stages[list(g)]) for g in groups if len(g)) - 100.0 * bad


@pytest.mark.parametrize(
    "kernel", [local_search, as_python(f"{HOME}.local_search")], ids=["built", "python"]
)
@pytest.mark.parametrize("search", ["exchange_pass", "divide_pairs"])
@pytest.mark.parametrize("seed", range(12))
def test_local_searches_end_where_nothing_helps(seed: int, search: str, kernel: ModuleType) -> None:
    """No pass is worse; at the end no swap or move, or no division, of two groups is better."""
    rng = np.random.default_rng(seed)
    jobs, largest, stages, apart = jobs_of(kernel, rng, bool(seed % 2), 2 + seed % 4)
    uniform = seed % 4 == 3
    cuts = [2, 4, 6, 8] if uniform or largest == 2 else [1, 3, 4, 6, 8]
    rows = [tuple(part) for part in np.split(rng.permutation(9), cuts)]
    price = (-1.0, 0.0, 0.1)[seed % 3]
    more = [(), ()] if search == "divide_pairs" and not uniform else []
    members = padded([*rows, *more], largest)
    sizes = (members >= 0).sum(axis=1)
    changed = np.full(len(members), len(members) ** 2)
    options = () if search == "exchange_pass" else (price,)

    def groups() -> list[list[int]]:
        return [row[:n].tolist() for row, n in zip(members, sizes, strict=True)]

    def value(*of: Any) -> float:
        cost = max(0.0, price) * sum(map(bool, map(len, of))) if options else 0.0
        return worth_of(stages, apart, *of) - cost

    before = value(*groups())
    for number in range(1, 40):
        if not getattr(kernel, search)(jobs, members, sizes, uniform, changed, number, *options):
            break
        now = value(*groups())
        assert now >= before
        before = now
    else:
        raise AssertionError("the search does not end")
    assert sorted(members[members >= 0].tolist()) == list(range(9))
    for first, second in combinations(groups(), 2):
        for new in neighbours(first, second, search, uniform, largest, price):
            assert value(*new) <= value(first, second) + 1e-9


def neighbours(
    first: list[int], second: list[int], search: str, uniform: bool, largest: int, price: float
) -> Any:
    """Yield what a local search may make of two groups."""
    sizes = sorted((len(first), len(second)))
    for side in product((0, 1), repeat=sum(sizes)):
        both = list(zip([*first, *second], side, strict=True))
        parts = [[j for j, s in both if s == which] for which in (0, 1)]
        new = sorted(map(len, parts))
        if new[1] > largest or (uniform and new != sizes):
            continue
        if search == "divide_pairs":
            if price >= 0 or (new[0] > 0) == (sizes[0] > 0):
                yield parts
            continue
        moved = len(set(parts[0]) - set(first)), len(set(first) - set(parts[0]))
        if moved == (1, 1) or (moved in ((0, 1), (1, 0)) and new[0] and sizes[0]):
            yield parts

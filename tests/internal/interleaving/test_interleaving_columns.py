"""Internal: bounds by prices of groups, exact passes wherever they stop, matchings' odd sets."""

from itertools import count

import networkx
import numpy as np
import pytest
from hypothesis import strategies as st

import dlsched
from dlsched import Run
from dlsched.problems.interleaving import Instance
from dlsched.problems.interleaving.heuristics import initial_groups
from dlsched.problems.interleaving.heuristics.matching import SCALE
from dlsched.problems.interleaving.heuristics.odd_sets import OddSets
from dlsched.problems.interleaving.programs.column_pool import GroupPool
from dlsched.problems.interleaving.programs.columns import Prices, Query
from dlsched.problems.interleaving.programs.exact_pass import (
    full_efficiency,
    proved,
    raised,
    search,
)
from dlsched.problems.interleaving.programs.large_relaxation import LargeRelaxation
from dlsched.problems.interleaving.programs.tunables import LargeTunables
from dlsched.problems.interleaving.structures.groups import pair_efficiencies
from dlsched.testing import oracles, strategies
from drawing import drawn

INSTANCES = st.one_of(
    strategies.interleaving(max_jobs=7), strategies.interleaving(max_jobs=6, scales=True)
)
SEEDS = st.integers(0, 2**32 - 1)
HUGE = [1e30, -1e30, 1e15, 5e-324, 0.0]
EVERYTHING = Query(0.0, 100_000, 100_000)


def prices_of(pool: GroupPool, seed: int) -> Prices:
    """Draw prices near those at which some groups are above and some below."""
    rng = np.random.default_rng(seed)
    weight = pool.class_weights[pool.class_of]
    gpu = 0.0 if pool.budget is None else float(rng.uniform(0, 0.2))
    return Prices(weight * rng.uniform(-0.05, 0.4, len(weight)), gpu)


@drawn(60, INSTANCES, st.lists(st.floats(-1, 2) | st.sampled_from(HUGE), min_size=7, max_size=7))
def test_prices_of_any_size_give_a_bound(instance: Instance, numbers: list[float]) -> None:
    """Any prices, up to 1e30, bound the optimum, and at most by full efficiency."""
    if instance.jobs:
        pool = GroupPool(instance)
        gpu = 0.0 if pool.budget is None else abs(numbers[-1])
        prices = Prices(np.array(numbers[: len(pool.profiles)]), gpu)
        priced = pool.price(prices, Query(-np.inf, 1, 1), Run())
        assert priced is not None
        bound = pool.bound(prices, priced.highest)
        assert oracles.interleaving(instance)[0] <= bound <= pool.full_efficiency


class Stopped(Run):
    """A run that a limit stops at the n-th look at it."""

    def __init__(self, looks: int) -> None:
        super().__init__(time_limit=1.0)
        self.looks = count(1 - looks)

    def remaining(self) -> float:
        """Return 0 from the n-th call on."""
        return float(next(self.looks) < 0)


@drawn(60, INSTANCES, SEEDS, st.integers(0, 6), st.sampled_from([0.0, 0.05]))
def test_a_bound_holds_wherever_a_pass_is_stopped(
    instance: Instance, seed: int, looks: int, above: float
) -> None:
    """No group exceeds the prices that it proves, and they bound brute force's optimum."""
    if not instance.jobs:
        return
    listed, pool = GroupPool(instance, listed=True), GroupPool(instance)
    known, none = full_efficiency(pool), np.zeros(len(pool.classes))
    optimum = oracles.interleaving(instance)[0]
    for part, more in ((looks, 0), (looks // 2, 1)):
        prices = prices_of(pool, seed + more)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(f"{search.__module__}.LARGE", LargeTunables(pairs_at_once=1))
            found = search(pool, prices, above, 5_000, Stopped(part))
        known = proved(pool, prices, found, known)
        assert listed.listed is not None
        assert (listed.reduced(known, listed.listed) <= 0).all()
        assert optimum <= pool.bound(known, none)


@drawn(30, INSTANCES, SEEDS)
def test_raised_prices_are_exceeded_by_no_group(instance: Instance, seed: int) -> None:
    """They are nowhere lower; a pass at them finds no group, and they bound the optimum."""
    if not instance.jobs:
        return
    pool, listed = GroupPool(instance), GroupPool(instance, listed=True)
    prices = prices_of(pool, seed)
    priced = pool.price(prices, EVERYTHING, Run())
    assert priced is not None and listed.listed is not None
    higher = raised(pool, prices, priced.groups, Run())
    if higher is None:
        assert not len(priced.groups)
        return
    assert (higher.rows >= prices.rows).all()
    assert (listed.reduced(higher, listed.listed) <= 0).all()
    bound = pool.bound(higher, np.zeros(len(pool.classes)))
    assert oracles.interleaving(instance)[0] <= bound
    assert bound <= pool.bound(prices, priced.highest) + 1e-9 * pool.class_weights.max()


@drawn(25, INSTANCES)
def test_bounds_of_the_large_relaxation_are_above_the_optimum(instance: Instance) -> None:
    """Every bound is at least brute force's optimum, and the last one is near the smoothed one."""
    if not instance.jobs:
        return
    pool, optimum = GroupPool(instance), oracles.interleaving(instance)[0]
    groups = pool.groups_of_jobs(initial_groups(instance, Run()))
    relaxation, none = LargeRelaxation(pool, Run(), groups), np.zeros(len(pool.classes))
    found = [pool.bound(prices, none) for prices in relaxation.bounds(np.inf)]
    smoothed = dlsched.solve(instance, "lagrangian").certified[0].value
    assert found and min(found) >= optimum
    assert float(min(found)) <= float(smoothed) * (1 + 1e-4)


@pytest.mark.parametrize("n", [9, 30, 61])
def test_matchings_weigh_at_most_the_bound_less_their_slack(n: int) -> None:
    """From six random edges per node, random matchings and the heaviest one obey the bound."""
    rng = np.random.default_rng(n)
    stages = rng.dirichlet(np.full(4, 0.5), n) * rng.lognormal(size=(n, 1))
    units = np.rint(pair_efficiencies(stages) * SCALE)
    kept = rng.random((n, n)) < 6 / n
    kept |= kept.T
    relaxation = OddSets(units, SCALE, np.argwhere(np.triu(kept, 1)), Run())
    slack, doubled = relaxation.tighten(weight=0, enough=0)
    assert slack.min() >= 0
    graph = networkx.Graph()
    graph.add_weighted_edges_from((i, j, int(units[i, j])) for i in range(n) for j in range(i))
    assert 2 * sum(units[i, j] for i, j in networkx.max_weight_matching(graph)) <= doubled
    for _ in range(20):
        i, j = rng.permutation(n)[: n // 2 * 2].reshape(2, -1)
        assert 2 * units[i, j].sum() + slack[i, j].sum() <= doubled

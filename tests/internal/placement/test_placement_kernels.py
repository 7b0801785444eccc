"""Internal: placement's kernels against brute force and the checker, and built against Python."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import dlsched
from dlsched import Run
from dlsched.problems.placement import Instance
from dlsched.problems.placement.definition.check import check
from dlsched.problems.placement.heuristics import initial_homes, solution_of
from dlsched.problems.placement.heuristics.annealing import Search
from dlsched.problems.placement.heuristics.tempering import Replicas
from dlsched.problems.placement.kernels import cell_bound, local_search, path_sums
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.gpu_cells import (
    Cell,
    cells_of,
    penalties_of,
    unplaced,
)
from dlsched.problems.placement.programs.indivisible_bounds import relaxed_squares
from dlsched.problems.placement.structures.arrays import arrays
from dlsched.problems.placement.structures.state import COST, INFEASIBILITY, MOVED, State, state_of
from dlsched.testing import strategies
from drawing import drawn
from kernel_sources import as_python


def both(kernel: ModuleType) -> Iterator[ModuleType]:
    """Yield a kernel as it is built, and as Python runs it."""
    yield kernel
    yield as_python(kernel.__name__.removeprefix("dlsched."))


def assert_fresh(data: Any, state: State) -> State:
    """Require that a state is what its homes are, and return that."""
    fresh = state_of(data, state.home)
    for name in ("job_region", "near", "demand", "stored", "cpu"):
        assert np.array_equal(getattr(state, name), getattr(fresh, name))
    assert np.array_equal(state.sums[MOVED:], fresh.sums[MOVED:])
    assert state.part == pytest.approx(fresh.part) and state.gpu == pytest.approx(fresh.gpu)
    assert state.sums == pytest.approx(fresh.sums, rel=1e-9, abs=1e-9)
    return fresh


@drawn(60, strategies.placement(max_tables=6, max_jobs=6), st.integers(0, 99))
def test_moves_change_the_sums_as_the_checker_says(made: Instance, seed: int) -> None:
    """A move that is tried changes nothing; done, the sums are the checker's at each placement."""
    data, rng = arrays(made), np.random.default_rng(seed)
    state = state_of(data, initial_homes(data))
    for _ in range(6):
        report = check(made, solution_of(made, state))
        cost = float(report.objective.cost)
        assert state.sums[COST] == pytest.approx(cost, rel=1e-9, abs=1e-12)
        fits = state.sums[INFEASIBILITY] == 0 and state.sums[MOVED] <= data.quota
        assert fits == report.feasible
        move = rng.integers(len(made.tables), size=1), rng.integers(len(made.regions), size=1)
        before = [values.copy() for values in state[:-1]]
        tried, done = np.zeros((2, 2, 1))
        local_search.move_each(*state.packed, *move, False, *tried)
        assert all(map(np.array_equal, state[:-1], before))
        local_search.move_each(*state.packed, *move, True, *done)
        assert np.array_equal(done, tried)
        changed = state.sums - before[-1]
        assert changed[[COST, INFEASIBILITY]] == pytest.approx(tried[:, 0], abs=1e-9)
        assert_fresh(data, state)


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("temperature", [1e-300, 1e-3, 1e3])
def test_annealing_leaves_the_state_of_its_homes(version: str, temperature: float) -> None:
    """After 2,000 trials, clusters among them, the state is a fresh one's; all or few accepted."""
    # The penalty is so low that capacities, quotas of CPU hours and (6) are violated on the way.
    inst = dlsched.generate(
        "placement", 7, tables=40, regions=4, jobs=60, version=version, at_home=0.8,
        storage_utilization=0.9,
    )  # fmt: skip
    data, rng, n = arrays(inst), np.random.default_rng(1), 2_000
    state = state_of(data, initial_homes(data))
    flat = np.full(n, temperature), np.full(n, 1e-3), rng.random((n, local_search.DRAWS))
    best = local_search.anneal(*state.packed, *flat)
    assert_fresh(data, state)
    assert state_of(data, state.best).sums[[COST, INFEASIBILITY]] == pytest.approx(best, rel=1e-9)


@drawn(10, strategies.placement(), st.integers(0, 99), quick=4)
def test_changes_of_a_placement(made: Instance, seed: int) -> None:
    """Climbing and annealing end alike, built and run by Python, with a clean work space."""
    data, ends = arrays(made), []
    for kernel in both(local_search):
        rng, state = np.random.default_rng(seed), state_of(data, initial_homes(data))
        packed = kernel.Data(data), kernel.State(*state[:-1])
        kernel.recompute(*packed)
        tables = rng.permutation(len(data.size))
        region, worse, cost = np.zeros_like(tables), *np.zeros((2, len(tables)))
        kernel.climb(*packed, tables, region, worse, cost, True)
        draws = rng.random((150, kernel.DRAWS))
        best = kernel.anneal(*packed, np.geomspace(1.0, 1e-4, 150), np.full(150, 0.3), draws)
        found = best, region.tolist(), worse.tolist(), cost.tolist()
        ends.append([*found, *(values.tolist() for values in state[:-1])])
        for scratch in ("listed", "seen", "marked", "votes"):
            assert kernel is local_search or not getattr(packed[1], scratch).any()
    assert ends[0] == ends[1]


@drawn(60, st.lists(st.floats(0.01, 0.5), max_size=5), st.lists(st.floats(0, 1), min_size=1,
       max_size=3))  # fmt: skip
def test_divisible_items_have_the_least_squares(shares: list[float], goals: list[float]) -> None:
    """No placement of the items has less than they have if they are divisible."""
    items, target = np.array(sorted(shares, reverse=True)), np.array(goals)
    optimum = np.inf
    for regions in product(range(len(goals)), repeat=len(shares)):
        load = np.bincount(np.array(regions, dtype=int), items, minlength=len(goals))
        optimum = min(optimum, float(((load - target) ** 2).sum()))
    relaxed = relaxed_squares(-target, float(items.sum()))
    # Water filling: the lowest regions, those below the level, share what is left over.
    deepest = np.cumsum(np.sort(target)[::-1])
    level = max((total - items.sum()) / n for n, total in enumerate(deepest, 1))
    assert relaxed == pytest.approx(float((np.minimum(target, level) ** 2).sum()), abs=1e-12)
    assert relaxed <= optimum + 1e-12


def exact_cost(shares: Shares, key: tuple[int, int], homes: tuple[int, ...]) -> Fraction:
    """Return the cost of a cell by its weight, in fractions."""
    k, _ = key
    load = [-row[k] for row in shares.supply]
    paid, penalties = Fraction(0), penalties_of(shares)[key]
    for g, part in shares.demand[key].items():
        _, at, jobs = shares.groups[g]
        home = {f"t{t}": homes[t] for t in at}
        region = shares.instance.region_of(shares.instance.jobs[jobs[0]], home)
        if region is None:
            paid += penalties[g]
        else:
            load[region] += part
    return sum((d**2 for d in load), Fraction(0)) + paid


@drawn(12, strategies.placement(max_jobs=6, scales=True), quick=4)
def test_no_cell_costs_less_than_its_bound(instance: Instance) -> None:
    """By enumeration in fractions, with and without homes given, and however short the search."""
    shares = Shares(instance)
    regions = range(len(instance.regions))
    placements = list(product(regions, repeat=len(instance.tables)))
    given = np.array([t % (len(regions) + 1) - 1 for t in range(len(instance.tables))])
    for key, cell in cells_of(shares).items():
        costs = {homes: exact_cost(shares, key, homes) for homes in placements}
        agreeing = [
            cost for homes, cost in costs.items()
            if all(r in (-1, h) for r, h in zip(given.tolist(), homes, strict=True))
        ]  # fmt: skip
        for nodes in (0, 2, 2000):
            assert cell_bound.least_cost(cell, unplaced(cell), nodes) <= min(costs.values())
            assert cell_bound.least_cost(cell, given[cell.names], nodes) <= min(agreeing)


@pytest.mark.parametrize(
    ("penalty", "share", "target", "expected"),
    [
        (9.0, [1.0], [0.5, 0.5], 0.5),  # in one region: 2 * 0.5 ** 2
        (0.1, [1.0], [0.25, 0.75], 0.125),  # there: 2 * 0.25 ** 2; nowhere: 0.625 + 0.1
        (0.1, [1.0], [0.2, 0.2, 0.2, 0.2, 0.2], 0.3),  # there: 0.8; nowhere: 0.2 + 0.1
        (0.0, [0.5, 0.5], [0.5, 0.5], 0.0),
        (9.0, [0.4, 0.3, 0.3], [0.5, 0.5], 0.02),  # 0.6 and 0.4
    ],
)
def test_cells_by_hand(
    penalty: float, share: list[float], target: list[float], expected: float
) -> None:
    """The search that ends is exact; with its two tables in two regions an item pays."""
    n = len(share)
    cell = Cell(
        np.array(share), penalty * np.array(share), np.zeros(n, dtype=np.int64),
        np.arange(0, 2 * n + 1, 2), np.arange(2 * n), np.arange(2 * n), np.arange(n),
        np.array(target), np.array([target.index(part) for part in target]),
    )  # fmt: skip
    for kernel in both(cell_bound):
        assert kernel.least_cost(cell, unplaced(cell), 500) == pytest.approx(expected, abs=1e-12)
        nowhere = sum(part**2 for part in target) + penalty * sum(share)
        assert kernel.least_cost(cell, np.arange(2 * n) % 2, 0) == pytest.approx(nowhere)


def test_sums_over_paths() -> None:
    """On random trees of paths, the sums are those of each pair by itself."""
    rng, nodes, tables, joint = np.random.default_rng(1), 12, 5, 8
    before = np.array([[-1, *(int(rng.integers(n)) for n in range(1, nodes))]] * 3)
    distance = np.cumsum(rng.random((3, nodes)), axis=1)
    paths = SimpleNamespace(
        sources=np.zeros(3, dtype=np.int64), reach=np.array([3.0, 5.0, 99.0]),
        distance=distance, before=before, order=np.argsort(distance, axis=1),
    )  # fmt: skip
    rows, weights = np.array([2, 0, 1]), rng.integers(0, 9, size=(3, nodes))
    expected = np.zeros_like(weights)
    for i, s in enumerate(rows):
        for row in np.flatnonzero(distance[s] < paths.reach[s]):
            expected[i, 0] += weights[i, row]
            node = row
            while node:
                last = before[s, node]
                if node >= joint or (node >= tables and last < tables):
                    expected[i, [last, node]] += weights[i, row] * np.array([-1, 1])
                node = last
    for kernel in both(path_sums):
        assert np.array_equal(kernel.sum_pairs(paths, rows, weights, tables, joint), expected)


def test_replicas_exchange_by_metropolis_rule() -> None:
    """The chance is that of the joint distribution, of costs at different temperatures."""
    data, run = arrays(dlsched.generate("placement", 1, tables=40, regions=4, jobs=60)), Run()
    search = Search(data, state_of(data, initial_homes(data)), run)
    replicas, rng = Replicas(search, 5), np.random.default_rng(1)
    replicas.ranks[:] = rng.random((5, 2)) * (0, search.best[1])
    cost, heat = replicas.ranks[:, 1].copy(), replicas.temperatures
    stay = cost[:-1] / heat[:-1] + cost[1:] / heat[1:]
    change = cost[1:] / heat[:-1] + cost[:-1] / heat[1:]
    expected = np.minimum(1.0, np.exp(stay - change))[::2]
    assert replicas.exchange(np.array([0, 2])) == pytest.approx(expected)

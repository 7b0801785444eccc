"""The loops of placement give the same results, built and run by Python."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

import numpy as np
from hypothesis import strategies as st

from dlsched.problems.placement import Instance
from dlsched.problems.placement.heuristics import initial_homes
from dlsched.problems.placement.kernels import cell_bound, least_squares, local_search, path_sums
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.gpu_cells import unplaced, whole_cells_of
from dlsched.problems.placement.structures.arrays import arrays
from dlsched.problems.placement.structures.state import state_of
from dlsched.testing import strategies
from drawing import drawn
from kernel_sources import as_python


def both(kernel: ModuleType) -> Iterator[ModuleType]:
    """Yield a kernel as it is built, and as Python runs it."""
    yield kernel
    yield as_python(kernel.__name__.removeprefix("dlsched."))


@drawn(15, strategies.placement(), st.integers(0, 99), quick=4)
def test_changes_of_a_placement(made: Instance, seed: int) -> None:
    """Hill climbing and annealing end with the same homes and sums, and clean work space."""
    data, ends = arrays(made), []
    for kernel in both(local_search):
        rng = np.random.default_rng(seed)
        state = state_of(data, initial_homes(data))
        record = kernel.State(*state[:-1])
        packed = kernel.Data(data), record
        kernel.recompute(*packed)
        tables = rng.permutation(len(data.size))
        region, worse, cost = np.zeros_like(tables), *np.zeros((2, len(tables)))
        kernel.climb(*packed, tables, region, worse, cost, True)
        draws = rng.random((150, kernel.DRAWS))
        best = kernel.anneal(*packed, np.geomspace(1.0, 1e-4, 150), np.full(150, 0.3), draws)
        found = [best, region.tolist(), worse.tolist(), cost.tolist()]
        ends.append([*found, *(values.tolist() for values in state[:-1])])
    assert ends[0] == ends[1]
    for scratch in (record.listed, record.seen, record.marked, record.votes):
        assert not scratch.any()


@drawn(10, strategies.placement(max_jobs=6, scales=True), quick=3)
def test_bounds_of_cells(made: Instance) -> None:
    """The bound is the same, however many nodes, with homes and without."""
    for cell, _ in whole_cells_of(Shares(made)).values():
        given = cell.names % (len(cell.target) + 1) - 1
        for homes in (unplaced(cell), given):
            for nodes in (0, 3, 60):
                built, python = (k.least_cost(cell, homes, nodes) for k in both(cell_bound))
                assert built == python


SHARES = st.lists(st.floats(0.01, 0.5), min_size=1, max_size=6)


@drawn(30, SHARES, st.lists(st.floats(0, 1), min_size=1, max_size=3))
def test_least_squares(shares: list[float], goals: list[float]) -> None:
    """The search gives the same sum, to its end and cut short."""
    items, target = np.array(sorted(shares, reverse=True)), np.array(goals)
    for nodes in (2, 1000):
        built, python = (k.min_squares(items, target, nodes) for k in both(least_squares))
        assert built == python


def test_sums_over_paths() -> None:
    """On random trees of paths, the sums are the same, and those of each pair by itself."""
    rng, nodes, tables, joint = np.random.default_rng(1), 12, 5, 8
    before = np.array([[-1, *(int(rng.integers(n)) for n in range(1, nodes))]] * 3)
    distance = np.cumsum(rng.random((3, nodes)), axis=1)
    order = np.argsort(distance, axis=1)
    paths = SimpleNamespace(
        sources=np.zeros(3, dtype=np.int64), reach=np.array([3.0, 5.0, 99.0]),
        distance=distance, before=before, order=order,
    )  # fmt: skip
    rows, weights = np.array([2, 0, 1]), rng.integers(0, 9, size=(3, nodes))
    built, python = (k.sum_pairs(paths, rows, weights, tables, joint) for k in both(path_sums))
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
    assert np.array_equal(built, python) and np.array_equal(built, expected)

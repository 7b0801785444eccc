"""Bounds of the GPU cost of cells: below every placement, and exact where the search ends."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from placement_instances import job

import dlsched
from dlsched.problems.placement import Instance
from dlsched.problems.placement.kernels.cell_bound import least_cost
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.gpu_cells import (
    Cell,
    cells_of,
    traffic_of,
    unplaced,
    weights_of,
    whole_cells_of,
)
from dlsched.problems.placement.programs.indivisible_bounds import cell_bound, gpu_bound
from dlsched.testing import oracles, strategies
from drawing import drawn


def exact_cost(shares: Shares, key: tuple[int, int], homes: tuple[int, ...]) -> Fraction:
    """Return the cost of a cell by its weight, each group with all of its bytes, in fractions."""
    k, _ = key
    load = [-row[k] for row in shares.supply]
    paid, bytes_ = Fraction(0), traffic_of(shares)
    for g, part in shares.demand[key].items():
        _, at, jobs = shares.groups[g]
        home = {f"t{t}": homes[t] for t in at}
        region = shares.instance.region_of(shares.instance.jobs[jobs[0]], home)
        if region is None:
            paid += bytes_[g]
        else:
            load[region] += part
    return sum((d**2 for d in load), Fraction(0)) + paid / weights_of(shares)[key]


@drawn(10, strategies.placement(max_jobs=6, scales=True), quick=3)
def test_no_cell_costs_less_than_its_bound(instance: Instance) -> None:
    """By enumeration in fractions, with and without homes given, and however short the search."""
    shares = Shares(instance)
    regions = range(len(instance.regions))
    placements = list(product(regions, repeat=len(instance.tables)))
    given = np.array([t % (len(regions) + 1) - 1 for t in range(len(instance.tables))])
    for key, (cell, _) in whole_cells_of(shares).items():
        costs = {homes: exact_cost(shares, key, homes) for homes in placements}
        agreeing = [
            cost for homes, cost in costs.items()
            if all(r in (-1, h) for r, h in zip(given.tolist(), homes, strict=True))
        ]  # fmt: skip
        for nodes in (0, 2, 2000):
            assert least_cost(cell, unplaced(cell), nodes) <= min(costs.values())
            assert least_cost(cell, given[cell.names], nodes) <= min(agreeing)


@drawn(8, strategies.placement(max_jobs=6, scales=True))
def test_cells_that_share_a_group_share_its_bytes(instance: Instance) -> None:
    """Added up over the cells, the penalties of a group are at most its bytes."""
    shares = Shares(instance)
    whole = sum(map(float, traffic_of(shares)))
    weights = weights_of(shares)
    paid = sum(
        float(weights[key]) * float(penalty)
        for key, cell in cells_of(shares).items()
        for penalty in cell.penalty if np.isfinite(penalty)
    )  # fmt: skip
    assert paid <= whole * (1 + 1e-9)
    optimum = oracles.placement(instance)
    if optimum is not None:
        assert gpu_bound(shares) <= optimum.cost
        for limits in ({"nodes": 40}, {"tables": 2, "nodes": 3, "job_nodes": 0}):
            tree = dlsched.bound(instance, "home_tree", **limits)
            assert tree.cost.kind == "certified"
            assert tree.cost.value <= optimum.cost


def lone_cell(penalty: float, share: list[float], target: list[float]) -> Cell:
    """Return a cell with items of two tables each and one penalty by share."""
    n = len(share)
    return Cell(
        np.array(share), penalty * np.array(share), np.zeros(n, dtype=np.int64),
        np.arange(0, 2 * n + 1, 2), np.arange(2 * n), np.arange(2 * n), np.arange(n), np.arange(n),
        np.array(target), np.array([target.index(part) for part in target]),
    )  # fmt: skip


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
    """The search that ends is exact; with tables in two regions the item pays."""
    cell = lone_cell(penalty, share, target)
    assert least_cost(cell, unplaced(cell), 500) == pytest.approx(expected, abs=1e-12)
    apart = np.arange(2 * len(share)) % 2
    nowhere = sum(part**2 for part in target) + penalty * sum(share)
    assert least_cost(cell, apart, 0) == pytest.approx(nowhere)


def test_a_job_that_must_run_counts() -> None:
    """A job of one table, or of Spark, has no way out; one with two tables pays its bytes."""
    plain = dlsched.load("mast-two-regions")
    hours = {"A100": 5}
    jobs = [
        job("one", ["clicks"], hours),
        job("two", ["users", "ads"], hours, "spark"),
        job("three", ["users", "ads"], hours),
    ]
    found = []
    for row in jobs:
        only = Instance.model_validate(plain.model_dump() | {"jobs": [row]})
        (cell,) = cells_of(Shares(only)).values()
        found.append(cell_bound(cell))
    must = 2 * 0.5**2
    assert found[:2] == pytest.approx([must, must], abs=1e-12)
    assert found[2] == pytest.approx(must, abs=1e-12)  # its bytes, 1, are dearer

"""Muri's rounds, the sparse matching's certificate, and the baselines."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from hypothesis import given, settings

import dlsched
from dlsched.problems.interleaving import Instance
from dlsched.problems.interleaving.groups import pair_efficiencies, stage_array
from dlsched.problems.interleaving.matching import NOTHING, SCALE, match, match_types
from dlsched.problems.interleaving.muri import Rounds
from dlsched.testing import oracles, strategies

RULES = ("muri", "muri_needed", "swap", "greedy", "muri_worst_order")


def dense_weight(weights: np.ndarray) -> int:
    """Return the weight of networkx's matching on the dense graph, in units of 1 / SCALE."""
    units = np.rint(weights * SCALE).astype(np.int64).tolist()
    graph = networkx.Graph()
    n = len(units)
    graph.add_weighted_edges_from((i, j, units[i][j]) for i in range(n) for j in range(i))
    return sum(units[i][j] for i, j in networkx.max_weight_matching(graph))


@pytest.mark.parametrize("n", [2, 3, 7, 16, 31, 60])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_sparse_matching_is_as_heavy_as_the_dense_one(n: int, seed: int) -> None:
    """The certificate says that nothing is missed, and networkx on all edges agrees."""
    made = dlsched.generate("interleaving", seed, jobs=64)
    weights = pair_efficiencies(stage_array(made))[:n, :n]
    found = match(weights, degree=min(3, n - 1))
    assert found.missed == 0
    assert found.weight == dense_weight(weights) <= found.ceiling
    rough = match(weights, degree=1, certify=False)
    assert rough.weight + rough.missed >= found.weight


def test_types_are_matched_as_heavily_as_nodes() -> None:
    """40 nodes of 5 types: the program over types weighs what Blossom on nodes does."""
    rng = np.random.default_rng(5)
    for _ in range(10):
        half = rng.uniform(0.1, 1, (5, 5))
        weights = np.where(half + half.T > 0.6, half + half.T, NOTHING)
        counts = rng.integers(1, 9, 5)
        often = match_types(weights, counts)
        nodes = np.repeat(np.arange(5), counts)
        dense = weights[np.ix_(nodes, nodes)] * (weights[np.ix_(nodes, nodes)] > NOTHING)
        np.fill_diagonal(dense, 0)
        assert (often.sum(axis=0) + often.sum(axis=1) <= counts).all()
        assert (often * weights).sum() == pytest.approx(dense_weight(dense) / SCALE, abs=1e-9)


@given(strategies.interleaving())
@settings(max_examples=150, deadline=None, derandomize=True)
def test_rules_are_feasible_and_no_better_than_the_optimum(instance: Instance) -> None:
    """Every rule groups every feasible instance, and none beats brute force."""
    truth = oracles.interleaving(instance)
    for rule in RULES:
        result = dlsched.solve(instance, rule)  # raises if it is infeasible
        assert not result.objective.better_than(truth)


def test_two_rounds_by_hand() -> None:
    """Figure 6's rounds: two pairs first, then one group of four, at gamma 1."""
    instance = dlsched.load("muri-fig6")
    rounds = Rounds(instance)
    (pairs,) = [rounds.pairs(1)]
    assert sorted(len(a) + len(b) for a, b in pairs) == [2, 2]
    assert tuple(dlsched.solve(instance, "muri").objective) == (1,)


def test_swap_is_no_worse_than_its_start() -> None:
    """The local search improves Muri's groups on ten instances of 64 distinct jobs."""
    for seed in range(1, 11):
        instance = dlsched.generate("interleaving", seed, jobs=64)
        muri, swap = (dlsched.solve(instance, rule).objective for rule in ("muri", "swap"))
        assert not muri.better_than(swap)


def test_offsets_are_what_the_worst_order_loses() -> None:
    """The worst offsets of the same groups are strictly worse on Table 2's jobs."""
    instance = dlsched.load("muri-table2")
    muri, worst = dlsched.solve(instance, "muri"), dlsched.solve(instance, "muri_worst_order")
    assert {g.jobs for g in muri.solution.groups} == {g.jobs for g in worst.solution.groups}
    assert muri.objective.better_than(worst.objective)


def test_merging_only_what_is_needed_keeps_singles() -> None:
    """With a loose budget muri_needed leaves jobs alone, as the optimum does; muri merges all."""
    instance = dlsched.generate(
        "interleaving", 1, jobs=60, grouping="cover", distinct=False, budget=0.9
    )
    needed, muri = dlsched.solve(instance, "muri_needed"), dlsched.solve(instance, "muri")
    assert needed.objective.better_than(muri.objective)
    assert min(len(g.jobs) for g in needed.solution.groups) == 1

"""The relaxation of matching with odd sets: its bound, and the matching that it leads to."""

from __future__ import annotations

import networkx
import numpy as np
import pytest

from dlsched.problems.interleaving.heuristics import matching
from dlsched.problems.interleaving.heuristics.matching import SCALE, match
from dlsched.problems.interleaving.heuristics.odd_sets import OddSets
from dlsched.problems.interleaving.structures.groups import pair_efficiencies
from dlsched.run import Run


def heaviest(units: np.ndarray) -> int:
    """Return the weight of networkx's matching of integer weights."""
    n, rows = len(units), units.astype(np.int64).tolist()
    graph = networkx.Graph()
    graph.add_weighted_edges_from((i, j, rows[i][j]) for i in range(n) for j in range(i))
    return sum(rows[i][j] for i, j in networkx.max_weight_matching(graph))


def drawn(seed: int, n: int) -> np.ndarray:
    """Return gamma of pairs with stages from a Dirichlet distribution times a log-normal."""
    rng = np.random.default_rng(seed)
    stages = rng.dirichlet(np.full(4, 0.5), n) * rng.lognormal(size=(n, 1))
    return pair_efficiencies(stages)


def test_two_triangles_by_hand() -> None:
    """Heavy triangles with light edges between: 6 * 1/2 * 5 without their sets, with them 11."""
    units = np.ones((6, 6))
    units[:3, :3] = units[3:, 3:] = 5
    np.fill_diagonal(units, 0)
    relaxation = OddSets(units, 1.0, np.argwhere(np.triu(units, 1)), Run())
    assert relaxation.tighten(weight=11, enough=36)[1] == 2 * 15
    slack, doubled = relaxation.tighten(weight=11, enough=0)
    assert doubled == 2 * 11 == 2 * heaviest(units)
    assert slack.min() >= 0


@pytest.mark.parametrize("n", [9, 30, 61])
@pytest.mark.parametrize("seed", [1, 2])
def test_matchings_weigh_at_most_the_bound_less_their_slack(n: int, seed: int) -> None:
    """From six random edges per node, random matchings and the heaviest one obey the bound."""
    units = np.rint(drawn(seed, n) * SCALE)
    rng = np.random.default_rng(seed)
    kept = rng.random((n, n)) < 6 / n
    kept |= kept.T
    relaxation = OddSets(units, SCALE, np.argwhere(np.triu(kept, 1)), Run())
    slack, doubled = relaxation.tighten(weight=0, enough=0)
    assert slack.min() >= 0
    assert 2 * heaviest(units) <= doubled
    for _ in range(20):
        i, j = rng.permutation(n)[: n // 2 * 2].reshape(2, -1)
        assert 2 * units[i, j].sum() + slack[i, j].sum() <= doubled


@pytest.mark.parametrize("n", [31, 60])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_odd_sets_leave_the_heaviest_matching(
    n: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where odd sets are used for every graph, the matching weighs what networkx's weighs."""
    weights, run = drawn(seed, n), Run()
    plain = match(weights, degree=2)
    monkeypatch.setattr(matching, "_MANY", 0)
    found = match(weights, degree=2, run=run)
    assert found.weight == heaviest(np.rint(weights * SCALE)) == plain.weight
    assert found.weight <= found.ceiling <= plain.ceiling
    assert set(run.solvers) <= {"highs"}

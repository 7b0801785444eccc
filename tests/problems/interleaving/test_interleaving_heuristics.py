"""Muri's rounds, the matching with its certificate and odd sets, and the baselines."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from interleaving_instances import cover, job

import dlsched
from dlsched import Run
from dlsched.problems.interleaving import Instance
from dlsched.problems.interleaving.heuristics import matching
from dlsched.problems.interleaving.heuristics.matching import NO_EDGE, SCALE, match, match_types
from dlsched.problems.interleaving.heuristics.muri import Rounds, improve
from dlsched.problems.interleaving.heuristics.odd_sets import OddSets
from dlsched.problems.interleaving.structures.groups import pair_efficiencies, stage_array


def heaviest(units: np.ndarray) -> int:
    """Return the weight of networkx's matching of integer weights."""
    n, rows = len(units), units.astype(np.int64).tolist()
    graph = networkx.Graph()
    graph.add_weighted_edges_from((i, j, rows[i][j]) for i in range(n) for j in range(i))
    return sum(rows[i][j] for i, j in networkx.max_weight_matching(graph))


@pytest.mark.parametrize("n", [2, 3, 7, 16, 31, 60])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_sparse_matching_is_as_heavy_as_the_dense_one(n: int, seed: int) -> None:
    """From one or three edges per node it finds the weight that networkx finds on all edges."""
    made = dlsched.generate("interleaving", seed, jobs=64)
    weights = pair_efficiencies(stage_array(made))[:n, :n]
    found = match(weights, degree=min(3, n - 1))
    assert found.weight == heaviest(np.rint(weights * SCALE)) <= found.ceiling
    assert match(weights, degree=1).weight == found.weight


def test_matching_types_is_as_heavy_as_matching_nodes() -> None:
    """40 nodes of 5 types: the program over types has the weight of Blossom's matching."""
    rng = np.random.default_rng(5)
    for _ in range(10):
        half = rng.uniform(0.1, 1, (5, 5))
        weights = np.where(half + half.T > 0.6, half + half.T, NO_EDGE)
        counts = rng.integers(1, 9, 5)
        often = match_types(weights, counts, Run())
        nodes = np.repeat(np.arange(5), counts)
        dense = weights[np.ix_(nodes, nodes)] * (weights[np.ix_(nodes, nodes)] > NO_EDGE)
        np.fill_diagonal(dense, 0)
        assert (often.sum(axis=0) + often.sum(axis=1) <= counts).all()
        assert (often * weights).sum() == pytest.approx(
            heaviest(np.rint(dense * SCALE)) / SCALE, abs=1e-9
        )


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


def unit_jobs(*jobs: tuple[str, int, int], budget: int) -> Instance:
    """Return a cover of (id, GPUs, bottleneck) on four resources: stages 4 there, else 1."""
    rows = [job(n, [4 if r == place else 1 for r in range(4)], gpus) for n, gpus, place in jobs]
    return cover(rows, budget)


FOUR = (("a", 1, 0), ("b", 1, 1), ("c", 1, 2), ("d", 1, 3))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_matching_without_time_for_another(seed: int) -> None:
    """The first matching is returned, one of all nodes, with a bound on the heaviest."""
    weights = drawn(seed, 60)
    first, heaviest_one = match(weights, degree=1, seconds=0), match(weights)
    assert sorted(first.pairs.ravel().tolist()) == list(range(60))
    assert first.weight < heaviest_one.weight <= first.ceiling


def test_exchanges_end_at_a_limit() -> None:
    """No pass begins after the limit; the groups stay as they are."""
    made = dlsched.generate("interleaving", 1, jobs=64)
    groups = [tuple(range(g, g + 4)) for g in range(0, 64, 4)]
    assert improve(made, groups, 5, Run(time_limit=0)) == groups
    assert improve(made, groups, 5, Run()) != groups


def test_two_rounds_by_hand() -> None:
    """Four jobs, each with a bottleneck of its own: two pairs first, then one group at gamma 1."""
    instance = unit_jobs(*FOUR, budget=1)
    rounds = Rounds(instance, Run())
    (pairs,) = [rounds.pairs(1)]
    assert sorted(len(a) + len(b) for a, b in pairs) == [2, 2]
    for rule in ("muri", "muri_needed"):
        assert tuple(dlsched.solve(instance, rule).objective) == (1,)


def groups_of(instance: Instance, rule: str, **options: str) -> list[str]:
    """Return the groups as strings of their jobs' letters, sorted."""
    solution = dlsched.solve(instance, rule, **options).solution
    return sorted("".join(sorted(g.jobs)) for g in solution.groups)


def test_the_public_code_stops_merging_when_the_gpus_suffice() -> None:
    """Of four jobs on three GPUs one pair is merged, the one that ends first; Algorithm 1: all."""
    pair = unit_jobs(("a", 1, 0), ("b", 1, 1), ("c", 1, 0), ("d", 1, 1), budget=3)
    assert [len(g) for g in groups_of(pair, "muri")] == [4]
    # Both pairs have gamma 14 / (4 * 7): the first in the list is the one whose later job is c.
    needed = groups_of(pair, "muri_needed")
    assert sorted(map(len, needed)) == [1, 1, 2]
    enough = unit_jobs(*FOUR, budget=4)
    assert groups_of(enough, "muri_needed") == ["a", "b", "c", "d"]


def test_the_public_code_lists_pairs_by_class_and_later_job() -> None:
    """Classes come by their first job, though merging the other pair would lose less a GPU."""
    jobs = (("a", 1, 0), ("b", 1, 0), ("c", 2, 0), ("d", 2, 1))
    instance = unit_jobs(*jobs, budget=5)
    # a-b has gamma 14 / (4 * 10) = 0.35, c-d 14 / (4 * 7) = 0.5 ...
    assert groups_of(instance, "muri_needed") == ["ab", "c", "d"]
    # ... and idle GPUs of 0.65 against 2 * 0.5 = 1: the order it computes is the same here.
    assert groups_of(instance, "muri_needed", order="idle") == ["ab", "c", "d"]
    assert groups_of(instance, "swap", passes=0) == ["a", "b", "cd"]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_both_readings_agree_where_full_groups_fill_the_cluster(seed: int) -> None:
    """On covers that full groups fill every pair is needed, so both give the same groups."""
    made = dlsched.generate("interleaving", seed, jobs=150, grouping="cover", cluster=64)
    muri, needed = (dlsched.solve(made, rule) for rule in ("muri", "muri_needed"))
    assert muri.details["gpus"] == needed.details["gpus"] == 64
    assert muri.objective == needed.objective


def test_a_profiling_error_leaves_the_jobs_as_they_are() -> None:
    """Groups decided on wrong stages are worse with the right ones, and depend on the seed."""
    instance = dlsched.generate("interleaving", 1, jobs=32)
    best = dlsched.solve(instance, "muri")
    assert dlsched.solve(instance, "muri", profile_error=0.0).solution == best.solution
    wrong = [dlsched.solve(instance, "muri", profile_error=1.0, seed=s) for s in (1, 1, 2)]
    assert wrong[0].solution == wrong[1].solution != wrong[2].solution
    assert best.objective.better_than(wrong[0].objective)


def test_swap_is_no_worse_than_its_start() -> None:
    """The local search improves Muri's groups on ten instances of 64 distinct jobs."""
    for seed in range(1, 11):
        instance = dlsched.generate("interleaving", seed, jobs=64)
        muri, swap = (dlsched.solve(instance, rule).objective for rule in ("muri", "swap"))
        assert not muri.better_than(swap)


def test_the_worst_offsets_are_worse() -> None:
    """The worst offsets of the same groups are strictly worse on Table 2's jobs."""
    instance = dlsched.load("muri-table2")
    muri, worst = dlsched.solve(instance, "muri"), dlsched.solve(instance, "muri_worst_order")
    assert {g.jobs for g in muri.solution.groups} == {g.jobs for g in worst.solution.groups}
    assert muri.objective.better_than(worst.objective)


def test_merging_only_while_needed_leaves_jobs_alone() -> None:
    """With a large budget muri_needed leaves jobs alone, as the optimum does; muri merges all."""
    instance = dlsched.generate(
        "interleaving", 1, jobs=60, grouping="cover", distinct=False, budget=0.9
    )
    muri = dlsched.solve(instance, "muri")
    for rule in ("muri_needed", "swap"):
        needed = dlsched.solve(instance, rule)
        assert needed.objective.better_than(muri.objective)
        assert min(len(g.jobs) for g in needed.solution.groups) == 1

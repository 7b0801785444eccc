"""Groups of Muri's published simulator: their times, the matchings, and the optimum of a round."""

import hashlib
import json
import random
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import rustworkx
from muri_cases import STAGES, jobs
from published.muri.blossom import heaviest
from published.muri.grouping import MATCHERS, Buckets, InOrder, Rounds, library_matching
from published.muri.jobs import states
from published.muri.kinds import SHARING, Group, Kinds, arrangement_times, cycle_time
from published.muri.optimum import Optimum

PLAIN = "26db56b3090b15c6b118480b5a008272b569777f99b642ad0ca8980fdf5b376f"
"""The digest of 200 matchings."""


def buckets(kinds: Kinds, count: int, seed: int = 0, gpus: int = 1) -> Buckets:
    """Return random jobs of one size, each alone."""
    rng = random.Random(seed)
    rows = [{"gpus": gpus, "stages": rng.choice(STAGES)} for _ in range(count)]
    return {gpus: [kinds.single(job) for job in states(jobs(rows))]}


def members(found: Buckets) -> list[int]:
    """Return the jobs of all groups, in order."""
    return sorted(job.index for groups in found.values() for g in groups for job in g.jobs)


def test_a_pair_that_fits_together_takes_the_longer_job() -> None:
    """While one job loads for 2 s the other computes for 2 s: an iteration of both takes 3 s."""
    assert min(arrangement_times([(2, 1, 0), (1, 1, 1)])) == 3


def test_an_order_by_hand() -> None:
    """Four jobs with one stage each, of 1 s: two of them load at the same time as two compute."""
    gpu, load = (0, 1, 0), (1, 0, 0)
    assert cycle_time([gpu, load, gpu, load]) == 2
    assert cycle_time([gpu, gpu, gpu, gpu]) == 4
    assert max(arrangement_times([gpu, load])) == 2


@pytest.mark.parametrize("seed", range(12))
def test_matchings_are_heaviest(seed: int) -> None:
    """On random graphs of few or many weights, both matchers find what rustworkx finds."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 22))
    kinds = rng.integers(0, 4, n)
    table = rng.random((4, 4))
    weights = table[kinds[:, None], kinds[None, :]] if seed % 2 else rng.random((n, n))
    weights = np.where(rng.random((n, n)) < 0.7, weights, 0.0)
    weights = np.triu(weights, 1) + np.triu(weights, 1).T
    graph = rustworkx.PyGraph()
    graph.add_nodes_from(range(n))
    pairs = [(i, j) for i, j in combinations(range(n), 2) if weights[i, j]]
    graph.add_edges_from([(i, j, round(weights[i, j] * 2**40)) for i, j in pairs])
    best = rustworkx.max_weight_matching(graph, weight_fn=int)
    for mates in (matcher(weights) for matcher in MATCHERS.values()):
        assert all(v < 0 or mates[v] == u for u, v in enumerate(mates))
        total = sum(weights[u, v] for u, v in enumerate(mates) if v > u)
        assert total == pytest.approx(sum(weights[i, j] for i, j in best))


def graph_of_kinds(seed: int) -> Any:
    """Return weights of few kinds or many, with sizes that exclude edges."""
    rng = np.random.default_rng(seed)
    n, many = int(rng.integers(2, 40)), int(rng.integers(1, 9))
    kinds, jobs_of = rng.integers(0, many, n), rng.integers(1, 4, many)
    table = np.round(rng.random((many, many)), int(rng.integers(1, 4))) + 0.05
    table = (table + table.T) / 2 if seed % 3 else table  # one direction may differ by rounding
    table[jobs_of[:, None] + jobs_of[None, :] > 4] = 0.0
    weights = table[kinds[:, None], kinds[None, :]]
    if seed % 3 == 0:
        weights = np.maximum(weights, weights.T) * (1 + 2.3e-16 * rng.integers(0, 3, (n, n)))
    np.fill_diagonal(weights, 0.0)
    return weights


def test_the_fast_search_finds_the_matching_of_the_plain_one() -> None:
    """Its mates are those that a search in plain Python found, which computed all slacks anew."""
    mates = [heaviest(graph_of_kinds(seed)) for seed in range(200)]
    assert hashlib.sha256(json.dumps(mates).encode()).hexdigest() == PLAIN


def test_the_order_of_search_is_fixed() -> None:
    """Of equally heavy edges each vertex takes the first that is free: 0 with 1, 2 with 3."""
    weights = np.ones((5, 5)) - np.eye(5)
    assert heaviest(weights) == [1, 0, 3, 2, -1]
    assert heaviest(np.zeros((3, 3))) == [-1, -1, -1]


def test_pairs_are_merged_only_while_gpus_are_short() -> None:
    """Ten jobs on eight GPUs: two pairs, the first ones in the order of their later jobs."""
    kinds = Kinds(SHARING)
    found = Rounds(kinds, 4, library_matching)(buckets(kinds, 10), 8)
    assert sorted(len(g.jobs) for g in found[1]) == [1] * 6 + [2, 2]
    assert members(found) == list(range(10))
    assert len(Rounds(kinds, 4, library_matching)(buckets(kinds, 8), 8)[1]) == 8


def test_groups_grow_to_the_most_jobs() -> None:
    """Eight jobs on two GPUs are two groups of four; of at most three jobs, groups stay larger."""
    kinds = Kinds(SHARING)
    sizes = [len(g.jobs) for g in Rounds(kinds, 4, library_matching)(buckets(kinds, 8), 2)[1]]
    assert sizes == [4, 4]
    sizes = [len(g.jobs) for g in Rounds(kinds, 3, library_matching)(buckets(kinds, 8), 2)[1]]
    assert max(sizes) == 2  # two pairs cannot be merged


def test_a_job_whose_mate_is_matched_elsewhere_stays_alone() -> None:
    """A matching that is not mutual puts no job into two groups."""
    kinds = Kinds(SHARING)
    found = Rounds(kinds, 2, lambda w: [1, 2, 1] if len(w) == 3 else [-1, -1])(buckets(kinds, 3), 1)
    assert members(found) == [0, 1, 2]
    assert sorted(len(g.jobs) for g in found[1]) == [1, 2]


def test_without_blossom_groups_are_consecutive() -> None:
    """Six jobs on three GPUs: the first four together, and while one more GPU is free, singles."""
    kinds = Kinds(SHARING)
    found = InOrder(4)(buckets(kinds, 6), 3)
    assert [[job.index for job in g.jobs] for g in found[1]] == [[0, 1, 2, 3], [5], [4]]


@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_that_of_all_partitions(seed: int) -> None:
    """For six jobs on three GPUs it is the best of all ways to group them."""
    kinds = Kinds(SHARING)
    present = buckets(kinds, 6, seed)

    def worth(groups: list[Group]) -> float:
        return sum(
            kinds.weight(g.kind[:1], g.kind[1:]) if len(g.kind) > 1 else 0.25 for g in groups
        )

    found = Optimum(kinds, 4)(present, 3)
    assert members(found) == list(range(6))
    assert len(found[1]) <= 3
    best = max(
        worth(groups)
        for groups in partitions(present[1])
        if len(groups) <= 3 and all(len(g.jobs) <= 4 for g in groups)
    )
    assert worth(found[1]) == pytest.approx(best)


def partitions(groups: list[Group]) -> list[list[Group]]:
    """Return all partitions of jobs into groups."""
    if not groups:
        return [[]]
    first, *others = groups
    result = []
    for rest in partitions(others):
        result.append([first, *rest])
        result += [[*rest[:i], g.union(first), *rest[i + 1 :]] for i, g in enumerate(rest)]
    return result


def test_profiled_stages_decide_and_recorded_ones_count() -> None:
    """With a wrong profile the order is chosen by it, and takes as long as it really does."""
    swapped = Kinds(SHARING, profiled=lambda stages: (stages[1], stages[0], stages[2]))
    true = Kinds(SHARING)
    groups = [k.single(job) for k in (swapped, true) for job in states(jobs([
        {"stages": (2, 1, 0)}, {"stages": (1, 0.5, 2)}]))]  # fmt: skip
    wrong, best = swapped.time(groups[0].union(groups[1])), true.time(groups[2].union(groups[3]))
    assert wrong >= best
    assert swapped.filled((0, 1)) == true.filled((0, 1)) == 6.5

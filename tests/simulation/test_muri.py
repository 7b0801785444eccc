"""Muri's policies: groups of a round, ties, seeded groups."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from simulation_cases import audited, by_hand, rows

import dlsched
from dlsched.simulation import Cluster, Simulation, Workload

STAGES = ((4, 1, 0), (4, 1, 0), (4, 1, 0), (1, 3, 1), (1, 3, 1), (5, 5, 1))


def groups(run: Simulation, time: int = 0) -> list[tuple[str, ...]]:
    """Return the jobs that share GPUs from a time on."""
    found: dict[str, list[str]] = {}
    for row in rows(run):
        if row["start"] == time:
            name = run.workload.jobs[row["job"]].id
            found.setdefault(row["sharing"] or name, []).append(name)
    return sorted(tuple(sorted(names)) for names in found.values())


def speeds(run: Simulation) -> dict[str, Fraction]:
    """Return how fast each job that starts at 0 is."""
    there = [row for row in rows(run) if row["start"] == 0]
    return {run.workload.jobs[r["job"]].id: Fraction(r["speed"]) for r in there}


@pytest.mark.parametrize("policy", ["muri_s", "muri_l"])
def test_the_groups_of_a_round_are_an_optimum(policy: str) -> None:
    """With method exact the first groups are worth what the problem's optimum is.

    Equal jobs, jobs that are too large for the room and jobs that come later do not change that.
    """
    kinds = [(3, 1, 1), (1, 3, 1), (1, 1, 3), (2, 2, 1)]
    jobs = by_hand(*({"work": 20 + 5 * (i // 4), "stages": kinds[i % 4]} for i in range(12)))
    run = audited(jobs, Cluster.uniform(1, 2), policy, method="exact", interval=20)
    first = groups(run)
    there = [j for j in jobs.jobs if any(j.id in group for group in first)]
    data = {
        "dlsched": 1, "problem": "interleaving", "name": "round", "grouping": "cover",
        "resources": ["storage", "gpu", "network"], "gpu_budget": 2,
        "jobs": [{"id": job.id, "stages": job.stages} for job in there],
    }  # fmt: skip
    best = dlsched.solve(dlsched.load(data), "exact")
    solved = [json.loads(text) for text in run.rounds["solved"]]
    assert solved[0]["objective"] == pytest.approx([float(best.objective[0])])
    assert len(first) == 2


def test_ties_are_settled_for_the_first_in_line() -> None:
    """No exchange of jobs with equal stages, in the groups of the first round, helps those first.

    The sum of weight times speed is largest, where a job's weight falls with its place.
    """
    jobs = by_hand(*({"work": 10 + 3 * i, "stages": s} for i, s in enumerate(STAGES)))
    run = audited(jobs, Cluster.uniform(1, 3), "muri_s", interval=None, ties="shortest")
    weight = {job.id: Fraction(1, 1 + i) for i, job in enumerate(jobs.jobs)}
    fast = speeds(run)
    assert set(fast) == set(weight)
    settled = sum(weight[name] * fast[name] for name in fast)
    for a, b in ((x, y) for x in permutations("abc") for y in permutations("de")):
        other = dict(zip("abcdef", (*a, *b, "f"), strict=True))
        assert sum(weight[name] * fast[other[name]] for name in fast) <= settled


def drawn(seed: int, unit: float) -> Workload:
    """Return 16 jobs of few profiles or of many, with stages in a unit."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 9, size=(4 if seed % 2 else 16, 4)) + np.eye(4, dtype=int)[seed % 4]
    jobs = [
        {
            "submit": int(rng.integers(0, 50)),
            "gpus": int(rng.choice([1, 1, 2, 4])),
            "work": int(rng.integers(1, 1000)),
            "stages": [float(x) * unit for x in kinds[rng.integers(len(kinds))].tolist()],
        }
        for _ in range(16)
    ]
    return by_hand(*jobs)


SEEDED = {"objective": "seeded_speeds"}


@pytest.mark.parametrize("unit", [1e-9, 1e12])
def test_simulations_with_seeded_groups_are_sound(unit: float) -> None:
    """All jobs complete, the audit finds nothing, and units of the stages change no figure."""
    cluster = Cluster.uniform(2, 4)
    for seed in range(2):
        runs = [
            audited(drawn(seed, x), cluster, "muri_s", interval=None, **SEEDED) for x in (unit, 1.0)
        ]
        assert runs[0].summary["mean_jct"] == pytest.approx(runs[1].summary["mean_jct"], rel=1e-6)
        audited(drawn(seed, unit), cluster, "muri_s", fill=10**30, **SEEDED)
    audited(drawn(0, unit), cluster, "muri_l", **SEEDED)


def test_seeded_groups_are_those_that_are_worth_most() -> None:
    """Two GPUs and four jobs: the first two run, and of those who fit beside them the fast ones.

    a and b use the first resource alone, so that c, which uses the second, joins without loss.
    """
    stages = ([4, 0, 0], [4, 0, 0], [0, 4, 0], [4, 4, 4])
    jobs = by_hand(*({"work": 10 + i, "stages": s} for i, s in enumerate(stages)))
    run = audited(jobs, Cluster.uniform(1, 2), "muri_s", interval=None, **SEEDED)
    first = groups(run)
    assert any({"a", "c"} <= set(group) or {"b", "c"} <= set(group) for group in first)
    assert not any({"a", "b"} <= set(group) for group in first)
    assert speeds(run)["c"] == speeds(run)["a"] == 1

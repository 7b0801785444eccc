"""The program over kinds against one variable per pair of jobs, in cvxpy."""

from __future__ import annotations

import random
from importlib.util import find_spec

import numpy as np
import pytest
from gavel_all_pairs import AllPairs, optimum
from scipy.optimize import linprog

from dlsched.problems.shares import Rates, shares
from gavel_workloads import random_jobs, random_rates

pytestmark = pytest.mark.skipif(find_spec("cvxpy") is None, reason="cvxpy is an optional extra")
SMALL = {"V100": 6, "P100": 6, "K80": 6}


@pytest.mark.parametrize("count", [32, pytest.param(64, marks=pytest.mark.slow)])
@pytest.mark.parametrize("sharing", [False, True])
def test_published_rates(published: Rates, count: int, sharing: bool) -> None:
    """Max-min fairness of jobs with Gavel's rates is that of the program with all pairs."""
    gpus = {"v100": 20, "p100": 20, "k80": 20}
    jobs = random_jobs(random.Random(count), published, count)
    found = shares(published, gpus, jobs, space_sharing=sharing)
    assert float(found.objective) == pytest.approx(
        optimum("max_min", jobs, published, gpus, sharing), rel=1e-6
    )


@pytest.mark.parametrize("count", [32, 64])
@pytest.mark.parametrize("policy", ["max_min", "makespan", "max_sum_throughput"])
def test_random_rates(policy: str, count: int) -> None:
    """With random rates, scales, weights and steps the optimum is that with all pairs."""
    rng = random.Random(count)
    rates = random_rates(rng, 5, (1, 2))
    jobs = random_jobs(rng, rates, count, steps=True)
    found = shares(rates, SMALL, jobs, policy=policy)
    assert float(found.objective) == pytest.approx(
        optimum(policy, jobs, rates, SMALL, True), rel=1e-6
    )
    assert found.gap is not None and found.gap < 1e-7


@pytest.mark.parametrize("seed", range(3))
def test_finish_time_fairness(seed: int) -> None:
    """Bisection finds the optimum of the convex program with all pairs."""
    rng = random.Random(seed)
    rates = random_rates(rng, 4)
    jobs = random_jobs(rng, rates, 12, steps=True)
    found = shares(rates, SMALL, jobs, policy="finish_time_fairness")
    assert float(found.objective) == pytest.approx(
        optimum("finish_time_fairness", jobs, rates, SMALL, True), rel=1e-6
    )
    assert found.gap is not None and found.gap < 1e-7


def _lexicographic(program: AllPairs) -> list[float]:
    """Return the lexicographic optimum, sorted, with a program per job and round and no duals."""
    n = len(program.weight)
    value = program.rate.toarray() * program.fair[:, None]
    limits = np.vstack([program.time.toarray(), program.used.toarray()])
    sides = np.concatenate([np.ones(n), program.gpus])
    fixed: dict[int, float] = {}
    while len(fixed) < n:
        open_ = [j for j in range(n) if j not in fixed]
        floor = [(value[j], fixed[j] - 1e-9) for j in fixed]
        rows = [np.append(-v, 0) for v, _ in floor] + [np.append(-value[j], 1) for j in open_]
        A = np.vstack([np.hstack([limits, np.zeros((len(limits), 1))]), *rows])
        b = np.concatenate([sides, [-f for _, f in floor], np.zeros(len(open_))])
        cost = np.zeros(program.size + 1)
        cost[-1] = -1
        level = -linprog(cost, A, b).fun
        low = np.vstack([limits, *[-v for v, _ in floor], *[-value[j] for j in open_]])
        side = np.concatenate([sides, [-f for _, f in floor], [-level + 1e-9] * len(open_)])
        stuck = [j for j in open_ if -linprog(-value[j], low, side).fun < level + 1e-6]
        assert stuck
        fixed |= dict.fromkeys(stuck, level)
    return sorted(fixed.values())


@pytest.mark.parametrize("seed", range(4))
def test_water_filling(seed: int) -> None:
    """The duals find the same vector as a program for every job in every round."""
    rng = random.Random(seed)
    rates = random_rates(rng, 3)
    jobs = random_jobs(rng, rates, 7)
    gpus = {"V100": 1, "P100": 2, "K80": 2}
    found = shares(rates, gpus, jobs, policy="water_filling")
    reached = sorted(map(float, found.values.values()))
    assert reached == pytest.approx(_lexicographic(AllPairs(jobs, rates, gpus, True)), rel=1e-6)
    assert all(r.bound is not None and r.level <= r.bound for r in found.rounds)

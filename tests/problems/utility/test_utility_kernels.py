"""The loops of utility: built and run by Python alike, and as the simplest ways have it."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import dlsched
from dlsched.problems.utility.heuristics.insertion import Insertion
from dlsched.problems.utility.kernels import hadar_program, insertion, pricing
from dlsched.problems.utility.structures.gangs import Gangs
from dlsched.problems.utility.structures.work_stages import Stages
from kernel_sources import as_python

PACKAGE = "problems.utility.kernels"


def queue(rng: np.random.Generator) -> tuple[Any, ...]:
    """Return three pools with prices that grow, and up to four jobs of two speeds."""
    caps, jobs = rng.integers(1, 3, 3), int(rng.integers(1, 5))
    price = rng.integers(0, 3, (3, 3)).cumsum(axis=1).astype(float)
    worth = -np.sort(-rng.integers(0, 9, (jobs, 2)).astype(float), axis=1)
    masks = np.bitwise_or.accumulate(rng.integers(1, 8, (jobs, 2)), axis=1)  # slower: in more
    return caps, price, worth, masks, rng.integers(1, 4, jobs)


def payoff(rows: Any, caps: Any, price: Any, worth: Any, masks: Any, workers: Any) -> float:
    """Return the payoff of jobs that take these GPUs in turn; all below 0 if they cannot."""
    total, use = 0.0, np.zeros(len(caps), dtype=int)
    for j, row in enumerate(rows):
        if any(row):
            used = sum(1 << r for r, n in enumerate(row) if n)
            offers = [w for w, m in zip(worth[j], masks[j], strict=True) if not used & ~m]
            if sum(row) != workers[j] or not offers or any(use + row > caps):
                return -np.inf
            total += max(offers) - sum(n * price[r, use[r]] for r, n in enumerate(row))
            use += row
    return total


@pytest.mark.parametrize("seed", range(30))
def test_hadars_program(seed: int) -> None:
    """Built or not it gives the same GPUs, of no less payoff than any jobs in turn at a speed."""
    made = queue(np.random.default_rng(seed))
    caps, price, _, masks, workers = made
    kernels = hadar_program, as_python(f"{PACKAGE}.hadar_program")
    rows, others = (kernel.fill(kernel.States(caps), *made[1:]) for kernel in kernels)
    assert (rows == others).all()
    most = 0.0
    for speeds in product((-1, 0, 1), repeat=len(workers)):  # each takes the cheapest GPUs
        use, given = np.zeros(len(caps), dtype=int), np.zeros((len(workers), len(caps)), dtype=int)
        for j, v in enumerate(speeds):
            order = sorted(range(len(caps)), key=lambda r: (price[r, use[r]], use[r] - caps[r], r))
            for r in order if v >= 0 else ():
                if masks[j, v] >> r & 1:
                    given[j, r] = min(workers[j] - given[j].sum(), caps[r] - use[r])
            use += given[j]
        most = max(most, payoff(given, *made))
    assert payoff(rows, *made) >= most


@pytest.mark.parametrize("must", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_pricing_built_and_not(seed: int, must: bool) -> None:
    """All jobs have the same values and schedules, with runs that are not allowed, too."""
    rng = np.random.default_rng(seed)
    made = dlsched.generate("utility", seed, jobs=9, slots=12, gpus=6, mix="even", arrivals=0.5)
    gangs = Gangs(made)
    shape = (len(made.jobs), made.slots, gangs.mask_of_speed.shape[1])
    barred = rng.random(shape) < 0.2 if seed % 2 else None
    work = Stages(made, up=True, most=50)
    prices = 0.05 * rng.random((made.slots, len(gangs.masks)))
    answers = []
    for kernel in (pricing, as_python(f"{PACKAGE}.pricing")):
        jobs = kernel.Jobs(
            gangs.mask_of_speed,
            work.after,
            work.begin,
            work.end,
            gangs.number_of_speeds,
            gangs.first,
            gangs.workers,
            gangs.worth,
            barred,
        )
        values, rows = np.zeros(shape[0]), np.zeros(shape[:2], dtype=np.int8)
        kernel.price_all(prices, jobs, must, values, rows)
        cost = prices[:, :1].copy()
        row = np.zeros(made.slots, dtype=np.int8)
        one = kernel.best_schedule(cost, np.array([2]), 5, seed, gangs.worth[0], must, row)
        answers.append((values.tolist(), rows.tolist(), one, row.tolist()))
    assert answers[0] == answers[1]
    assert any(map(any, np.array(answers[0][1]) >= 0))


@pytest.mark.parametrize("barring", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_searches_built_and_not(seed: int, barring: bool) -> None:
    """Both searches find the same schedules; GPUs, utility and what is kept stay consistent."""
    rng = np.random.default_rng(seed)
    made = dlsched.generate("utility", seed, jobs=9, slots=14, gpus=5, mix="even", arrivals=0.5)
    shape = (len(made.jobs), made.slots, 3)
    barred = np.sort(rng.random(shape) < 0.1, axis=2) if barring else None
    gangs = Gangs(made, barred=barred)
    answers = []
    for kernel in (insertion, as_python(f"{PACKAGE}.insertion")):
        levels, finish = np.full(shape[:2], -1, np.int8), np.full(shape[0], -1)
        free = gangs.free(levels)
        demands, plan = kernel.Demands(*gangs.demands), kernel.Plan(levels, finish, free, seed + 1)
        order = np.array(gangs.by_density)
        kernel.insert_in_turn(demands, plan, order)
        totals, kept = np.full(2, worth(gangs, finish)), levels.copy()
        kernel.anneal_order(demands, plan, order, 40, 0.05, totals, kept)
        assert sorted(order.tolist()) == list(range(len(order)))
        density = gangs.worth.max(axis=1) / gangs.workers
        kernel.anneal(demands, plan, density, 200, 0.02, totals, kept)
        assert (free == gangs.free(levels)).all() and (free >= 0).all()
        assert totals[0] == pytest.approx(worth(gangs, finish))
        best = Insertion(gangs, kept)
        assert totals[1] == pytest.approx(best.total) and totals[1] >= totals[0] - 1e-9
        answers.append(
            (levels.tolist(), finish.tolist(), order.tolist(), totals.tolist(), plan.seed)
        )
    assert answers[0] == answers[1]
    if barred is not None:
        j, t = np.nonzero(kept >= 0)
        assert not barred[j, t, kept[j, t]].any()


def worth(gangs: Gangs, finish: Any) -> float:
    """Return the utility of a schedule by the jobs' last slots."""
    done = np.flatnonzero(finish >= 0)
    return float(gangs.worth[done, finish[done]].sum())

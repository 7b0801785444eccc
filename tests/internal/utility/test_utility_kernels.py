"""Internal: utility's kernels against brute force, built and run by Python."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import dlsched
from dlsched.problems.utility.kernels import hadar_program, insertion, pricing
from dlsched.problems.utility.structures.gangs import Gangs
from kernel_sources import as_python

KERNELS = {
    (module.__name__.rpartition(".")[2], kind): kernel
    for module in (hadar_program, insertion, pricing)
    for kind, kernel in (
        ("built", module), ("python", as_python(module.__name__.removeprefix("dlsched.")))
    )
}  # fmt: skip
BOTH = pytest.mark.parametrize("kind", ["built", "python"])


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


@BOTH
@pytest.mark.parametrize("seed", range(30))
def test_hadars_program(seed: int, kind: str) -> None:
    """Its GPUs have no less payoff than any jobs in turn, each at a speed on the cheapest GPUs."""
    rng = np.random.default_rng(seed)
    caps, jobs = rng.integers(1, 3, 3), int(rng.integers(1, 5))
    price = rng.integers(0, 3, (3, 3)).cumsum(axis=1).astype(float)
    worth = -np.sort(-rng.integers(0, 9, (jobs, 2)).astype(float), axis=1)
    masks = np.bitwise_or.accumulate(rng.integers(1, 8, (jobs, 2)), axis=1)  # slower: in more
    workers = rng.integers(1, 4, jobs)
    made = caps, price, worth, masks, workers
    kernel = KERNELS["hadar_program", kind]
    rows = kernel.fill(kernel.States(caps), *made[1:])
    most = 0.0
    for speeds in product((-1, 0, 1), repeat=jobs):
        use, given = np.zeros(len(caps), dtype=int), np.zeros((jobs, len(caps)), dtype=int)
        for j, v in enumerate(speeds):
            order = sorted(range(len(caps)), key=lambda r: (price[r, use[r]], use[r] - caps[r], r))
            for r in order if v >= 0 else ():
                if masks[j, v] >> r & 1:
                    given[j, r] = min(workers[j] - given[j].sum(), caps[r] - use[r])
            use += given[j]
        most = max(most, payoff(given, *made))
    assert payoff(rows, *made) >= most


@BOTH
def test_pricing_finds_the_best_schedule_of_each_job(kind: str) -> None:
    """Of all speeds in all slots; what is barred or of infinite cost is not used."""
    kernel, rng = KERNELS["pricing", kind], np.random.default_rng(7)
    for _ in range(60):
        slots, speeds, workers = (int(n) for n in rng.integers(1, (6, 3, 3)))
        gains = np.sort(rng.integers(1, 6, speeds))[::-1]
        need, first, must = int(rng.integers(1, 12)), int(rng.integers(slots)), rng.random() < 0.3
        price = rng.integers(0, 5, (slots, speeds)).astype(float)
        barred = rng.random((1, slots, speeds)) < 0.2
        worth = np.sort(rng.integers(0, 30, (1, slots)).astype(float))[:, ::-1].copy()
        best = -np.inf if must else 0.0
        for row in product(range(-1, speeds), repeat=slots - first):
            used = [(first + t, v) for t, v in enumerate(row) if v >= 0]
            allowed = not any(barred[0, t, v] for t, v in used)
            if allowed and used and sum(gains[v] for _, v in used) >= need:
                cost = workers * sum(price[t, v] for t, v in used)
                best = max(best, worth[0, used[-1][0]] - cost)
        after = np.maximum(0, np.arange(need + 1)[:, None] - gains).astype(np.int32)
        ends = np.array([[0], [need + 1], [speeds], [first], [workers]])
        jobs = kernel.Jobs(np.arange(speeds)[None, :], after, *ends, worth, barred)
        values, rows = np.zeros(1), np.zeros((1, slots), np.int8)
        kernel.price_all(price, jobs, must, values, rows)
        assert values[0] == best
        used = np.flatnonzero(rows[0] >= 0)
        if len(used):
            found = rows[0][used]
            assert gains[found].sum() >= need and not barred[0, used, found].any()
            assert worth[0, used[-1]] - workers * price[used, found].sum() == best


def worth_of(gangs: Gangs, finish: Any) -> float:
    """Return the utility of a schedule by the jobs' last slots."""
    done = np.flatnonzero(finish >= 0)
    return float(gangs.worth[done, finish[done]].sum())


@BOTH
@pytest.mark.parametrize("barring", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_searches_keep_their_books(seed: int, barring: bool, kind: str) -> None:
    """GPUs, utility and what is kept are those of the schedules; nothing barred is used."""
    rng = np.random.default_rng(seed)
    made = dlsched.generate("utility", seed, jobs=9, slots=14, gpus=5, mix="even", arrivals=0.5)
    shape = (len(made.jobs), made.slots, 3)
    barred = np.sort(rng.random(shape) < 0.1, axis=2) if barring else None
    gangs, kernel = Gangs(made, barred=barred), KERNELS["insertion", kind]
    levels, finish = np.full(shape[:2], -1, np.int8), np.full(shape[0], -1)
    free = gangs.free(levels)
    demands, plan = kernel.Demands(*gangs.demands), kernel.Plan(levels, finish, free, seed + 1)
    order = np.array(gangs.by_density)
    _, gains, speeds, needs, first, workers, _, above, _ = gangs.demands
    for j in order.tolist():  # a job ends at the first slot by which its work can be done
        done, end = 0, -1
        for t in range(first[j], shape[1]):
            for v in range(speeds[j]):
                sets = [s for s in above[gangs.mask_of_speed[j, v]] if s >= 0]
                allowed = barred is None or not barred[j, t, v]
                if allowed and all(free[t, s] >= workers[j] for s in sets):
                    done += gains[j, v]
                    break
            if done >= needs[j] and end < 0:
                end = t
        kernel.insert_in_turn(demands, plan, np.array([j]))
        assert finish[j] == end
    totals, kept = np.full(2, worth_of(gangs, finish)), levels.copy()
    kernel.anneal_order(demands, plan, order, 40, 0.05, totals, kept)
    assert sorted(order.tolist()) == list(range(len(order)))
    density = gangs.worth.max(axis=1) / gangs.workers
    kernel.anneal(demands, plan, density, 200, 0.02, totals, kept)
    assert (free == gangs.free(levels)).all() and (free >= 0).all()
    assert totals[0] == pytest.approx(worth_of(gangs, finish))
    last = np.where((kept >= 0).any(axis=1), shape[1] - 1 - (kept >= 0)[:, ::-1].argmax(axis=1), -1)
    assert totals[1] == pytest.approx(worth_of(gangs, last)) and totals[1] >= totals[0] - 1e-9
    for rows in (levels, kept):
        j, t = np.nonzero(rows >= 0)
        assert barred is None or not barred[j, t, rows[j, t]].any()

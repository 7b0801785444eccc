"""Internal: policies' kernels and programs against brute force: seeded groups, prices, queues."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from dlsched.problems.interleaving import iteration_time
from dlsched.problems.interleaving.structures.groups import best_offsets, unpadded
from dlsched.simulation.kernels import seeded_groups as kernel
from dlsched.simulation.policies.synergy_prices import Demands, costs
from kernel_sources import as_python


class Queue(NamedTuple):
    """Jobs in a queue, as the kernel takes them."""

    stages: Any
    gpus: Any
    profile: Any
    weights: Any
    order: Any


def queue_of(rows: Sequence[tuple[int, tuple[int, ...], int]], unit: float) -> Queue:
    """Return a queue of jobs given by GPUs, stages and remaining time, least service first."""
    gpus = np.array([row[0] for row in rows], np.int64)
    remaining = np.array([row[2] for row in rows], float)
    kinds = [row[:2] for row in rows]
    profile = np.array([kinds.index(kind) for kind in kinds], np.int64)
    stages = np.array([row[1] for row in rows], float) * unit
    order = np.argsort(remaining * gpus, kind="stable")
    return Queue(stages, gpus, profile, remaining**-0.25, order)


def worth(queue: Queue, group: Sequence[int]) -> float:
    """Return the weighted sum of a group's speeds, with the checker's iteration time."""
    stages = [tuple(map(Fraction, row)) for row in queue.stages[list(group)].tolist()]
    time = iteration_time(stages, best_offsets(stages))
    weights = queue.weights[list(group)].tolist()
    return sum(w * float(sum(row) / time) for w, row in zip(weights, stages, strict=True))


def seeds_of(queue: Queue, budget: int, fill: int) -> list[int]:
    """Return the jobs that open a group, then the first ones that fit what is left."""
    seeds: list[int] = []
    places: dict[int, int] = {}
    for opening in (True, False):
        for job in queue.order.tolist():
            gpus = int(queue.gpus[job])
            if job in seeds:
                continue
            if opening and places.get(gpus, 0):
                places[gpus] -= 1
            elif gpus <= budget:
                budget -= gpus
                seeds.append(job)
                places[gpus] = fill - 1
    return seeds


def best_worth(queue: Queue, seeds: Sequence[int]) -> float:
    """Return what the best groups are worth: all seeds run, each number of GPUs has its groups."""
    places = [[i for i, s in enumerate(seeds) if queue.gpus[s] == gpus] for gpus in queue.gpus]
    best = 0.0
    for where in product(*(p if j in seeds else [*p, None] for j, p in enumerate(places))):
        groups = [[j for j, place in enumerate(where) if place == i] for i in range(len(seeds))]
        if all(0 < len(group) <= queue.stages.shape[1] for group in groups):
            best = max(best, sum(worth(queue, group) for group in groups))
    return best


def test_groups_are_possible_and_near_the_best() -> None:
    """The seeds run, no waiting job gains by joining; three in four queues are grouped best.

    The built loop finds the same groups as Python does.
    """
    rng = np.random.default_rng(7)
    ratios = []
    for _ in range(40):
        count, budget, fill = int(rng.integers(1, 7)), int(rng.integers(1, 6)), 1
        unit = float(rng.choice([1e-9, 1.0, 1e15]))
        stages = rng.integers(0, 7, size=(count, 3)) + np.eye(3, dtype=int)[:1]
        rows = [(int(rng.integers(1, 3)), tuple(s), int(rng.integers(1, 1000)))
                for s in stages.tolist()]  # fmt: skip
        queue = queue_of(rows, unit)
        groups, seeds = unpadded(kernel.grow(*queue, budget, fill)), seeds_of(queue, budget, fill)
        members = [j for group in groups for j in group]
        assert len(members) == len(set(members))
        assert len(groups) == len(seeds) and set(seeds) <= set(members)
        assert all(len({int(queue.gpus[j]) for j in group}) == 1 for group in groups)
        value = sum(worth(queue, group) for group in groups)
        best = best_worth(queue, seeds)
        assert sum(worth(queue, (s,)) for s in seeds) * (1 - 1e-9) <= value <= best * (1 + 1e-9)
        for job, group in product(set(range(count)) - set(members), groups):
            if queue.gpus[job] == queue.gpus[group[0]] and len(group) < 3:
                assert worth(queue, (*group, job)) - worth(queue, group) <= 1e-6 * value
        ratios.append(value / best if best else 1)
        python = as_python("simulation.kernels.seeded_groups")
        built, run = (module.grow(*queue, budget, fill) for module in (kernel, python))
        assert built.tolist() == run.tolist()
    assert min(ratios) > 0.8
    assert sum(ratio > 1 - 1e-9 for ratio in ratios) >= 30


def least_time(shares: list[NDArray[np.float64]], work: NDArray[np.float64]) -> float:
    """Return the least time of the primal: jobs divided at will on pooled resources."""
    rows = np.concatenate(shares)
    owner = np.repeat(np.arange(len(shares)), [len(part) for part in shares])
    done = -(owner[None, :] == np.arange(len(shares))[:, None]).astype(float)
    last = np.concatenate([np.zeros(len(shares)), -np.ones(rows.shape[1])])
    limits = np.column_stack([np.concatenate([done, rows.T]), last])
    least = linprog([*np.zeros(len(rows)), 1.0], limits, [*-work, *np.zeros(rows.shape[1])])
    return float(least.fun)


@pytest.mark.parametrize("seed", range(8))
def test_the_costs_of_synergys_prices_add_up_to_the_least_time(seed: int) -> None:
    """By duality all jobs together cost what the pooled machine needs for them."""
    rng = np.random.default_rng(seed)
    shares = [rng.uniform(0.01, 1, (rng.integers(1, 6), 3)) for _ in range(rng.integers(1, 5))]
    kind = rng.integers(0, len(shares), 12)
    work = rng.uniform(1, 1000, 12) * 10.0 ** rng.integers(0, 9)
    total = np.bincount(kind, weights=work, minlength=len(shares))
    demands = Demands(kind, shares)
    least = least_time(shares, total / total.sum()) * total.sum()
    assert costs(demands, np.arange(12), work).sum() == pytest.approx(least, rel=1e-7)
    assert costs(demands, np.arange(12), np.zeros(12)).tolist() == [0] * 12

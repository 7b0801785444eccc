"""Random workloads for the tests of Gavel's programs."""

from __future__ import annotations

import random

from dlsched.problems.shares import Job, Rates

TYPES = ("V100", "P100", "K80")


def random_rates(rng: random.Random, models: int, scales: tuple[int, ...] = (1,)) -> Rates:
    """Return rates of some models; about every sixth pair cannot share."""
    alone = {
        (f"m{m}", s): {k: round(rng.uniform(1, 10) / (1 + i), 3) for i, k in enumerate(TYPES)}
        for m in range(models)
        for s in scales
    }
    pairs = {}
    for a in range(models):
        for b in range(a, models):
            for s in scales:
                for k in TYPES:
                    loss = [rng.uniform(0.3, 1) for _ in range(2)]
                    loss = [loss[0]] * 2 if a == b else loss
                    both = (
                        round(alone[f"m{a}", s][k] * loss[0], 3),
                        round(alone[f"m{b}", s][k] * loss[1], 3),
                    )
                    pairs[f"m{a}", f"m{b}", s, k] = (0, 0) if rng.random() < 1 / 6 else both
    return Rates.of(alone, pairs)


def random_jobs(rng: random.Random, rates: Rates, count: int, steps: bool = False) -> list[Job]:
    """Return jobs of models that run somewhere; most of scale 1, some with steps of their own."""
    keys = sorted((m, s or 1) for m, s in rates.alone if any(rates.alone[m, s].values()))
    found = []
    for i in range(count):
        scale = rng.choices((1, 2, 4, 8), (70, 10, 15, 5))[0]
        fitting = [key for key in keys if key[1] == scale] or [k for k in keys if k[1] == 1]
        model, scale = rng.choice(fitting)
        own = (rng.choice((10**4, 30000, 10**5)), rng.choice((0, 600))) if steps else (None, 0)
        found.append(Job(f"j{i}", model, scale, rng.choice((1, 1, 2)), *own))
    return found

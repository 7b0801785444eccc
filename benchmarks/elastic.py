"""Elastic: the paper's worst epoch, 100,000 items, time limits, and the heuristics' gaps.

    python benchmarks/elastic.py [epoch large launched sizes limits own]

Prints markdown and writes it to benchmarks/figures/elastic.md. Times are seconds of one process on
one thread, building and checking included, after a warm-up: processor time in `epoch` and `own`,
wall-clock in `large` and `limits`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import dlsched

SEEDS = range(1, 11)
RULES = ("lyra", "afs", "fifo")


def worst_epoch() -> Iterator[str]:
    """Yield dp against the same model through HiGHS on 354 items and 245 GPUs."""
    yield "| running | same optimum | dp, ms | dp slowest, ms | HiGHS, ms | HiGHS / dp |"
    yield "|---|---|---|---|---|---|"
    for running in (0.0, 0.5, 1.0):
        fast, slow, same = [], [], 0
        for seed in SEEDS:
            made = dlsched.generate("elastic", seed=seed, items=354, capacity=245, running=running)
            runs = [timed(made, "dp") for _ in range(5)]
            fast.append(1000 * statistics.median(seconds for _, seconds in runs))
            model, seconds = timed(made, "milp", time_limit=60)
            slow.append(1000 * seconds)
            best = runs[0][0]
            same += model.objective == best.objective and best.status == "optimal"
        ratio = statistics.median(b / a for a, b in zip(fast, slow, strict=True))
        yield (
            f"| {running} | {same}/10 | {statistics.median(fast):.1f} | {max(fast):.1f} "
            f"| {statistics.median(slow):.0f} | {ratio:.0f} |"
        )


def timed(made: Any, method: str, **options: Any) -> tuple[Any, float]:
    """Return the result of a method and its processor time in seconds."""
    began = time.process_time()
    result = dlsched.solve(made, method, **options)
    return result, time.process_time() - began


def launched() -> Iterator[str]:
    """Yield how many jobs phase one launches, by the GPUs that a waiting job asks for."""
    yield "| GPUs, workers | GPUs a waiting job | launched, % of the optimum | least | most |"
    yield "|" + "---|" * 5
    for gpus, most in ((1, 1), (None, 3), (4, 3), (8, 3)):
        options = {"max_base": most} | ({"gpus_per_worker": {gpus: 1}} if gpus else {})
        asked, shares = [], []
        for seed in SEEDS:
            made = dlsched.generate("elastic", seed=seed, items=354, capacity=245, **options)
            asked += [job.gpus(job.min_workers) for job in made.jobs if not job.running]
            best, mine = dlsched.solve(made), dlsched.solve(made, "lyra")
            shares.append(100 * (1 - float(mine.gap_to(best.objective).launched)))
        cells = [statistics.mean(asked), statistics.mean(shares), min(shares), max(shares)]
        label = f"{gpus or 'as generated'}, {most}"
        yield f"| {label} | {' | '.join(f'{value:.1f}' for value in cells)} |"


def sizes() -> Iterator[str]:
    """Yield the heuristics' gaps to the optimal number of launched jobs, by size."""
    yield f"| items | GPUs | {' | '.join(RULES)} |"
    yield f"|---|---|{'---|' * len(RULES)}"
    for items in (100, 300, 1000, 3000, 10_000, 30_000):
        capacity = 7 * items // 10
        cells = []
        made = [
            dlsched.generate("elastic", seed=seed, items=items, capacity=capacity)
            for seed in range(1, 6)
        ]
        best = [dlsched.solve(each).objective for each in made]
        for rule in RULES:
            gaps = [
                dlsched.solve(each, rule).gap_to(optimum).launched
                for each, optimum in zip(made, best, strict=True)
            ]
            cells.append(f"{100 * statistics.mean(gaps):.3g} %")
        yield f"| {items} | {capacity} | {' | '.join(cells)} |"


SECTIONS = {
    "epoch": worst_epoch,
    "launched": launched,
    "sizes": sizes,
}

"""Elastic: the paper's worst epoch, 100,000 items, time limits, and the heuristics' gaps.

    python benchmarks/elastic.py [epoch large launched sizes limits own]

Prints markdown and writes it to benchmarks/figures/elastic.md. Times are seconds of one process on
one thread, building and checking included, after a warm-up: processor time in `epoch` and `own`,
wall-clock in `large` and `limits`.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from elastic_pools import RUNNING, SCENARIOS
from figures import arguments, write
from rules_table import Rule, rows, shipped

import dlsched
from dlsched.problems.elastic import Instance

SEEDS = range(1, 11)
RULES = ("lyra", "afs", "fifo")


def worst_epoch() -> Iterator[str]:
    """Yield dp against the same model through HiGHS on 354 items and 245 GPUs."""
    yield "## 354 items, 245 GPUs: ten seeds, dp the median of five runs"
    yield ""
    yield "Processor time, building and checking included."
    yield ""
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


def large() -> Iterator[str]:
    """Yield dp on 100,000 items and 10,000 GPUs."""
    yield "## 100,000 items, 10,000 GPUs: dp"
    yield ""
    yield "| running | scaling | jobs | status | gap | seconds |"
    yield "|---|---|---|---|---|---|"
    for running in (0.0, 0.5, 1.0):
        for scaling in ("linear", "loss"):
            made = dlsched.generate(
                "elastic",
                seed=1,
                items=100_000,
                capacity=10_000,
                running=running,
                scaling=scaling,
            )
            result = dlsched.solve(made, "dp", time_limit=60)
            yield (
                f"| {running} | {scaling} | {len(made.jobs)} | {result.status} "
                f"| {max(result.gap):.1e} | {result.seconds.total:.2f} |"
            )


def launched() -> Iterator[str]:
    """Yield how many jobs phase one launches, by the GPUs that a waiting job asks for."""
    yield "## Jobs that phase one launches, by GPUs of a waiting job: 245 GPUs, ten seeds\n"
    yield "354 items, half of them running; least and most of a seed. Workers of small jobs have"
    yield "so many GPUs, and a small job so many of them at most.\n"
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
    yield "## Heuristics by size"
    yield ""
    yield "Gap in the number of launched jobs, mean of five seeds; half of the jobs run already."
    yield ""
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


def limits() -> Iterator[str]:
    """Yield the seconds taken with a limit of one second where a proof takes minutes."""
    yield "## time_limit=1 on 8 jobs of 1,500 choices, savings nearly equal to GPUs"
    yield ""
    yield "| method | status | reason | gap | seconds |"
    yield "|---|---|---|---|---|"
    made = correlated(8, 1500, 2000)
    for method in ("dp", "milp", "lyra"):
        began = time.perf_counter()
        result = dlsched.solve(made, method, time_limit=1)
        taken = time.perf_counter() - began
        gap = "-" if result.gap.reduction is None else f"{result.gap.reduction:.1e}"
        yield f"| {method} | {result.status} | {result.reason} | {gap} | {taken:.2f} |"


def correlated(jobs: int, choices: int, scale: int) -> Instance:
    """Return an epoch in which all items have nearly the same reduction per GPU."""
    rng = random.Random(1)
    rows = []
    for j in range(jobs):
        gpus = rng.randrange(scale, 3 * scale)
        times = [10**12]
        for _ in range(choices - 1):
            times.append(times[-1] - gpus - rng.randrange(50))
        row = {"id": f"j{j}", "gpus_per_worker": gpus, "min_workers": 1, "max_workers": choices}
        rows.append(row | {"running": True, "running_times": times})
    return Instance(name="correlated", capacity=jobs * choices * scale // 2, jobs=rows)


def epochs(seeds: range, **options: Any) -> Iterator[Instance]:
    """Yield Lyra's epochs with none, half and all of the jobs running."""
    for seed in seeds:
        for running in RUNNING:
            made = {"items": 354, "capacity": 245, "running": running} | options
            yield dlsched.generate("elastic", seed, **made)


def kept(pools: bool) -> Iterator[Instance]:
    """Yield the library's instances with one capacity or with two."""
    for instance in shipped("elastic"):
        if bool(instance.pools) is pools:
            yield instance


def own() -> Iterator[str]:
    """Yield the paper's heuristic and the exact method over all groups."""
    few, fresh = range(1, 6), range(101, 106)
    large = {"items": 3000, "capacity": 600}
    groups: dict[str, Callable[[], Iterator[Instance]]] = {
        "the library, one capacity": partial(kept, False),
        "the library, GPUs on loan": partial(kept, True),
        "354 items, 245 GPUs, seeds 1 to 5": partial(epochs, few),
        "the same, held back: seeds 101 to 105": partial(epochs, fresh),
        "loss of 20 %, held back: 101 to 105": partial(epochs, fresh, scaling="loss"),
        "3,000 items, 600 GPUs, held back: 101, 102": partial(epochs, range(101, 103), **large),
    }
    for name, shares in SCENARIOS.items():
        groups[f"80 on loan, {name}, seeds 1 to 5"] = partial(epochs, few, loan=80, **shares)
        groups[f"{name}, held back: 101 to 105"] = partial(epochs, fresh, loan=80, **shares)
    for name in ("Basic", "Advanced"):
        groups[f"3,000 items, 200 on loan, {name}, held back: 101, 102"] = partial(
            epochs, range(101, 103), loan=200, **large, **SCENARIOS[name]
        )
    yield "## The paper's heuristic and the optimum\n"
    yield "Each seed with 0, 0.5 and 1 of the jobs running.\n"
    rules = (Rule("lyra"), Rule("dp", exact=True, limit=30))
    yield from rows("elastic", rules, groups)


SECTIONS = {
    "epoch": worst_epoch,
    "large": large,
    "launched": launched,
    "sizes": sizes,
    "limits": limits,
    "own": own,
}

if __name__ == "__main__":
    dlsched.solve("lyra-table4", "milp")  # warm up
    dlsched.solve("elastic-354-loan")
    write("elastic", SECTIONS, arguments())

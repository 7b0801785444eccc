"""Elastic on two kinds of GPU: Lyra's worst epoch with GPUs on loan, its scenarios, larger sizes.

    python benchmarks/elastic_pools.py [epoch] [sizes]

Prints markdown and, if run as a whole, writes it to benchmarks/figures/elastic_pools.md. Times are
wall-clock seconds of one process on one thread, building and checking included, after a warm-up.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from machine import machine

import dlsched

FIGURES = Path(__file__).resolve().parent / "figures" / "elastic_pools.md"
SEEDS = range(1, 11)
SCENARIOS: dict[str, dict[str, Any]] = {
    "Basic": {"fungible": 0.21, "heterogeneous": 0.0},
    "Advanced": {"fungible": 0.21, "heterogeneous": 0.1},
    "Heterogeneous": {"fungible": 0.0, "heterogeneous": 0.1},
    "Ideal": {"fungible": 1.0, "heterogeneous": 1.0, "mixed_efficiency": 1.0, "elastic": 1.0},
}
"""Section 7.1, with shares of jobs; in Ideal all jobs scale."""


def epoch() -> Iterator[str]:
    """Yield dp against the model through HiGHS, and `lyra`, on 354 items with 245 + 80 GPUs."""
    yield "## 354 items, 245 GPUs and 80 on loan: ten seeds, dp the median of five runs"
    yield ""
    yield "Items are counted as with one capacity, by number of workers; choices by pool are more."
    yield "Agreement of dp and HiGHS is to nine digits. The last two columns are of `lyra`."
    yield ""
    head = "| scenario | running | choices | agree | dp, ms | slowest, ms | HiGHS, ms |"
    yield f"{head} launched, of the optimum | lost at level 2 |"
    yield f"|{'---|' * 9}"
    for name, options in SCENARIOS.items():
        for running in (0.0, 0.5, 1.0):
            yield row(name, running, options)


def row(name: str, running: float, options: dict[str, Any]) -> str:
    """Return the figures of one scenario."""
    fast, slowest, slow, same, choices, launched, lost = [], 0.0, [], 0, [], [], []
    for seed in SEEDS:
        made = dlsched.generate(
            "elastic", seed=seed, items=354, capacity=245, loan=80, running=running, **options
        )
        runs = [dlsched.solve(made, "dp") for _ in range(5)]
        times = [1000 * run.seconds.total for run in runs]
        fast.append(statistics.median(times))
        slowest = max(slowest, fast[-1])
        model = dlsched.solve(made, "milp", time_limit=60)
        slow.append(1000 * model.seconds.total)
        gaps = model.gap_to(runs[0].objective)
        proved = runs[0].status == "optimal" and gaps.launched == 0
        same += proved and gaps.reduction is not None and gaps.reduction <= 1e-9
        choices.append(len(list(dlsched.model(made).ITEMS)))
        rule = dlsched.solve(made, "lyra").gap_to(runs[0].objective)
        launched.append(1 - rule.launched)
        if rule.reduction is not None:
            lost.append(rule.reduction)
    share = f"{100 * statistics.mean(launched):.1f} %" if running < 1 else "-"
    loss = f"{100 * statistics.mean(lost):.2f} % ({len(lost)} seeds)" if lost else "-"
    return (
        f"| {name} | {running} | {statistics.median(choices):.0f} | {same}/10 "
        f"| {statistics.median(fast):.0f} | {slowest:.0f} | {statistics.median(slow):.0f} "
        f"| {share} | {loss} |"
    )


def sizes() -> Iterator[str]:
    """Yield dp on larger epochs."""
    yield "## Larger epochs: dp, seed 1, half of the jobs running"
    yield ""
    yield "| items | GPUs | on loan | scenario | jobs | status | gap | seconds |"
    yield f"|{'---|' * 8}"
    for items, capacity, loan in ((1000, 700, 240), (3000, 600, 200), (20_000, 4000, 1300)):
        for name in ("Advanced", "Ideal"):
            made = dlsched.generate(
                "elastic", seed=1, items=items, capacity=capacity, loan=loan, **SCENARIOS[name]
            )
            result = dlsched.solve(made, "dp", time_limit=60)
            gap = "-" if result.gap.reduction is None else f"{result.gap.reduction:.1e}"
            yield (
                f"| {items} | {capacity} | {loan} | {name} | {len(made.jobs)} | {result.status} "
                f"| {gap} | {result.seconds.total:.2f} |"
            )


def main() -> None:
    """Measure, print and write."""
    dlsched.solve("lyra-fig6-loan", "milp")  # warm up
    dlsched.solve("elastic-354-loan")
    parts = {"epoch": epoch, "sizes": sizes}
    names = sys.argv[1:] or list(parts)
    command = "`python benchmarks/elastic_pools.py`"
    lines = ["# Figures of elastic on two kinds of GPU", "", f"{command} on {machine()}"]
    for name in names:
        lines += ["", *parts[name]()]
    text = "\n".join(lines) + "\n"
    print(text)
    if names == list(parts):
        FIGURES.write_text(text)


if __name__ == "__main__":
    main()

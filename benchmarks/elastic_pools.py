"""Elastic on two kinds of GPU: Lyra's worst epoch with GPUs on loan, rules, larger sizes.

    python benchmarks/elastic_pools.py [epoch] [rules] [servers] [shares] [sizes]

Prints markdown and writes it to benchmarks/figures/elastic_pools.md. Times are processor seconds of
one process on one thread, building and checking included, after a warm-up.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import dlsched

SEEDS = range(1, 11)
SCENARIOS = ("Basic", "Advanced", "Heterogeneous", "Ideal")
"""Section 7.1."""
RULES = ("lyra", "afs", "fifo")
RUNNING = (0.0, 0.5, 1.0)
"""Shares of the jobs that run already."""


def made_for(name: str, seed: int, running: float, **options: Any) -> Any:
    """Return an epoch of 354 items of a scenario, by default with 245 GPUs and 80 on loan."""
    chosen = {"items": 354, "capacity": 245, "loan": 80, "running": running}
    return dlsched.generate("elastic", seed=seed, scenario=name.lower(), **(chosen | options))


def epoch() -> Iterator[str]:
    """Yield dp against the model through HiGHS on 354 items with 245 + 80 GPUs."""
    yield "| scenario | running | choices | agree | dp, ms | slowest, ms | HiGHS, ms |"
    yield f"|{'---|' * 7}"
    warm_up()
    for name in SCENARIOS:
        for running in RUNNING:
            yield row(name, running)


def row(name: str, running: float) -> str:
    """Return the figures of one scenario."""
    cpu, slow, same, choices = [], [], 0, []
    for seed in SEEDS:
        made = made_for(name, seed, running)
        runs, used = [], []
        for _ in range(5):
            began = time.process_time()
            runs.append(dlsched.solve(made, "dp"))
            used.append(1000 * (time.process_time() - began))
        cpu.append(statistics.median(used))
        began = time.process_time()
        model = dlsched.solve(made, "milp", time_limit=60)
        slow.append(1000 * (time.process_time() - began))
        gaps = model.gap_to(runs[0].objective)
        proved = runs[0].status == "optimal" and gaps.launched == 0
        same += proved and gaps.reduction is not None and gaps.reduction <= 1e-9
        choices.append(len(list(dlsched.model(made).ITEMS)))
    return (
        f"| {name} | {running} | {statistics.median(choices):.0f} | {same}/10 "
        f"| {statistics.median(cpu):.0f} | {max(cpu):.0f} | {statistics.median(slow):.0f} |"
    )


def rules() -> Iterator[str]:
    """Yield what the rules reach of the optimum on the same epochs."""
    head = [f"{rule} {what}" for rule in RULES for what in ("launched, %", "lost, %", "of seeds")]
    yield f"| scenario | running | {' | '.join(head)} |"
    yield f"|{'---|' * (2 + 3 * len(RULES))}"
    for name in SCENARIOS:
        for running in RUNNING:
            cells = []
            best = {s: dlsched.solve(made_for(name, s, running), "dp").objective for s in SEEDS}
            for rule in RULES:
                gaps = [
                    dlsched.solve(made_for(name, s, running), rule).gap_to(best[s]) for s in SEEDS
                ]
                share = 100 * statistics.mean(1 - float(gap.launched) for gap in gaps)
                lost = [100 * float(g.reduction) for g in gaps if g.reduction is not None]
                cells.append(f"{share:.1f}" if running < 1 else "-")
                cells.append(f"{statistics.mean(lost):.2f}" if lost else "-")
                cells.append(str(len(lost)))
            yield f"| {name} | {running} | {' | '.join(cells)} |"


def servers() -> Iterator[str]:
    """Yield what one training server, or three servers on loan, add to an epoch's optimum."""
    yield (
        "| scenario | launched | launched, one in training | launched, three on loan "
        "| hours saved | hours, one in training | hours, three on loan |"
    )
    yield f"|{'---|' * 7}"
    for name in SCENARIOS:
        cells = []
        for running, level, unit in ((0.0, 0, 1), (1.0, 1, 3600)):
            means = [
                statistics.mean(
                    float(dlsched.solve(made_for(name, s, running, **gpus), "dp").objective[level])
                    / unit
                    for s in SEEDS
                )
                for gpus in (
                    {"loan": 0},
                    {"capacity": 253, "loan": 0},
                    {"loan": 24},
                )
            ]
            cells += [f"{means[0]:.1f}", *(f"+{mean - means[0]:.1f}" for mean in means[1:])]
        yield f"| {name} | {' | '.join(cells)} |"


def shares() -> Iterator[str]:
    """Yield the optimum by the share of jobs that can train on both kinds of GPU (Figure 11)."""
    yield "| heterogeneous | launched | hours saved | GPUs on loan used |"
    yield f"|{'---|' * 4}"
    for share in (0.0, 0.1, 0.25, 0.5, 0.75, 1.0):
        options = {"fungible": 0.0, "heterogeneous": share}
        waiting = [
            dlsched.solve(made_for("Basic", s, 0.0, **options), "dp").objective.launched
            for s in SEEDS
        ]
        running = [dlsched.solve(made_for("Basic", s, 1.0, **options), "dp") for s in SEEDS]
        hours = statistics.mean(float(run.objective.reduction) / 3600 for run in running)
        made = [made_for("Basic", s, 1.0, **options) for s in SEEDS]
        loan = [
            dlsched.verify(inst, run.solution).details["gpus_loan"]
            for inst, run in zip(made, running, strict=True)
        ]
        yield (
            f"| {share} | {statistics.mean(waiting):.1f} | {hours:.0f} "
            f"| {statistics.mean(loan):.0f} |"
        )


def warm_up() -> None:
    """Solve two instances, so that what is done once is not counted."""
    dlsched.solve("lyra-fig6-loan", "milp")
    dlsched.solve("elastic-354-loan")


SECTIONS = {
    "epoch": epoch,
    "rules": rules,
    "servers": servers,
    "shares": shares,
}

"""Reclaiming at the size of the paper's fleet: exact methods, Lyra's heuristic, the baselines.

    python benchmarks/reclaiming.py [demands] [fleets] [rules] [open] [large] [frontier]

Writes benchmarks/figures/reclaiming.md. Times are of one process on one thread: processor time in
`demands`, `rules`, `frontier` and `large`. Building and checking are included
but in `rules`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import mean, median
from typing import Any

from claims_only.nearest import nearest_optimum
from reclaiming_rules import rules

import dlsched
from dlsched.results.result import Result

SEEDS = 10
SERVERS = 520
DEMANDS = (26, 52, 130, 260)
RULES = ("lyra", "gpu_fraction", "scf", "densest", "random")
LOANED = 291
"""Most servers on loan: 42 % of the paper's 520 are used at least, and 2 % are never lent."""
FLEETS: dict[str, dict[str, Any]] = {
    "whole servers": {"placement": "together", "sizes": {8: 0.55, 16: 0.25, 32: 0.15, 64: 0.05}},
    "together": {"placement": "together"},
    "together, odd": {"placement": "together", "odd": 0.5},
    "best fit, spread 0": {"spread": 0.0},
    "best fit, spread 0.05": {"spread": 0.05},
    "best fit, spread 0.2": {"spread": 0.2},
    "best fit, churn 2": {"spread": 0.0, "churn": 2.0},
    "shared, odd": {"placement": "shared", "odd": 0.5},
    "remnants, odd": {"placement": "remnants", "odd": 0.5},
    "remnants, odd, churn 2": {"placement": "remnants", "odd": 0.5, "churn": 2.0},
}
"""Generator parameters by name of the fleet; they decide the ranking of the heuristics."""
LOAN_DEMANDS = (10, 20, 40, 60, 80, 145)
VARIANTS: tuple[tuple[str, dict[str, str]], ...] = (
    *(("lyra", {"ties": ties}) for ties in ("absorbed", "collateral", "random")),
    *(("gpu_fraction", {"ties": ties}) for ties in ("absorbed", "random")),
    *(("scf", {"ties": ties}) for ties in ("file", "random")),
    ("densest", {}),
    ("random", {}),
)


def clock(call: Callable[[], Result], repeats: int = 1) -> tuple[Result, float]:
    """Return the result and the median processor time of the calls."""
    spent = []
    for _ in range(repeats):
        began = time.process_time()
        result = call()
        spent.append(time.process_time() - began)
    return result, median(spent)


class Demand:
    """Results of all seeds for one demand."""

    def __init__(self, demand: int) -> None:
        self.demand = demand
        self.exact: list[float] = []
        self.first: list[float] = []
        self.lyra: list[float] = []
        self.proved = self.certified = 0
        self.best: list[float] = []
        self.worth: dict[str, list[float]] = {rule: [] for rule in RULES}
        self.collateral: dict[str, list[float]] = {rule: [] for rule in ("exact", *RULES)}
        self.shared: list[float] = []
        self.nearest: list[float] = []

    def add(self, seed: int) -> None:
        """Solve one more instance with every method."""
        inst = dlsched.generate("reclaiming", seed, servers=SERVERS, demand=self.demand)
        exact, seconds = clock(lambda: dlsched.solve(inst, time_limit=60))
        self.exact.append(seconds)
        self.first.append(clock(lambda: dlsched.solve(inst, levels=1, time_limit=60))[1])
        self.proved += exact.status == "optimal" and all(g == 0 for g in exact.gap)
        first_bound = exact.certified[0]
        self.certified += first_bound is not None and first_bound.value == exact.objective[0]
        self.best.append(float(exact.objective[0]))
        self.collateral["exact"].append(float(exact.objective[1]))
        for rule in RULES:
            answer, seconds = clock(lambda rule=rule: dlsched.solve(inst, rule, seed=seed), 5)
            self.worth[rule].append(float(answer.objective[0]))
            self.collateral[rule].append(float(answer.objective[1]))
            if rule == "lyra":
                self.lyra.append(seconds)
                same = set(answer.solution.returned) & set(exact.solution.returned)
                self.shared.append(len(same) / self.demand)
                near = nearest_optimum(inst, answer.solution)
                same = set(answer.solution.returned) & set(near.returned)
                self.nearest.append(len(same) / self.demand)

    def more(self, rule: str) -> float:
        """Return the share of preempted jobs above the optimum, as sums over the seeds."""
        return sum(self.worth[rule]) / sum(self.best) - 1

    def equal(self, rule: str) -> int:
        """Return how often a rule preempts no more than the optimum."""
        return sum(w == b for w, b in zip(self.worth[rule], self.best, strict=True))


def demands(seeds: int = SEEDS) -> Iterator[str]:
    """Yield the markdown of the 520-server tables."""
    rows = [Demand(demand) for demand in DEMANDS]
    for seed in range(1, seeds + 1):
        for row in rows:
            row.add(seed)
    head = "| demand | both levels proved | certified | exact, s | slowest, s | levels=1, s "
    yield head + "| lyra, s | exact / lyra |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in rows:
        e, f, h = median(row.exact), median(row.first), median(row.lyra)
        yield (
            f"| {row.demand} | {row.proved} of {seeds} | {row.certified} of {seeds} | {e:.3f} "
            f"| {max(row.exact):.3f} | {f:.3f} | {h:.4f} | {e / h:.0f} |"
        )
    yield "| demand | optimum, median | " + " | ".join(RULES) + " |"
    yield "|---|---|" + "---|" * len(RULES)
    for row in rows:
        cells = [f"{row.more(rule):.1%} ({row.equal(rule)} of {seeds})" for rule in RULES]
        yield f"| {row.demand} | {median(row.best):g} | " + " | ".join(cells) + " |"
    yield "| demand | exact | " + " | ".join(RULES) + " |"
    yield "|---|---|" + "---|" * len(RULES)
    for row in rows:
        cells = [f"{median(values):g}" for values in row.collateral.values()]
        yield f"| {row.demand} | " + " | ".join(cells) + " |"
    yield "| demand | one optimum | the nearest optimum |\n|---|---|---|"
    for row in rows:
        one, near = mean(row.shared), mean(row.nearest)
        yield f"| {row.demand} | {one:.0%} | {near:.0%} |"


def fleets(seeds: int = SEEDS) -> Iterator[str]:
    """Yield the markdown of the heuristics and tie rules by fleet."""
    names = [f"{name} ({o['ties']})" if o else name for name, o in VARIANTS]
    yield "| fleet | demand | optimum, mean | " + " | ".join(names) + " |"
    yield "|---|---|---|" + "---|" * len(names)
    for fleet, options in FLEETS.items():
        for demand in LOAN_DEMANDS:
            best, found = 0.0, [0.0] * len(VARIANTS)
            for seed in range(1, seeds + 1):
                inst = dlsched.generate(
                    "reclaiming", seed, servers=LOANED, demand=demand, **options
                )
                optimum = dlsched.solve(inst, levels=1)
                assert optimum.gap[0] == 0
                best += float(optimum.objective[0])
                for k, (name, ties) in enumerate(VARIANTS):
                    found[k] += float(dlsched.solve(inst, name, seed=seed, **ties).objective[0])
            cells = [f"{value / best - 1:.0%}" for value in found]
            yield f"| {fleet} | {demand} | {best / seeds:.1f} | " + " | ".join(cells) + " |"


def large() -> Iterator[str]:
    """Yield the markdown of 5,000 servers."""
    yield "| seed | jobs | status | optimum | gap | exact, s | lyra, s | lyra's objective |"
    yield "|---|---|---|---|---|---|---|---|"
    for seed in (1, 2, 3):
        inst = dlsched.generate("reclaiming", seed, servers=5000, demand=500)
        exact, seconds = clock(partial(dlsched.solve, inst, time_limit=60), 3)
        rule, spent = clock(partial(dlsched.solve, inst, "lyra"), 5)
        yield (
            f"| {seed} | {len(inst.jobs)} | {exact.status!s} | {tuple(exact.objective)} "
            f"| {tuple(exact.gap)} | {seconds:.2f} | {spent:.4f} "
            f"| {tuple(rule.objective)} |"
        )


SECTIONS = {
    "demands": demands,
    "fleets": fleets,
    "rules": rules,
    "large": large,
}

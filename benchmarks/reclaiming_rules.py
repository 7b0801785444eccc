"""Reclaiming: the paper's heuristic, this library's and the optimum, over fleets and seeds.

Sections of `reclaiming.py`. Seconds are processor time of the method alone, with neither reading
nor checking, the least of three calls (of one, with rounds); those of `exact` are of one call of
`dlsched.solve`, whole.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from statistics import mean
from typing import Any

import numpy as np

import dlsched
from dlsched import library
from dlsched.problems.reclaiming import Instance
from dlsched.registry import problem
from dlsched.run import Run

SERVERS = 520
DEMANDS = (26, 52, 130, 260)
SPREADS = (0.0, 0.05, 0.2, 0.5, 1.0)
DEPARTURES: dict[str, Any] = {"churn": 2.0, "odd": 0.5}
ROUNDS = 40
RULES: tuple[tuple[str, dict[str, int]], ...] = (
    ("lyra", {}),
    ("densest", {}),
    ("densest", {"rounds": ROUNDS}),
)


@dataclass
class Rule:
    """One rule's results on a group of instances."""

    distances: list[float] = field(default_factory=list)
    more: int = 0
    seconds: list[float] = field(default_factory=list)

    def cells(self, base: float) -> str:
        """Return distances, mean and largest milliseconds, and the mean's ratio to `base`."""
        spent = mean(self.seconds)
        shown = f"{mean(self.distances):.2%} | {max(self.distances):.1%}"
        spent_most = f"{1000 * spent:.2f} | {1000 * max(self.seconds):.2f}"
        return f"{shown} | {self.more} | {spent_most} | {spent / base:.2f}"


def least(call: Callable[[], object], calls: int = 3) -> float:
    """Return the least processor time of some calls."""
    spent = []
    for _ in range(calls):
        began = time.process_time()
        call()
        spent.append(time.process_time() - began)
    return min(spent)


def weighted(instance: Instance, seed: int) -> Instance:
    """Return the instance with log-normal weights of three decimals."""
    data = instance.to_data()
    drawn = np.random.default_rng(seed).lognormal(size=len(instance.jobs))
    for job, weight in zip(data["jobs"], drawn, strict=True):
        job["weight"] = max(0.001, round(float(weight), 3))
    return Instance.parse(data, "the benchmark")


def fleet(seeds: range, weights: bool = False, **options: Any) -> Iterator[Instance]:
    """Yield the instances of all spreads, demands and seeds."""
    for spread in SPREADS:
        for demand in DEMANDS:
            for seed in seeds:
                made = dlsched.generate(
                    "reclaiming", seed, servers=SERVERS, demand=demand, spread=spread, **options
                )
                yield weighted(made, seed) if weights else made


def shipped() -> Iterator[Instance]:
    """Yield the library's instances whose optimum is proved."""
    for line in library.index().values():
        if line["problem"] == "reclaiming" and line["kind"] != "open":
            yield dlsched.load(line["name"])


GROUPS: dict[str, Callable[[], Iterator[Instance]]] = {
    "the library": shipped,
    "spreads, seeds 1 to 4": partial(fleet, range(1, 5)),
    "spreads, held back: seeds 1001 to 1004": partial(fleet, range(1001, 1005)),
    "departures, seeds 1 and 2": partial(fleet, range(1, 3), **DEPARTURES),
    "departures, held back: seeds 1001 and 1002": partial(fleet, range(1001, 1003), **DEPARTURES),
    "departures, held back: seeds 3001 to 3003": partial(fleet, range(3001, 3004), **DEPARTURES),
    "departures, weights, held back: seed 1001": partial(
        fleet, range(1001, 1002), weights=True, **DEPARTURES
    ),
}


def rules() -> Iterator[str]:
    """Yield distance and time of the rules over all groups."""
    methods = problem("reclaiming").methods
    yield (
        "| instances | rule | mean | worst | more | ms | slowest | times lyra's | exact, s "
        "| proved |"
    )
    yield "|" + "---|" * 10
    for group, instances in GROUPS.items():
        found, spent, proved, count = [Rule() for _ in RULES], [], 0, 0
        for instance in instances():
            count += 1
            began = time.process_time()
            best = dlsched.solve(instance, levels=1, time_limit=120)
            spent.append(time.process_time() - began)
            proved += float(best.gap[0]) <= 1e-9
            optimum = float(best.objective[0])
            for rule, (name, options) in zip(found, RULES, strict=True):
                value = float(dlsched.solve(instance, name, **options).objective[0])
                function = methods[name].function
                call: Callable[[], object]
                if methods[name].wants_run:
                    call = lambda: function(instance, Run(), **options)  # noqa: B023, E731
                else:
                    call = lambda: function(instance, np.random.default_rng(0))  # noqa: B023, E731
                rule.seconds.append(least(call, 1 if options else 3))
                rule.more += value > optimum * (1 + 1e-9)
                rule.distances.append(value / optimum - 1 if optimum else float(value > 0))
        base = mean(found[0].seconds)
        for (name, options), rule in zip(RULES, found, strict=True):
            shown = f"`{name}`" + (f", {ROUNDS} rounds" if options else "")
            first = f"{group} ({count})" if rule is found[0] else ""
            exact = f"{mean(spent):.2f} | {proved} of {count}" if rule is found[0] else " | "
            yield f"| {first} | {shown} | {rule.cells(base)} | {exact} |"


def scattered() -> Iterator[str]:
    """Yield what rounds find on the open instances."""
    yield "| instance | lyra | densest | rounds, 20 s, seeds 1 to 3 | best known |"
    yield "|---|---|---|---|---|"
    for line in library.index().values():
        if line["problem"] == "reclaiming" and line["kind"] == "open":
            instance = dlsched.load(line["name"])
            plain = [tuple(dlsched.solve(instance, m).objective) for m in ("lyra", "densest")]
            rounds = [
                tuple(
                    dlsched.solve(
                        instance, "densest", rounds=10**9, time_limit=20, seed=seed
                    ).objective
                )
                for seed in (1, 2, 3)
            ]
            known = tuple(line["objective"][level]["value"] for level in line["objective"])
            shown = " and ".join(map(str, rounds))
            yield f"| `{line['name']}` | {plain[0]} | {plain[1]} | {shown} | {known} |"

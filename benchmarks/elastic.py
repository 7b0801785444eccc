"""Elastic: what phase one launches, and what GPUs of training and on loan are worth."""

from collections.abc import Iterator
from typing import Any

from runs import Row

import dlsched

SEEDS = range(1, 11)
SCENARIOS = ("Basic", "Advanced", "Heterogeneous", "Ideal")
"""Lyra, section 7.1."""


def launched() -> Iterator[Row]:
    """Yield how many jobs phase one launches, by the GPUs that a waiting job asks for."""
    for gpus, most in ((1, 1), (None, 3), (4, 3), (8, 3)):
        options: Row = {"max_base": most} | ({"gpus_per_worker": {gpus: 1}} if gpus else {})
        for seed in SEEDS:
            made = dlsched.generate("elastic", seed, items=354, capacity=245, **options)
            asked = [job.gpus(job.min_workers) for job in made.jobs if not job.running]
            gap = dlsched.solve(made, "lyra").gap_to(dlsched.solve(made).objective).launched
            row: Row = {"GPUs, workers": f"{gpus or 'as generated'}, {most}", "seed": seed}
            row["GPUs a waiting job"] = sum(asked) / len(asked)
            yield row | {"launched, % of the optimum": 100 * (1 - float(gap))}


def epoch_of(scenario: str, seed: int, running: float, **options: Any) -> Any:
    """Return an epoch of 354 items of a scenario, by default with 245 GPUs and 80 on loan."""
    chosen: Row = {"items": 354, "capacity": 245, "loan": 80, "running": running}
    return dlsched.generate("elastic", seed, scenario=scenario.lower(), **(chosen | options))


def servers() -> Iterator[Row]:
    """Yield what one training server, or three servers on loan, add to an epoch's optimum."""
    given: dict[str, Row] = {"": {"loan": 0}, ", one in training": {"capacity": 253, "loan": 0},
                             ", three on loan": {"loan": 24}}  # fmt: skip
    for scenario in SCENARIOS:
        for seed in SEEDS:
            row: Row = {"scenario": scenario, "seed": seed}
            for what, running, level, unit in (("launched", 0.0, 0, 1), ("hours", 1.0, 1, 3600)):
                made = [epoch_of(scenario, seed, running, **gpus) for gpus in given.values()]
                found = [float(dlsched.solve(each, "dp").objective[level]) / unit for each in made]
                row |= {what if what == "launched" else "hours saved": found[0]}
                row |= {f"{what}{k}": v - found[0] for k, v in list(zip(given, found))[1:]}  # noqa: B905
            yield row


def shares() -> Iterator[Row]:
    """Yield the optimum by the share of jobs that can train on both kinds of GPU (Figure 11)."""
    for share in (0.0, 0.1, 0.25, 0.5, 0.75, 1.0):
        options = {"fungible": 0.0, "heterogeneous": share}
        for seed in SEEDS:
            waiting, running = (epoch_of("Basic", seed, part, **options) for part in (0.0, 1.0))
            best = dlsched.solve(running, "dp")
            yield {
                "heterogeneous": str(share), "seed": seed,
                "launched": float(dlsched.solve(waiting, "dp").objective.launched),
                "hours saved": float(best.objective.reduction) / 3600,
                "GPUs on loan used": dlsched.verify(running, best.solution).details["gpus_loan"],
            }  # fmt: skip

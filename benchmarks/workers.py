"""Workers: gaps of the heuristics, seconds of the exact methods, and what groups are worth.

    python benchmarks/workers.py [SECTION ...]

Sections: gaps, sizes, groups, own. Prints markdown, writes it to
benchmarks/figures/workers.md. Times are processor seconds of one process on one thread.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np
from figures import cell

import dlsched
from dlsched.problems.workers import Instance, Solution, to_reclaiming
from dlsched.problems.workers.definition.schema import Kind, Pool
from dlsched.problems.workers.instances.generate import SCENARIOS, with_tenants
from dlsched.problems.workers.structures import fleet
from dlsched.problems.workers.structures.fleet import Taken

SEEDS = range(1, 6)


class FirstFit(fleet.BestFit):
    """The first server in the file's order that fits."""

    def place(self, pool: Pool, kind: Kind, size: int, count: int) -> Taken:
        """Place up to `count` workers, each on the first server that fits."""
        group = kind if self.separate and pool == "loan" else "open"
        placed: Taken = []
        for s, free in enumerate(self.free):
            workers = min(count, free // size)
            if workers and self.pool[s] == pool and self.group[s] in ("empty", "open", group):
                self.changes.append((s, free, self.group[s]))
                self.move(s, free - workers * size, group)
                placed.append((s, workers))
                count -= workers
        return placed


def first_fit(instance: Instance, rng: np.random.Generator) -> Solution:
    """Take jobs and servers in the file's order, which best fit is measured against."""
    servers = FirstFit(instance)
    bases: dict[str, Taken] = {}
    flexible: dict[str, Taken] = {}
    for job in instance.jobs:
        base = fleet.place_base(servers, job, fleet.preferred)
        if base is not None:
            bases[job.id], home = base
            pools = fleet.preferred(job, "flexible") if job.heterogeneous else (home,)
            more = fleet.place_workers(servers, job, "flexible", job.flexible, pools)
            flexible[job.id] = more
    return fleet.solution_of(instance, bases, flexible)


def gaps() -> Iterator[str]:
    """Yield mean gaps in placed jobs, with separate groups and without."""
    methods = ("bfd", "bases_first", "confined_first", first_fit, "naive_bfd")
    rules = {getattr(method, "__name__", method): method for method in methods}
    yield f"| servers | scenario | groups | {' | '.join(rules)} |"
    yield "|---|---|---|---|---|---|---|---|"
    for servers in (48, 96, 192, 384, 963):
        training = round(servers * 443 / 963)
        for scenario in SCENARIOS:
            for separate in (True, False):
                found: dict[str, list[float]] = {rule: [] for rule in rules}
                for seed in SEEDS:
                    instance = dlsched.generate(
                        "workers", seed, training=training, loan=servers - training,
                        jobs=servers, scenario=scenario, separate_groups=separate,
                    )  # fmt: skip
                    best = dlsched.solve(instance)
                    assert best.status == "optimal"
                    for rule, method in rules.items():
                        if rule != "naive_bfd" or not separate:
                            result = dlsched.solve(instance, method)
                            found[rule].append(float(result.gap_to(best.bound)[0] or 0))
                cells = [cell(statistics.mean(f)) if f else "-" for f in found.values()]
                groups = "separate" if separate else "shared"
                yield f"| {servers} | {scenario} | {groups} | {' | '.join(cells)} |"


def groups() -> Iterator[str]:
    """Yield what a demand for loan servers costs after placements with and without groups."""
    yield ("| scenario | demand | rule | flexible workers on loan | flexible only | preempted |")
    yield "|---|---|---|---|---|---|"
    for scenario in SCENARIOS:
        for rule in ("bfd", "bases_first", "exact", "naive_bfd"):
            fleets = [
                with_tenants(
                    np.random.default_rng(seed),
                    scenario=scenario,
                    separate_groups=rule != "naive_bfd",
                )
                for seed in SEEDS
            ]
            placed = [dlsched.solve(instance, rule) for instance, _ in fleets]
            shares = [_on_loan(i, p.solution) for (i, _), p in zip(fleets, placed, strict=True)]
            flexible = f"{100 * statistics.mean(shares):.1f} %"
            for demand in (52, 130, 260):
                only, preempted = [], []
                for (instance, tenants), result in zip(fleets, placed, strict=True):
                    after = to_reclaiming(instance, result.solution, demand, tenants)
                    only.append(min(1.0, _flexible_only(after) / demand))
                    preempted.append(float(dlsched.solve(after, levels=1).objective[0]))
                yield (
                    f"| {scenario} | {demand} | {rule} | {flexible} "
                    f"| {100 * statistics.mean(only):.1f} % | {statistics.mean(preempted):.1f} |"
                )


def _on_loan(instance: Instance, solution: object) -> float:
    """Return the share of the placed flexible workers that are on loan servers."""
    report = dlsched.verify(instance, solution)
    return float(report.details["flexible_on_loan"]) / max(1, int(report.objective[1]))


def _flexible_only(after: dlsched.Instance) -> int:
    """Return the number of loan servers with flexible workers and no base worker."""
    kinds: dict[str, set[bool]] = {}
    for job in after.jobs:
        for worker in job.workers:
            kinds.setdefault(worker.server, set()).add(worker.flexible)
    return sum(found == {True} for found in kinds.values())


def fleets(seeds: range, **options: Any) -> Iterator[Instance]:
    """Yield instances of all scenarios."""
    for scenario in SCENARIOS:
        for seed in seeds:
            yield dlsched.generate("workers", seed, scenario=scenario, **options)


SECTIONS = {
    "gaps": gaps,
    "groups": groups,
}

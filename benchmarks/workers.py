"""Workers: first fit, which best fit is compared with, and what groups are worth."""

from collections.abc import Iterator, Sequence

import numpy as np
from runs import Row, compare

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


def gaps(sizes: Sequence[int], methods: Sequence[str]) -> Iterator[Row]:
    """Yield the gaps of rules in placed jobs, by servers, with separate groups and without."""
    for servers in sizes:
        training = round(servers * 443 / 963)
        fleet = {"training": training, "loan": servers - training, "jobs": servers}
        grid = {"scenario": SCENARIOS, "separate_groups": (True, False)}
        for row in compare("workers", methods, grid, SEEDS, [fleet]):
            groups = "separate" if row["separate_groups"] == "True" else "shared"
            yield row | {"servers": servers, "groups": groups}


def groups() -> Iterator[Row]:
    """Yield what a demand for loan servers costs after placements with and without groups."""
    for scenario in SCENARIOS:
        for rule in ("bfd", "bases_first", "exact", "naive_bfd"):
            for seed in SEEDS:
                instance, tenants = with_tenants(
                    np.random.default_rng(seed), scenario=scenario,
                    separate_groups=rule != "naive_bfd",
                )  # fmt: skip
                placed = dlsched.solve(instance, rule).solution
                for demand in (52, 130, 260):
                    after = to_reclaiming(instance, placed, demand, tenants)
                    yield {
                        "scenario": scenario, "demand": demand, "rule": rule, "seed": seed,
                        "flexible only": 100 * min(1.0, _flexible_only(after) / demand),
                        "preempted": float(dlsched.solve(after, levels=1).objective[0]),
                    }  # fmt: skip


def _flexible_only(after: dlsched.Instance) -> int:
    """Return the number of loan servers with flexible workers and no base worker."""
    kinds: dict[str, set[bool]] = {}
    for job in after.jobs:
        for worker in job.workers:
            kinds.setdefault(worker.server, set()).add(worker.flexible)
    return sum(found == {True} for found in kinds.values())

"""Dispatch: the scopes' gaps, optimality of MAST's scan, the negative cache, the ranking.

Times are CPU seconds of the process, on one thread: on an idle machine they are what one waits.
"""

import time
from collections.abc import Iterator
from itertools import product
from statistics import median
from typing import Any

from runs import Row, timed
from scipy.stats import binomtest

import dlsched
from dlsched.problems.dispatch import Instance, rank
from dlsched.problems.dispatch.definition.ranking import Ranked, startable
from dlsched.problems.dispatch.definition.workloads import Tenant
from dlsched.problems.dispatch.heuristics.dispatcher import Dispatcher
from dlsched.problems.dispatch.structures.fleet import Fleet
from dlsched.schema import Number

HEURISTICS = ("counted", "mast", "top_k", "federated", "local", "regional_queue", "global_queue",
              "regional")  # fmt: skip
MACHINES = (5, 10, 20)
SEEDS = range(1, 11)
LARGEST: Row = {"scope": "one", "regions": 1, "clusters": 20, "machines": 3325, "types": 1,
                "gpu_share": 125 / 3325, "tenants": 60, "copies": 1, "pending": 100}  # fmt: skip
"""The largest regional scheduler of section 4.3.1: 64,000 CPU machines, 20,000 GPUs."""


def gap(best: Any, found: Any) -> float:
    """Return by what part less starts, at the first priority at which less does than at best."""
    for p in range(1, 8):
        a, b = (float(getattr(objective, f"started_{p}")) for objective in (best, found))
        if b < a:
            return (a - b) / a
    return 0.0


def total(objective: Any, what: str) -> float:
    """Return the sum of the levels of all priorities."""
    return sum(float(getattr(objective, f"{what}_{p}")) for p in range(1, 8))


def batch() -> Iterator[Row]:
    """Yield how often and how far each scope is from the proven optimum of a batch.

    A method is worse if it is so in a level of what starts or is preempted.
    """
    for machines, seed in product(MACHINES, SEEDS):
        made = dlsched.generate("dispatch", seed, machines=machines)
        best = None
        for name in ("milp", "classes", *HEURISTICS):
            result, seconds = timed(made, name)
            best = best or result.objective
            assert name != "classes" or result.objective == best
            yield {
                "machines": machines, "seed": seed, "method": name, "s": seconds,
                "proved": result.status == "optimal",
                "worse": best[:-2] != result.objective[:-2],
                "gap": 100 * gap(best, result.objective),
                "size started": total(result.objective, "started"),
                "jobs preempted": total(result.objective, "preempted"),
            }  # fmt: skip


SOLUTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "(6)": ("mast", {}),
    "(3) least loaded": ("global_queue", {}),
    "(3) late": ("global_queue", {"late": True}),
    "(5)": ("regional", {}),
    "(2) least loaded": ("regional_queue", {}),
    "(2) late": ("regional_queue", {"late": True}),
    "(1) by rank": ("local", {}),
    "(1) first come": ("federated", {}),
}
"""Methods by the solutions of Table 1, some in two readings."""
PAIRS = {
    "late binding": (
        ("(6)", "(3) late"), ("(3) late", "(5)"), ("(5)", "(2) late"), ("(2) late", "(1) by rank"),
        ("(2) late", "(1) first come"),
    ),
    "least loaded": (
        ("(6)", "(3) least loaded"), ("(3) least loaded", "(5)"), ("(5)", "(2) least loaded"),
        ("(2) least loaded", "(1) by rank"), ("(2) least loaded", "(1) first come"),
    ),
}  # fmt: skip
"""Neighbours of the paper's order, the preferred one first, by the reading of (2) and (3)."""
SOLUTION_SEEDS = range(1, 101)


def solutions() -> Iterator[Row]:
    """Yield in how many batches a solution of Table 1 is better than the next of the order.

    Better: at the first level that differs of what is preempted and starts, by priority.
    """
    made = [
        dlsched.generate("dispatch", seed, machines=machines)
        for machines in MACHINES
        for seed in SOLUTION_SEEDS
    ]
    found = {
        label: [dlsched.solve(inst, name, **options).objective for inst in made]
        for label, (name, options) in SOLUTIONS.items()
    }
    for table, pairs in enumerate(PAIRS.values()):
        for first, second in pairs:
            signs = [ahead(a, b) for a, b in zip(found[first], found[second], strict=True)]
            wins, ties, losses = (signs.count(sign) for sign in (1, 0, -1))
            test = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
            row = {"table": table, "pair": f"{first} > {second}", "first better": wins}
            yield row | {"equal": ties, "second better": losses, "sign test": f"{test:.2g}"}


def ahead(a: Any, b: Any) -> int:
    """Return 1 if an objective is better in what is preempted and starts, -1 if worse, else 0."""
    for (level, mine), theirs in list(zip(a.pairs(), b, strict=True))[:-2]:
        if mine != theirs:
            return 1 if (mine > theirs) == level.name.startswith("started") else -1
    return 0


def optimum(inst: Instance, ranked: Ranked) -> tuple[tuple[int, ...], Number] | None:
    """Return the least preempted jobs by priority and youth of a workload alone; None if it waits.

    It has a tenant of its own, of the priority that it is ranked with.
    """
    data = {"id": "alone", "priority": ranked.priority, "gpu_quota": 10**9, "cpu_quota": 10**9}
    workload = inst.pending[ranked.position].model_copy(update={"tenant": "alone"})
    tenants = (*inst.tenants, Tenant.model_validate(data))
    alone = inst.model_copy(update={"tenants": tenants, "pending": (workload,), "scope": "one"})
    found = dlsched.solve(alone, "classes")
    assert found.status is dlsched.Status.OPTIMAL
    if not found.solution.start:
        return None
    lost = [int(getattr(found.objective, f"preempted_{p}")) for p in range(1, 8)]
    return (0, *lost), found.objective.young


def one() -> Iterator[Row]:
    """Yield the time of a decision and of its proof in MAST's largest region.

    A plan is missed if there is a better one by preempted jobs or their youth.
    """
    for allocation in (0.95, 1.0):
        inst = dlsched.generate("dispatch", 6, **LARGEST, allocation=allocation)
        assert isinstance(inst, Instance)
        fleet = Fleet(inst)
        for i, ranked in enumerate(rank(inst)):
            workload = inst.pending[ranked.position]
            sites = fleet.sites_of(workload)
            times, plan = [], None
            for _ in range(5):
                began = time.process_time()
                plan = Dispatcher(fleet).auction(ranked, sites)
                times.append(time.process_time() - began)
            preempts = "cannot start" if plan is None else "yes" if plan.victims else "no"
            large = any(job.tasks >= 100 for job in workload.jobs if not job.gpus)
            row: Row = {"allocation": str(allocation), "preempts": preempts}
            row |= {"large": "yes" if large else "no", "mast, ms": 1000 * median(times)}
            if i < 30:
                began = time.process_time()
                best = optimum(inst, ranked)
                row["proof, s"] = time.process_time() - began
                row["missed"] = plan is not None and best is not None and best < plan.score[:-1]
            yield row


def missed() -> Iterator[Row]:
    """Yield the workloads that MAST starts with preemption, each alone on the state.

    Not optimal: the optimum preempts fewer jobs or lower priorities; by youth: or others.
    """
    cases = product((20, 100), (0.95, 1.0), range(1, 21))
    for machines, allocation, seed in cases:
        inst = dlsched.generate(
            "dispatch", seed, scope="one", regions=1, clusters=4, machines=machines,
            allocation=allocation, pending=40, copies=1,
        )  # fmt: skip
        assert isinstance(inst, Instance)
        fleet = Fleet(inst)
        for ranked in rank(inst):
            sites = fleet.sites_of(inst.pending[ranked.position])
            plan = Dispatcher(fleet).auction(ranked, sites)
            best = optimum(inst, ranked)
            if plan is not None and plan.victims and best is not None:
                yield {
                    "machines": machines, "allocation": str(allocation), "seed": seed,
                    "with preemption": 1, "not optimal": best[0] < plan.score.lost,
                    "also by youth": best < plan.score[:-1],
                }  # fmt: skip


def cache() -> Iterator[Row]:
    """Yield how many plans the negative cache answers, and the time with and without."""
    for pending, allocation in (*product((300, 1000, 3000), (0.97, 1.0)), (10_000, 0.97)):
        inst = dlsched.generate(
            "dispatch", 1, regions=10, clusters=5, machines=100, pending=pending, tenants=60,
            allocation=allocation,
        )  # fmt: skip
        assert isinstance(inst, Instance)
        made, seconds = [], []
        for on in (True, False):
            fleet = Fleet(inst)
            dispatcher = Dispatcher(fleet, cache=on)
            places = {r.position: fleet.sites_of(inst.pending[r.position]) for r in startable(inst)}
            began = time.process_time()
            dispatcher.dispatch(startable(inst), lambda r, places=places: places[r.position])
            seconds.append(time.process_time() - began)
            made.append(dispatcher)
        first, second = made
        assert first.solution() == second.solution()
        yield {
            "pending": f"{pending:,}", "allocation": str(allocation), "started": len(first.start),
            "plans asked for": first.attempts,
            "answered by the cache": 100 * first.hits / first.attempts,
            "of failures": 100 * first.hits / max(1, first.hits + first.failures),
            "CPU s with": seconds[0], "without": seconds[1],
        }  # fmt: skip


def ranking() -> Iterator[Row]:
    """Yield the time of the ranking."""
    for pending in (1000, 10_000):
        inst = dlsched.generate("dispatch", 1, pending=pending, tenants=200)
        assert isinstance(inst, Instance)
        for _ in range(5):
            began = time.process_time()
            rank(inst)
            yield {"pending": f"{pending:,}", "CPU s": time.process_time() - began}

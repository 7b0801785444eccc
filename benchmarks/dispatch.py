"""Dispatch: the time of a decision, optimality of MAST's scan, gaps of the scopes, the ranking.

    python benchmarks/dispatch.py [section ...]

Without arguments every section; prints markdown and writes it to benchmarks/figures/dispatch.md.
Times are CPU seconds of the process, on one thread: on an idle machine they are what one waits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product
from statistics import median
from typing import Any

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
LARGEST: dict[str, Any] = {"scope": "one", "regions": 1, "clusters": 20, "machines": 3325,
                           "gpu_share": 125 / 3325, "types": 1, "tenants": 60, "copies": 1,
                           "pending": 100}  # fmt: skip
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


def solved(inst: Any, name: str, **options: Any) -> tuple[Any, float]:
    """Return a result and its CPU seconds."""
    began = time.process_time()
    found = dlsched.solve(inst, name, **options)
    return found, time.process_time() - began


def batch() -> Iterator[str]:
    """Yield how often and how far each scope is from the proven optimum of a batch."""
    yield f"| machines | proved | s, slowest | {' | '.join(HEURISTICS)} |"
    yield "|" + "---|" * (3 + len(HEURISTICS))
    last: dict[str, list[Any]] = {}
    times: dict[str, list[float]] = {}
    for machines in MACHINES:
        insts = [dlsched.generate("dispatch", seed, machines=machines) for seed in SEEDS]
        for name in ("milp", "classes", *HEURISTICS):
            found = [solved(inst, name) for inst in insts]
            last[name] = [result for result, _ in found]
            times[name] = [seconds for _, seconds in found]
        best = [result.objective for result in last["milp"]]
        assert best == [result.objective for result in last["classes"]]
        proved = sum(result.status == "optimal" for result in last["classes"])
        words = " | ".join(f"{100 * worse(best, last[n]) / len(SEEDS):.3g} %" for n in HEURISTICS)
        yield f"| {machines} | {proved} of {len(SEEDS)} | {max(times['classes']):.2f} | {words} |"
    yield "| method | CPU s: mean | most | not optimal | gap | size started | jobs preempted |"
    yield "|" + "---|" * 7
    for name, results in last.items():
        gaps = [gap(a, b.objective) for a, b in zip(best, results, strict=True)]
        size, jobs = (
            sum(total(result.objective, what) for result in results)
            for what in ("started", "preempted")
        )
        own = times[name]
        yield (
            f"| {name} | {sum(own) / len(own):.2f} | {max(own):.2f} "
            f"| {worse(best, results)} of {len(SEEDS)} | {100 * sum(gaps) / len(gaps):.3g} % "
            f"| {size:.0f} | {jobs:.0f} |"
        )


def worse(best: list[Any], found: list[Any]) -> int:
    """Return how many results are not optimal in what starts or is preempted."""
    return sum(a[:-2] != b.objective[:-2] for a, b in zip(best, found, strict=True))


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


def solutions() -> Iterator[str]:
    """Yield in how many batches a solution of Table 1 is better than the next of the order."""
    yield f"{SOLUTION_SEEDS[-1]} each, allocation 97 %. Better: at the first level that differs of"
    made = list(batches(SOLUTION_SEEDS))
    found = {
        label: [dlsched.solve(inst, name, **options).objective for inst in made]
        for label, (name, options) in SOLUTIONS.items()
    }
    for reading, pairs in PAIRS.items():
        yield "| pair | first better | equal | second better | sign test |"
        yield "|---|---|---|---|---|"
        for first, second in pairs:
            signs = [ahead(a, b) for a, b in zip(found[first], found[second], strict=True)]
            wins, ties, losses = (signs.count(sign) for sign in (1, 0, -1))
            test = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
            yield f"| {first} > {second} | {wins} | {ties} | {losses} | {test:.2g} |"


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


def one() -> Iterator[str]:
    """Yield the time of a decision and of its proof in MAST's largest region."""
    yield (
        "| allocation | preempts | large | workloads | mast, ms: median | mast, ms: most "
        "| proof, s: median | proof, s: most | missed |"
    )
    yield "|" + "---|" * 9
    for allocation in (0.95, 1.0):
        inst = dlsched.generate("dispatch", 6, **LARGEST, allocation=allocation)
        assert isinstance(inst, Instance)
        fleet = Fleet(inst)
        rows: dict[tuple[str, bool], list[tuple[float, float | None, bool]]] = {}
        for i, ranked in enumerate(rank(inst)):
            workload = inst.pending[ranked.position]
            sites = fleet.sites_of(workload)
            times, plan = [], None
            for _ in range(5):
                began = time.process_time()
                plan = Dispatcher(fleet).auction(ranked, sites)
                times.append(time.process_time() - began)
            proof, missed = None, False
            if i < 30:
                began = time.process_time()
                best = optimum(inst, ranked)
                proof = time.process_time() - began
                if plan is not None and best is not None:
                    missed = best < plan.score[:-1]
            preempts = "cannot start" if plan is None else "yes" if plan.victims else "no"
            is_large = any(job.tasks >= 100 for job in workload.jobs if not job.gpus)
            key = (preempts, is_large)
            rows.setdefault(key, []).append((1000 * median(times), proof, missed))
        for (preempts, is_large), found in sorted(rows.items()):
            mast, proofs, missed_ = zip(*found, strict=True)
            some = [proof for proof in proofs if proof is not None]
            cells = [f"{median(some):.2f}", f"{max(some):.2f}"] if some else ["-", "-"]
            yield (
                f"| {allocation} | {preempts} | {'yes' if is_large else 'no'} | {len(found)} "
                f"| {median(mast):.1f} | {max(mast):.1f} | {' | '.join(cells)} | {sum(missed_)} |"
            )


def missed() -> Iterator[str]:
    """Yield how often the scan of MAST preempts more or others than necessary."""
    yield (
        "| machines | allocation | with preemption | not optimal | also by youth "
        "| without sorting | starts, mast fails |"
    )
    yield "|" + "---|" * 7
    for machines, allocation in product((20, 100), (0.95, 1.0)):
        counts = [0] * 5
        for seed in range(1, 21):
            inst = dlsched.generate(
                "dispatch", seed, scope="one", regions=1, clusters=4, machines=machines,
                allocation=allocation, pending=40, copies=1,
            )  # fmt: skip
            assert isinstance(inst, Instance)
            fleet = Fleet(inst)
            for ranked in rank(inst):
                sites = fleet.sites_of(inst.pending[ranked.position])
                plan = Dispatcher(fleet).auction(ranked, sites)
                plain = Dispatcher(fleet, fewest=False).auction(ranked, sites)
                best = optimum(inst, ranked)
                if best is None:
                    continue
                if plan is None or plain is None:
                    counts[4] += 1
                elif plan.victims:
                    counts[0] += 1
                    counts[1] += best[0] < plan.score.lost
                    counts[2] += best < plan.score[:-1]
                    counts[3] += best[0] < plain.score.lost
        shares = [f"{100 * n / max(1, counts[0]):.3g} %" for n in counts[1:4]]
        cells = " | ".join(shares)
        yield f"| {machines} | {allocation} | {counts[0]} | {cells} | {counts[4]} |"


def cache() -> Iterator[str]:
    """Yield how many plans the negative cache answers, and the time with and without."""
    yield (
        "| pending | allocation | started | plans asked for | answered by the cache | of failures "
        "| CPU s with | without |"
    )
    yield "|" + "---|" * 8
    for pending, allocation in product((300, 1000, 3000, 10_000), (0.97, 1.0)):
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
        assert made[0].solution() == made[1].solution()
        first = made[0]
        yield (
            f"| {pending:,} | {allocation} | {len(first.start)} | {first.attempts:,} "
            f"| {100 * first.hits / first.attempts:.3g} % "
            f"| {100 * first.hits / max(1, first.hits + first.failures):.3g} % "
            f"| {seconds[0]:.2f} | {seconds[1]:.2f} |"
        )


def ranking() -> Iterator[str]:
    """Yield the time of the ranking."""
    yield "| pending | CPU s |"
    yield "|---|---|"
    for pending in (1000, 10_000):
        inst = dlsched.generate("dispatch", 1, pending=pending, tenants=200)
        assert isinstance(inst, Instance)
        times = []
        for _ in range(5):
            began = time.process_time()
            rank(inst)
            times.append(time.process_time() - began)
        yield f"| {pending:,} | {min(times):.3f} |"


def batches(seeds: range, sizes: tuple[int, ...] = MACHINES, **options: Any) -> Iterator[Instance]:
    """Yield batches with clusters of some sizes."""
    for machines in sizes:
        for seed in seeds:
            made = dlsched.generate("dispatch", seed, machines=machines, **options)
            assert isinstance(made, Instance)
            yield made


SECTIONS = {
    "batch": batch,
    "solutions": solutions,
    "one": one,
    "missed": missed,
    "cache": cache,
    "ranking": ranking,
}

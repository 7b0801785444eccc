"""Dispatch: the time of a decision, optimality of MAST's scan, gaps of the scopes, the ranking.

    python benchmarks/dispatch.py [batch large one missed cache ranking]

Without arguments every section; prints markdown and writes it to benchmarks/figures/dispatch.md.
Times are wall-clock seconds of one process on one thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product
from statistics import median
from typing import Any

from figures import arguments, write

import dlsched
from dlsched.problems.dispatch import Instance, rank
from dlsched.problems.dispatch.dispatcher import Dispatcher
from dlsched.problems.dispatch.fleet import Fleet
from dlsched.problems.dispatch.one import Search
from dlsched.problems.dispatch.ranking import startable
from dlsched.run import Run

HEURISTICS = ("joint", "mast", "top_k", "federated", "local", "regional_queue", "global_queue",
              "regional")  # fmt: skip
MACHINES = (5, 10, 20)
SEEDS = range(1, 11)
LARGEST: dict[str, Any] = {"scope": "one", "regions": 1, "clusters": 20, "machines": 3325,
                           "gpu_share": 125 / 3325, "types": 1, "tenants": 60, "copies": 1,
                           "pending": 100}  # fmt: skip
"""The largest regional scheduler of section 4.3.1: 64,000 CPU machines, 20,000 GPUs."""


def started(objective: Any) -> tuple[Any, ...]:
    """Return the levels without youth and spread."""
    return tuple(objective)[:-2]


def batch() -> Iterator[str]:
    """Yield the share of instances on which each scope is optimal in what starts and stops."""
    yield "## Batches of 15 workloads, 3 regions of 2 clusters\n"
    yield "Share of the seeds on which a method is worse than the proven optimum in a level of what"
    yield "starts or is preempted, seeds 1 to 10, allocation 97 %.\n"
    yield f"| machines | proved | s, slowest | {' | '.join(HEURISTICS)} |"
    yield "|" + "---|" * (3 + len(HEURISTICS))
    for machines in MACHINES:
        worse, proved, slowest = dict.fromkeys(HEURISTICS, 0), 0, 0.0
        for seed in SEEDS:
            inst = dlsched.generate("dispatch", seed, machines=machines)
            best = dlsched.solve(inst, time_limit=120)
            proved += best.status == "optimal"
            slowest = max(slowest, best.seconds.total)
            for name in HEURISTICS:
                found = dlsched.solve(inst, name)
                worse[name] += started(found.objective) != started(best.objective)
        row = " | ".join(f"{100 * worse[n] / len(SEEDS):.3g} %" for n in HEURISTICS)
        yield f"| {machines} | {proved} of {len(SEEDS)} | {slowest:.1f} | {row} |"


def large() -> Iterator[str]:
    """Yield bounds and heuristics of a batch of 300 workloads."""
    yield "## A batch of 300 workloads, 10 regions, 50 clusters, 5,000 machines\n"
    yield "Size started by priority, GPUs; the bound is that of `lp`, certified.\n"
    inst = dlsched.generate(
        "dispatch", 1, regions=10, clusters=5, machines=100, pending=300, tenants=60
    )
    names = [f"started_{p}" for p in range(1, 8)]
    yield f"| method | s | {' | '.join(names)} | jobs preempted |"
    yield "|" + "---|" * (3 + len(names))
    began = time.perf_counter()
    bound = dlsched.solve(inst, "lp", time_limit=300)
    seconds = time.perf_counter() - began
    cells = [getattr(bound.certified, name) for name in names]
    words = " | ".join("-" if b is None else f"{float(b.value):.2f}" for b in cells)
    yield f"| lp, bound | {seconds:.1f} | {words} | - |"
    for name in HEURISTICS:
        options = {"rounds": 30} if name == "joint" else {}
        found = dlsched.solve(inst, name, **options)
        words = " | ".join(f"{float(getattr(found.objective, level)):.2f}" for level in names)
        jobs = sum(getattr(found.objective, f"preempted_{p}") for p in range(1, 8))
        yield f"| {name} | {found.seconds.total:.1f} | {words} | {jobs} |"


def one() -> Iterator[str]:
    """Yield the time of a decision and of its proof in MAST's largest region."""
    yield "## One workload in the largest region: 20 clusters, 64,000 CPU machines, 20,000 GPUs\n"
    yield "The 30 first workloads of the ranking, one at a time on the same state, seed 6. `mast`"
    yield "is the median of 5, without building the arrays (`Fleet`); the proof starts from its"
    yield "plan. Missed: a better plan by preempted jobs or their youth exists.\n"
    yield (
        "| allocation | preempts | workloads | mast, ms: median | mast, ms: most "
        "| proof, s: median | proof, s: most | missed |"
    )
    yield "|" + "---|" * 8
    for allocation in (0.95, 1.0):
        inst = dlsched.generate("dispatch", 6, **LARGEST, allocation=allocation)
        assert isinstance(inst, Instance)
        fleet = Fleet(inst)
        rows: dict[bool, list[tuple[float, float, bool]]] = {False: [], True: []}
        for ranked in rank(inst)[:30]:
            sites = fleet.sites_of(inst.pending[ranked.position])
            times, plan = [], None
            for _ in range(5):
                began = time.perf_counter()
                plan = Dispatcher(fleet).auction(ranked, sites)
                times.append(time.perf_counter() - began)
            search = Search(fleet, ranked, Run(), best=plan)
            began = time.perf_counter()
            search.solve()
            proof = time.perf_counter() - began
            if plan is not None and search.best is not None:
                missed = search.best.score[:-1] < plan.score[:-1]
                rows[bool(plan.victims)].append((1000 * median(times), proof, missed))
        for preempts, found in rows.items():
            if found:
                mast, proofs, missed_ = zip(*found, strict=True)
                yield (
                    f"| {allocation} | {'yes' if preempts else 'no'} | {len(found)} "
                    f"| {median(mast):.1f} | {max(mast):.1f} | {median(proofs):.2f} "
                    f"| {max(proofs):.2f} | {sum(missed_)} |"
                )


def missed() -> Iterator[str]:
    """Yield how often the scan of MAST preempts more or others than necessary."""
    yield "## How often MAST's scan is not optimal for one workload\n"
    yield "Every pending workload alone on the state, 20 seeds, one region of 4 clusters, 40"
    yield "pending."
    yield "Among those that MAST starts with preemption: the share for which the optimum preempts"
    yield "fewer jobs or lower priorities, and that in which it also differs in the victims' youth."
    yield "*Without sorting*: victims as scanned, `fewest=False`.\n"
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
                search = Search(fleet, ranked, Run(), best=plan)
                search.solve()
                if search.best is None:
                    continue
                if plan is None or plain is None:
                    counts[4] += 1
                elif plan.victims:
                    best = search.best.score
                    counts[0] += 1
                    counts[1] += best[:-2] < plan.score[:-2]
                    counts[2] += best[:-1] < plan.score[:-1]
                    counts[3] += best[:-2] < plain.score[:-2]
        shares = [f"{100 * n / max(1, counts[0]):.3g} %" for n in counts[1:4]]
        cells = " | ".join(shares)
        yield f"| {machines} | {allocation} | {counts[0]} | {cells} | {counts[4]} |"


def cache() -> Iterator[str]:
    """Yield how many plans the negative cache answers, and the time with and without."""
    yield "## The negative cache\n"
    yield "Seed 1, 10 regions of 5 clusters of 100 machines. The solutions are the same."
    yield "*Of all*: the share of the plans asked for; *of failures*: of those that do not exist.\n"
    yield ("| pending | allocation | plans asked for | of all | of failures | s with | s without |")
    yield "|" + "---|" * 7
    for pending, allocation in product((300, 1000, 10_000), (0.97, 1.0)):
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
            began = time.perf_counter()
            dispatcher.dispatch(startable(inst), lambda r, places=places: places[r.position])
            seconds.append(time.perf_counter() - began)
            made.append(dispatcher)
        assert made[0].solution() == made[1].solution()
        hits = made[0].hits
        share, of_failures = hits / made[0].attempts, hits / (hits + made[0].failures)
        yield (
            f"| {pending} | {allocation} | {made[0].attempts} | {100 * share:.3g} % "
            f"| {100 * of_failures:.3g} % | {seconds[0]:.2f} | {seconds[1]:.2f} |"
        )


def ranking() -> Iterator[str]:
    """Yield the time of the ranking."""
    yield "## The ranking\n"
    yield "The best of 5, exact; the paper's pass takes 34 s for 6,000 to 10,000 workloads.\n"
    yield "| pending | s |"
    yield "|---|---|"
    for pending in (1000, 10_000):
        inst = dlsched.generate("dispatch", 1, pending=pending, tenants=200)
        assert isinstance(inst, Instance)
        times = []
        for _ in range(5):
            began = time.perf_counter()
            rank(inst)
            times.append(time.perf_counter() - began)
        yield f"| {pending:,} | {min(times):.3f} |"


SECTIONS = {
    "batch": batch,
    "large": large,
    "one": one,
    "missed": missed,
    "cache": cache,
    "ranking": ranking,
}

if __name__ == "__main__":
    write("dispatch", SECTIONS, arguments())

"""Interleaving at the papers' sizes: proven optima and certified gaps, and Muri's distance to them.

    python benchmarks/interleaving.py [trace generated distinct rounds]

Without arguments every section, half an hour; prints markdown and writes it to
benchmarks/figures/interleaving.md. Times are wall-clock seconds of one process on one thread.
The recorded traces are looked for in ../shared/data/muri.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import networkx
import numpy as np
import rustworkx
from figures import ROOT, arguments, cell, rule_gap, write

import dlsched
from dlsched.problems.interleaving import Instance
from dlsched.problems.interleaving.groups import pair_efficiencies, stage_array
from dlsched.problems.interleaving.matching import SCALE, match
from dlsched.result import Result
from dlsched.traces import pool, read_trace

RECORDED = ROOT.parent / "shared" / "data" / "muri"
RULES = ("muri", "muri_needed", "swap", "greedy")
_MOST_FOR_NETWORKX = 512
LIMITS = {64: 60, 128: 60, 256: 60, 512: 180, 1000: 600}
"""Seconds for `column_generation` by the number of distinct jobs."""


def certified_gap(result: Result) -> str:
    """Return how far the certified bound is from the objective, as a share of the bound."""
    bound = result.certified[0]
    if bound is None or result.objective is None:
        return "-"
    return cell(1 - float(result.objective[0]) / float(bound.value))


def rules(instance: Instance, best: Result, names: tuple[str, ...] = RULES) -> str:
    """Return the cells of the rules' gaps to the best bound that is known."""
    return " | ".join(rule_gap(instance, rule, best) for rule in names)


def cover(label: str, instance: Instance) -> str:
    """Solve a cover by `aggregated` and the rules; return its row."""
    best = dlsched.solve(instance, "aggregated", time_limit=60)
    groups = len(best.solution.groups) if best.solution else 0
    return (
        f"| {label} | {len(instance.jobs)} | {len(instance.profiles)} | {instance.gpu_budget} "
        f"| {best.status!s} | {best.seconds.total:.1f} | {groups} | {cell(best.gap[0])} "
        f"| {certified_gap(best)} | {rules(instance, best)} |"
    )


HEAD = (
    "| | jobs | profiles | budget, GPUs | status | s | groups | gap, claimed | gap, certified | "
    + " | ".join(RULES)
    + " |\n|"
    + "---|" * (9 + len(RULES))
)


def trace() -> Iterator[str]:
    """Yield the tables of the recorded traces, all jobs as one cover."""
    yield "## Recorded traces as covers, `aggregated`\n"
    yield "All jobs of a trace at once. The budget is a share of the way from the fewest GPUs that"
    yield "any grouping takes to those of every job alone. Gaps are to the optimum where proven.\n"
    yield HEAD
    for name in ("trace1", "trace3"):
        path = RECORDED / f"{name}.csv"
        if not path.exists():
            yield f"| {name}: not here |"
            continue
        jobs = read_trace(path)
        for resources in (3, 4):
            for budget in (0.25, 0.5):
                instance = pool(jobs, resources=resources, budget=budget)
                yield cover(f"{name}, k={resources}, {budget:.0%}", instance)
    yield "\nThe same with a budget of so much of every job's GPUs alone, where that suffices.\n"
    yield HEAD
    for name in ("trace1", "trace3"):
        path = RECORDED / f"{name}.csv"
        if not path.exists():
            continue
        jobs = read_trace(path)
        for resources in (3, 4):
            free = pool(jobs, resources=resources)
            everyone = sum(job.gpus for job in free.jobs)
            for share in (0.25, 0.5):
                gpus = int(share * everyone)
                label = f"{name}, k={resources}, {share:.0%}"
                if gpus < free.least_gpus:
                    yield f"| {label} | infeasible: {gpus} GPUs, {free.least_gpus} are the fewest |"
                else:
                    yield cover(label, free.model_copy(update={"gpu_budget": gpus}))


def generated() -> Iterator[str]:
    """Yield the table of the largest trace's size with few profiles."""
    yield "## 5,755 generated jobs of 48 profiles, `aggregated`\n"
    yield HEAD
    for budget in (0.25, 0.5):
        instance = dlsched.generate(
            "interleaving", 1, jobs=5755, grouping="cover", distinct=False, budget=budget
        )
        yield cover(f"seed 1, k=4, {budget:.0%}", instance)


def distinct() -> Iterator[str]:
    """Yield the table of uniform groups of distinct jobs."""
    yield "## Distinct jobs in groups of four, `column_generation`\n"
    yield "The gap is 1 - objective / bound, with the certified bound. The rules' gaps are to the"
    yield "best bound known. The first call compiles, before the clock starts.\n"
    names = ("swap", "muri", "greedy")
    yield "| jobs | seed | limit, s | status | s | gap, certified | " + " | ".join(names) + " |"
    yield "|" + "---|" * (6 + len(names))
    for jobs, limit in LIMITS.items():
        for seed in (1, 2) if jobs < 1000 else (1,):
            instance = dlsched.generate("interleaving", seed, jobs=jobs)
            best = dlsched.solve(instance, "column_generation", time_limit=limit)
            yield (
                f"| {jobs} | {seed} | {limit} | {best.status!s} | {best.seconds.total:.1f} "
                f"| {certified_gap(best)} | {rules(instance, best, names)} |"
            )


def rounds() -> Iterator[str]:
    """Yield the table of Muri's rounds against one round of networkx."""
    yield "## `muri`, all rounds, against networkx on the graph of round one\n"
    yield "Distinct jobs, four resources. `muri` includes the graph and both rounds; networkx gets"
    yield "the finished graph. Same weight: the matchings of round one, in units of 2^-36. At 1,000"
    yield "jobs rustworkx on the dense graph stands in for networkx.\n"
    yield "| jobs | muri, s | round one, s | dense by | s | dense / muri | same weight |"
    yield "|---|---|---|---|---|---|---|"
    dlsched.solve(dlsched.generate("interleaving", 9, jobs=16), "muri")
    for jobs in (256, 512, 1000):
        instance = dlsched.generate("interleaving", 1, jobs=jobs)
        muri = min(dlsched.solve(instance, "muri").seconds.total for _ in range(3))
        began = time.perf_counter()
        weights = pair_efficiencies(stage_array(instance))
        found = match(weights)
        first = time.perf_counter() - began
        units = np.rint(weights * SCALE).astype(np.int64).tolist()
        edges = [(i, j, units[i][j]) for i in range(jobs) for j in range(i)]
        if jobs <= _MOST_FOR_NETWORKX:
            graph = networkx.Graph()
            graph.add_weighted_edges_from(edges)
            began = time.perf_counter()
            dense = networkx.max_weight_matching(graph)
            seconds = time.perf_counter() - began
            cells = f"networkx | {seconds:.1f} | {seconds / muri:.0f}"
        else:
            other = rustworkx.PyGraph()
            other.add_nodes_from(range(jobs))
            other.add_edges_from(edges)
            began = time.perf_counter()
            dense = rustworkx.max_weight_matching(other, weight_fn=int)
            seconds = time.perf_counter() - began
            cells = f"rustworkx | {seconds:.1f} | {seconds / muri:.0f}"
        same = "yes" if sum(units[i][j] for i, j in dense) == found.weight else "NO"
        yield (f"| {jobs} | {muri:.2f} | {first:.2f} | {cells} | {same} |")


SECTIONS = {"trace": trace, "generated": generated, "distinct": distinct, "rounds": rounds}

if __name__ == "__main__":
    write("interleaving", SECTIONS, arguments())

"""Interleaving at the papers' sizes: proven optima, certified gaps, and Muri's gap to them.

    python benchmarks/interleaving.py [SECTION ...]

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
from code_version import ROOT
from figures import cell, rule_gap

import dlsched
from dlsched.problems.interleaving import Instance
from dlsched.problems.interleaving.heuristics.matching import SCALE, match
from dlsched.problems.interleaving.structures.groups import pair_efficiencies, stage_array
from dlsched.records import read_trace
from dlsched.results.result import Result
from dlsched.simulation import queue

RECORDED = ROOT.parent / "shared" / "data" / "muri"
RULES = ("muri", "muri_needed", "swap", "greedy")
CLUSTERS = (64, 256, 1024)
"""GPUs; 64 is the testbed of section 6.1."""
MOMENTS = range(5, 100, 5)
"""Days of a recorded trace at which its queue is looked at."""
_MOST_FOR_NETWORKX = 256
LIMITS = {64: 60, 128: 60, 256: 60, 512: 120, 1000: 300}
"""Seconds for `column_generation` by the number of distinct jobs."""


def certified_gap(result: Result) -> str:
    """Return how far the certified bound is from the objective, as a share of the bound."""
    bound = result.certified[0]
    if bound is None or result.objective is None:
        return "-"
    return cell(1 - float(result.objective[0]) / float(bound.value))


def rules(instance: Instance, best: Result, names: tuple[str, ...] = RULES) -> str:
    """Return the cells with the heuristics' gaps to the best known bound."""
    return " | ".join(rule_gap(instance, rule, best) for rule in names)


def queues() -> Iterator[str]:
    """Yield the table of generated covers that full groups fill, as in Algorithm 1."""
    yield "| GPUs | seeds | jobs | proven | s, largest | gap, certified | " + _names(RULES)
    yield "|" + "---|" * (6 + len(RULES))
    for cluster, seeds in ((CLUSTERS[0], 20), (CLUSTERS[1], 3)):
        made = [
            dlsched.generate(
                "interleaving", seed, jobs=4 * cluster, grouping="cover", cluster=cluster
            )
            for seed in range(1, seeds + 1)
        ]
        yield summary(f"| {cluster} | {seeds}", made)
    yield "| GPUs | seeds | jobs | proven | s, largest | gap, certified | " + _names(RULES)
    yield "|" + "---|" * (6 + len(RULES))
    for cluster, seeds in ((CLUSTERS[0], 20), (CLUSTERS[1], 10), (CLUSTERS[2], 3)):
        made = [
            dlsched.generate(
                "interleaving",
                seed,
                jobs=4 * cluster,
                grouping="cover",
                cluster=cluster,
                distinct=False,
            )
            for seed in range(1, seeds + 1)
        ]
        yield summary(f"| {cluster} | {seeds}", made)


def heads() -> Iterator[str]:
    """Yield the table of the recorded traces' queues."""
    yield "| | moments | jobs | proven | s, largest | gap, certified | " + _names(RULES)
    yield "|" + "---|" * (6 + len(RULES))
    for name in ("trace1", "trace3"):
        path = RECORDED / f"{name}.csv"
        if not path.exists():
            yield f"| {name}: not here |"
            continue
        jobs = read_trace(path)
        for resources in (3, 4):
            made = [queue(jobs, f"{day}d", resources=resources) for day in MOMENTS]
            short = [q for q in made if sum(job.gpus for job in q.jobs) > (q.gpu_budget or 0)]
            full = [q for q in short if q.least_gpus == q.gpu_budget]
            rest = [q for q in short if q.least_gpus != q.gpu_budget]
            for label, chosen in (("full", full), ("not full", rest)):
                if chosen:
                    yield summary(f"| {name}, k={resources}, {label} | {len(chosen)}", chosen)


def summary(label: str, made: list[Instance]) -> str:
    """Solve covers exactly and by the heuristics; return their row."""
    best = [dlsched.solve(instance, time_limit=30) for instance in made]
    proven = sum(result.status == "optimal" for result in best)
    jobs = sum(len(instance.jobs) for instance in made) / len(made)
    worst = max(best, key=lambda r: float(r.certified[0].value) / float(r.objective[0]))
    cells = []
    for rule in RULES:
        gaps = [
            dlsched.solve(instance, rule).gap_to(result.bound)[0]
            for instance, result in zip(made, best, strict=True)
        ]
        cells.append(f"{cell(sum(gaps) / len(gaps))}, {cell(max(gaps))}")
    seconds = max(result.seconds.total for result in best)
    return (
        f"{label} | {jobs:.0f} | {proven} | {seconds:.1f} | {certified_gap(worst)} | "
        + " | ".join(cells)
        + " |"
    )


def _names(rules: tuple[str, ...]) -> str:
    return " | ".join(rules) + " |"


def distinct() -> Iterator[str]:
    """Yield the table of uniform groups of distinct jobs."""
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


def unlike(seed: int, jobs: int) -> Instance:
    """Return jobs whose stages differ much: Dirichlet with 0.5, times a log-normal; k = 4."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(4, 0.5), jobs)
    stages = np.round(1000 * shares * rng.lognormal(size=(jobs, 1)), 2) + 0.01
    data = {
        "dlsched": 1,
        "problem": "interleaving",
        "name": f"unlike-{seed}",
        "resources": ["storage", "cpu", "gpu", "network"],
        "grouping": "uniform",
        "jobs": [{"id": f"j{j}", "stages": row} for j, row in enumerate(stages.tolist())],
    }
    return Instance.parse(data, "the benchmark")


def rounds() -> Iterator[str]:
    """Yield the table of Muri's rounds against one round of networkx."""
    yield "| jobs | muri, s | round one, s | dense by | s | dense / muri | same weight |"
    yield "|---|---|---|---|---|---|---|"
    dlsched.solve(dlsched.generate("interleaving", 9, jobs=16), "muri")
    drawn = [unlike(seed, jobs) for seed, jobs in ((1, 256), (1, 1000))]
    for label, instance in (
        *((f"{n}", dlsched.generate("interleaving", 1, jobs=n)) for n in (256, 512, 1000)),
        *((f"{len(made.jobs)} {made.name}", made) for made in drawn),
    ):
        jobs = len(instance.jobs)
        muri = first = float("inf")
        for _ in range(3):
            began = time.process_time()
            dlsched.solve(instance, "muri")
            muri = min(muri, time.process_time() - began)
            began = time.process_time()
            weights = pair_efficiencies(stage_array(instance))
            found = match(weights)
            first = min(first, time.process_time() - began)
        units = np.rint(weights * SCALE).astype(np.int64).tolist()
        edges = [(i, j, units[i][j]) for i in range(jobs) for j in range(i)]
        if jobs <= _MOST_FOR_NETWORKX:
            graph = networkx.Graph()
            graph.add_weighted_edges_from(edges)
            began = time.process_time()
            dense = networkx.max_weight_matching(graph)
            seconds = time.process_time() - began
            cells = f"networkx | {seconds:.1f} | {seconds / muri:.0f}"
        else:
            other = rustworkx.PyGraph()
            other.add_nodes_from(range(jobs))
            other.add_edges_from(edges)
            began = time.process_time()
            dense = rustworkx.max_weight_matching(other, weight_fn=int)
            seconds = time.process_time() - began
            cells = f"rustworkx | {seconds:.1f} | {seconds / muri:.0f}"
        same = "yes" if sum(units[i][j] for i, j in dense) == found.weight else "NO"
        yield (f"| {label} | {muri:.2f} | {first:.2f} | {cells} | {same} |")


SECTIONS = {
    "queues": queues,
    "heads": heads,
    "distinct": distinct,
    "rounds": rounds,
}

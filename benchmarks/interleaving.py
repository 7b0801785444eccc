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
from figures import ROOT, arguments, cell, rule_gap, write
from interleaving_bounds import bound, clustered, open_, small
from interleaving_rules import own, unlike

import dlsched
from dlsched.problems.interleaving import Instance
from dlsched.problems.interleaving.heuristics.matching import SCALE, match
from dlsched.problems.interleaving.structures.groups import pair_efficiencies, stage_array
from dlsched.problems.interleaving.structures.profiles import BOTTLENECKS
from dlsched.records import read_trace
from dlsched.results.result import Result
from dlsched.simulation import pool, queue

RECORDED = ROOT.parent / "shared" / "data" / "muri"
RULES = ("muri", "muri_needed", "swap", "greedy")
CLUSTERS = (64, 256, 1024)
"""GPUs; 64 is the testbed of section 6.1."""
_NINE_DIGITS = 1e-9
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


def claimed_gap(result: Result) -> str:
    """Return the gap to the best bound, which a solver states to nine digits."""
    return "< 1e-7 %" if 0 < result.gap[0] <= _NINE_DIGITS else cell(result.gap[0])


def rules(instance: Instance, best: Result, names: tuple[str, ...] = RULES) -> str:
    """Return the cells with the heuristics' gaps to the best known bound."""
    return " | ".join(rule_gap(instance, rule, best) for rule in names)


def cover(label: str, instance: Instance) -> str:
    """Solve a cover by `aggregated` and the heuristics; return its row."""
    best = dlsched.solve(instance, "aggregated", time_limit=60)
    groups = len(best.solution.groups) if best.solution else 0
    return (
        f"| {label} | {len(instance.jobs)} | {len(instance.profiles)} | {instance.gpu_budget} "
        f"| {best.status!s} | {best.seconds.total:.1f} | {groups} | {claimed_gap(best)} "
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
    yield "All jobs of a trace at once, to show which sizes are solved. In the paper no cover has a"
    yield "budget so far above what full groups take, so Muri's columns do not concern the paper."
    yield "The budget is a share of the way from the fewest GPUs that"
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


def queues() -> Iterator[str]:
    """Yield the table of generated covers that full groups fill, as in Algorithm 1."""
    yield "## The head of the queue, as in Algorithm 1, generated\n"
    yield "Distinct jobs in the Philly mix of GPUs, in the order of priority; those that in full"
    yield "groups of four fill the cluster, which is the budget (lines 3-5). Average and largest"
    yield "of the seeds; gaps are (best - heuristic) / best, with the bound if not proven.\n"
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
    yield "\nThe same with equal stages for jobs of one model and number of GPUs: 48 profiles.\n"
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
    yield "## The head of the queue, as in Algorithm 1, recorded traces\n"
    yield "Every fifth day of a trace, on 8 servers of 8 GPUs, by least remaining time times GPUs."
    yield "Full: the moments at which full groups take all 64 GPUs. Not full: those with fewer"
    yield "jobs, but more than fit alone; there the public code leaves jobs alone, and Algorithm 1"
    yield "as printed does not.\n"
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


def figures() -> Iterator[str]:
    """Yield the tables beside Figures 11 to 14: the efficiency that each part of Muri gains."""
    yield "## Beside Figures 11 to 14: efficiency, not completion times\n"
    yield "The paper's figures show completion times and makespans of simulations. Here is the sum"
    yield "of gamma over the groups, on average of ten heads of queues (64 GPUs, distinct jobs),"
    yield "relative to `muri`.\n"
    yield "| variant | sum of gamma, relative |"
    yield "|---|---|"
    seeds = range(1, 11)

    def heads_of(**more: object) -> list[Instance]:
        options = {"jobs": 256, "grouping": "cover", "cluster": CLUSTERS[0]} | more
        return [dlsched.generate("interleaving", seed, **options) for seed in seeds]

    def mean(made: list[Instance], rule: str, **options: object) -> float:
        found = [dlsched.solve(i, rule, **options).objective for i in made]
        return sum(float(objective[0]) for objective in found) / len(found)

    made = heads_of()
    base = mean(made, "muri")
    yield f"| worst ordering (Figure 11) | {mean(made, 'muri_worst_order') / base:.3f} |"
    yield f"| without Blossom (Figure 11) | {mean(made, 'greedy') / base:.3f} |"
    for error in (0.2, 0.5, 1.0):
        found = mean(made, "muri", profile_error=error) / base
        yield f"| profiles off by up to {error:.0%} (Figure 14) | {found:.3f} |"
    yield "\nBy the kinds of bottleneck in the queue (Figure 13), mean gamma of `muri`'s groups:\n"
    yield "| kinds | mean gamma |"
    yield "|---|---|"
    for kinds in (1, 2, 3, 4):
        groups = [
            dlsched.solve(i, "muri").details["mean_efficiency"] for i in heads_of(bottlenecks=kinds)
        ]
        yield f"| {kinds}: {', '.join(BOTTLENECKS[:kinds])} | {sum(groups) / len(groups):.3f} |"


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
    yield "The gap is 1 - objective / bound, with the certified bound. The heuristics' gaps are to"
    yield "the best known bound.\n"
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
    yield "the finished graph. Same weight: the matchings of round one, in units of 2^-36. Above"
    yield '256 jobs rustworkx on the dense graph stands in for networkx. "unlike": stages from a'
    yield "Dirichlet distribution with 0.5, times a log-normal, by seed."
    yield "Processor seconds: the least of three for `muri` and for round one alone.\n"
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
    "trace": trace,
    "generated": generated,
    "distinct": distinct,
    "figures": figures,
    "rounds": rounds,
    "own": own,
    "bound": bound,
    "clustered": clustered,
    "small": small,
    "open": open_,
}

if __name__ == "__main__":
    write("interleaving", SECTIONS, arguments())

"""Placement: proofs, gaps of heuristics, a day at full size, v1 against v2, and bounds.

    python benchmarks/placement.py [SECTION ...]

Sections: enumerated, random, proven, teams, thousand, day, overload, headline, replicas,
candidates, relaxation, few, own, limited, near, rate, stronger, held_back, stronger_thousand,
hour, open. They go to figures/placement.md.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator

import numpy as np
from figures import cell

import dlsched
from dlsched import library
from dlsched.problems.placement import Instance, Solution
from dlsched.problems.placement.instances.replicas import Replica, co_location, replicate

THOUSAND = {"tables": 1000, "regions": 10, "jobs": 3000}


def cost(result: dlsched.Result) -> float:
    """Return the cost of a result's solution."""
    return float(result.objective[0])


def proven() -> Iterator[str]:
    """Yield refinement at 15 and 30 tables, and the gaps of the heuristics to it."""
    head = "| size | version | seed | status | s | cost | gap | certified | annealing "
    yield head + "| annealing, s | hill_climbing | no_moves |\n|" + "---|" * 12
    for tables, jobs in ((15, 20), (30, 40)):
        for version in ("v2", "v1"):
            for seed in range(1, 6):
                inst = dlsched.generate(
                    "placement", seed, tables=tables, regions=4, jobs=jobs, version=version
                )
                best = dlsched.solve(inst, time_limit=120)
                rules = {
                    r: dlsched.solve(inst, r) for r in ("annealing", "hill_climbing", "no_moves")
                }
                above = {r: f"{100 * (cost(a) / cost(best) - 1):.2g} %" for r, a in rules.items()}
                certified = 1 - float(best.certified[0].value) / cost(best)
                yield (
                    f"| {tables} x 4 x {jobs} | {version} | {seed} | {best.status!s} "
                    f"| {best.seconds.total:.1f} | {cost(best):.4f} | {cell(best.gap[0])} "
                    f"| {cell(certified)} | {above['annealing']} "
                    f"| {rules['annealing'].seconds.total:.1f} | {above['hill_climbing']} "
                    f"| {above['no_moves']} |"
                )


def thousand() -> Iterator[str]:
    """Yield 1,000 tables in 10 regions."""
    head = "| seed | no_moves | hill_climbing, one day | hill_climbing | hill_climbing, s "
    head += (
        "| annealing | annealing, s | below hill_climbing | `indivisible_bound` | bound, s | gap |"
    )
    yield head + "\n|" + "---|" * 11
    for seed in (1, 2, 3):
        inst = dlsched.generate("placement", seed, **THOUSAND)
        today = cost(dlsched.solve(inst, "no_moves"))
        day = cost(dlsched.solve(inst, "hill_climbing", days=1))
        climbed, annealed = (dlsched.solve(inst, r) for r in ("hill_climbing", "annealing"))
        began = time.perf_counter()
        bound = float(dlsched.bound(inst, "indivisible_bound")[0].value)
        spent = time.perf_counter() - began
        yield (
            f"| {seed} | {today:.3f} | {day:.3f} | {cost(climbed):.3f} "
            f"| {climbed.seconds.total:.1f} | {cost(annealed):.3f} "
            f"| {annealed.seconds.total:.0f} | {cell(1 - cost(annealed) / cost(climbed))} "
            f"| {bound:.4f} | {spent:.1f} | {cell(1 - bound / cost(annealed))} |"
        )


def day() -> Iterator[str]:
    """Yield one day of hill climbing at full size."""
    inst = dlsched.generate("placement", 1, tables=100_000, regions=20, jobs=300_000)
    reads = sum(len(job.tables) for job in inst.jobs)
    result = dlsched.solve(inst, "hill_climbing", days=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    start = dlsched.solve(inst, "no_moves")
    yield f"{reads:,} pairs of job and table. Memory is the whole process's, instance included.\n"
    yield "| cost before | after | solve, s | check, s | total, s | peak, GiB |"
    yield "|---|---|---|---|---|---|"
    yield (
        f"| {cost(start):.3f} | {cost(result):.3f} | {result.seconds.solve:.1f} "
        f"| {result.seconds.check:.1f} | {result.seconds.total:.1f} | {peak:.1f} |"
    )


def overload() -> Iterator[str]:
    """Yield v2 against v1."""
    head = "| demand / supply | overload, v1 | v2 | v2 / v1 | traffic, v1 | traffic, v2 "
    yield head + "| placed, v1 | placed, v2 |"
    yield "|" + "---|" * 8
    for utilization in (0.5, 0.7, 0.9, 1.1):
        rows: dict[str, list[list[float]]] = {"v1": [], "v2": []}
        for seed in range(1, 6):
            for version, found in rows.items():
                inst = dlsched.generate(
                    "placement",
                    seed,
                    tables=200,
                    regions=6,
                    jobs=600,
                    version=version,
                    utilization=utilization,
                )
                details = dlsched.solve(inst, "annealing", trials=1_000).details
                wanted = sum(float(h) for job in inst.jobs for h in job.gpu_hours.values())
                found.append(
                    [float(details["overload"]) / wanted, details["traffic"], details["placed"]]
                )
        one, two = np.mean(rows["v1"], axis=0), np.mean(rows["v2"], axis=0)
        yield (
            f"| {utilization} | {one[0]:.3f} | {two[0]:.3f} | {two[0] / one[0]:.2f} | {one[1]:.3f} "
            f"| {two[1]:.3f} | {one[2]:.2f} | {two[2]:.2f} |"
        )


HEADLINE_SEEDS = range(1, 11)
HIGH = 3
"""Priorities from 1 to this count as high; the paper does not say which do."""


def headline() -> Iterator[str]:
    """Yield demand over supply of the worst region, before and after the first version's climb."""
    means = []
    starts = {
        "as drawn": "homes at random, by free storage",
        "users": "the drawn homes after `hill_climbing` on traffic alone: who chooses a region puts"
        " data and jobs together, and does not look at the GPUs of others",
    }
    countings = {
        "homes": "at the home of all tables of a job, as in expression 2; without one nowhere",
        "copies": "at home, else, with copies by the paper's rules, in the region with the"
        " highest supply of those with all tables and types",
        "spread": "as before, but in the least loaded of these regions, most hours first",
    }
    for name, words in starts.items():
        found: dict[str, list[list[float]]] = {counting: [] for counting in countings}
        for seed in HEADLINE_SEEDS:
            inst = dlsched.generate(
                "placement", seed, version="v1", storage_utilization=1 / 3, **THOUSAND
            )
            assert isinstance(inst, Instance)
            if name == "users":
                inst = moved_by_traffic(inst)
            for counting, cells in found.items():
                cells.append(before_and_after(inst, counting))
        for counting, cells in found.items():
            key = f"{name.split()[-1]}-{counting}"
            yield f"\n{key}: start {name}, {words}. Demand {countings[counting]}.\n"
            yield f"| seed | {HEADLINE} |"
            yield "|" + "---|" * 13
            table = np.array(cells)
            for seed, row in zip(HEADLINE_SEEDS, table, strict=True):
                yield f"| {seed} | {_ratios_and_shares(row)} |"
            fewer = int((table[:, 1] < table[:, 0]).sum())
            means.append(f"| {key} | {fewer} | {_ratios_and_shares(table.mean(axis=0))} |")
    yield f"| counting | less | {HEADLINE} |"
    yield "|" + "---|" * 14
    yield from means


HEADLINE = (
    "worst, high, before | after | reduced | deviation, before | deviation, after "
    "| worst, all, before | worst, all, after | all, reduced | nowhere, before | nowhere, after "
    "| at home, before | at home, after"
)


def _ratios_and_shares(row: np.ndarray) -> str:
    """Return the cells of `HEADLINE`."""
    b = [f"{v:.2f}" for v in row[:6]]
    p = [f"{v:.1f} %" for v in row[6:]]
    return " | ".join([b[0], b[1], p[0], *b[2:], p[1], *p[2:]])


def moved_by_traffic(inst: Instance) -> Instance:
    """Return the instance with the homes that hill climbing chooses for the traffic alone."""
    weights = inst.weights.model_copy(update={"gpu": 0})
    traffic = inst.model_copy(update={"weights": weights})
    home = dlsched.solve(traffic, "hill_climbing").solution.home
    tables = tuple(t.model_copy(update={"home": home[t.id]}) for t in inst.tables)
    return inst.model_copy(update={"tables": tables})


def before_and_after(inst: Instance, counting: str) -> list[float]:
    """Return the cells of a row of `headline`: ratios, then percentages."""
    cells = []
    for rule in ("no_moves", "hill_climbing"):
        solution = dlsched.solve(inst, rule).solution
        copies = () if counting == "homes" else replicate(inst, solution)
        high, nowhere, home = load_of_regions(inst, solution, copies, counting, HIGH)
        every, _, _ = load_of_regions(inst, solution, copies, counting, 7)
        cells.append((high.max(), high.std(), every.max(), nowhere, home))
    a, b = cells
    saved = [100 * (1 - b[i] / a[i]) for i in (0, 2)]
    return [a[0], b[0], a[1], b[1], a[2], b[2], *saved, a[3], b[3], a[4], b[4]]


def load_of_regions(
    inst: Instance,
    solution: Solution,
    copies: tuple[Replica, ...],
    counting: str,
    highest: int,
) -> tuple[np.ndarray, float, float]:
    """Return GPU hours demanded over supplied by region with GPUs, per cent nowhere and at home.

    Training jobs count by one of the rules of `headline`.
    """
    at: dict[str, set[str]] = {name: {region} for name, region in solution.home.items()}
    homes = {name: inst.region_index[region] for name, region in solution.home.items()}
    for copy in copies:
        at[copy.table].add(copy.region)
    supply = np.array([float(sum(r.gpu_supply.values())) for r in inst.regions])
    demand = np.zeros(len(supply))
    total = home = 0.0
    left = []
    for job in inst.jobs:
        hours = float(sum(job.gpu_hours.values()))
        if job.kind != "ml" or job.priority > highest or not hours:
            continue
        total += hours
        types = [kind for kind, amount in job.gpu_hours.items() if amount]
        able = [r for r, x in enumerate(inst.regions) if all(x.gpu_supply.get(k) for k in types)]
        region = inst.region_of(job, homes)
        home += hours * (region in able)
        if region in able or (region is not None and counting == "homes"):
            demand[region] += hours
        elif counting != "homes":
            shared = set.intersection(*(at[name] for name in job.tables))
            left.append((hours, types[0], [r for r in able if inst.regions[r].id in shared]))
    for hours, kind, hosts in sorted(left, key=lambda row: -row[0]):
        if hosts and counting == "copies":
            demand[max(hosts, key=lambda r: inst.regions[r].gpu_supply[kind])] += hours
        elif hosts:
            demand[min(hosts, key=lambda r: demand[r] / supply[r])] += hours
    some = supply > 0
    nowhere = 100 * (1 - demand[some].sum() / total)
    return demand[some] / supply[some], nowhere, 100 * home / total


def candidates() -> Iterator[str]:
    """Yield in how many regions a training job can run with replicas (Figure 7)."""
    yield "| hot share, seed | none | two or more | four or more | copies |\n|---|---|---|---|---|"
    for share in (0.05, 0.5):
        for seed in range(1, 6):
            inst = dlsched.generate("placement", seed, storage_utilization=1 / 3, **THOUSAND)
            home = dlsched.solve(inst, "hill_climbing").solution
            size = {table.id: float(table.size) for table in inst.tables}
            copies = replicate(inst, home, hot_quota=int(share * sum(size.values())))
            counts = np.array(regions_of_jobs(inst, home, copies))
            shares = [100 * float(np.mean(part)) for part in (counts < 1, counts > 1, counts > 3)]
            part = sum(size[copy.table] for copy in copies) / sum(size.values())
            yield (
                f"| {share}, {seed} | "
                + " | ".join(f"{x:.2f} %" for x in shares)
                + f" | {100 * part:.0f} % |"
            )


def regions_of_jobs(inst: Instance, solution: Solution, copies: tuple[Replica, ...]) -> list[int]:
    """Return for each training job with GPUs the number of regions that can run it."""
    at: dict[str, set[str]] = {name: {region} for name, region in solution.home.items()}
    for copy in copies:
        at[copy.table].add(copy.region)
    found = []
    for job in inst.jobs:
        types = [kind for kind, hours in job.gpu_hours.items() if hours]
        if job.kind == "ml" and types:
            shared = set.intersection(*(at[name] for name in job.tables))
            able = (r for r in inst.regions if all(r.gpu_supply.get(k) for k in types))
            found.append(sum(r.id in shared for r in able))
    return found


def replicas() -> Iterator[str]:
    """Yield the co-location rate with replicas, by the paper's rules and by ours."""
    yield "| seed | stranded | hot | homes alone | disaster | and jobs | of the jobs | copies | s |"
    yield "|" + "---|" * 9
    for seed in (1, 2, 3):
        inst = dlsched.generate(
            "placement", seed, storage_utilization=1 / 3, cpu_training=0.3, **THOUSAND
        )
        home = dlsched.solve(inst, "hill_climbing").solution
        size = {table.id: float(table.size) for table in inst.tables}
        total = sum(size.values())
        for stranded, hot in (("supply", "jobs"), ("nearest", "hours")):
            began = time.perf_counter()
            copies = replicate(inst, home, stranded=stranded, hot=hot, hot_quota=int(0.05 * total))
            spent = time.perf_counter() - began
            rates = [float(co_location(inst, home))]
            for kinds in (("disaster",), ("disaster", "job")):
                part = [copy for copy in copies if copy.reason in kinds]
                rates.append(float(co_location(inst, home, part)))
            rates.append(float(co_location(inst, home, copies, by="jobs")))
            share = sum(size[copy.table] for copy in copies) / total
            yield (
                f"| {seed} | {stranded} | {hot} | "
                + " | ".join(f"{r:.3f}" for r in rates)
                + f" | {share:.2f} | {spent:.1f} |"
            )


BOUNDS: dict[str, dict[str, int]] = {
    "indivisible_bound": {},
    "home_tree": {},
    "relaxation": {},
    "relaxation_tree": {"nodes": 50},
}


def stronger_thousand() -> Iterator[str]:
    """Yield the bounds at 1,000 tables, without the tree of relaxations."""
    bounds = {name: BOUNDS[name] for name in ("indivisible_bound", "home_tree")}
    bounds["relaxation"] = {"spreading": 9}
    yield from _strength(((1000, 10, 3000),), bounds, trials=50_000)


def _strength(
    sizes: tuple[tuple[int, int, int], ...],
    bounds: dict[str, dict[str, int]],
    trials: int,
    seeds: tuple[int, ...] = (1, 2, 3),
) -> Iterator[str]:
    """Yield a table of these bounds, with their gaps; what follows a comma tells them apart."""
    yield ("| size | seed | best | " + " | ".join(f"`{name}` | s" for name in bounds) + " | gap |")
    yield "|" + "---|" * (4 + 2 * len(bounds))
    for tables, regions, jobs in sizes:
        for seed in seeds:
            inst = dlsched.generate("placement", seed, tables=tables, regions=regions, jobs=jobs)
            best = cost(dlsched.solve(inst, "tempering", trials=trials * tables))
            cells, gaps = [], []
            for name, options in bounds.items():
                began = time.process_time()
                (found,) = dlsched.bound(inst, name.partition(",")[0], **options)
                gaps.append(1 - float(found.value) / best)
                cells += [f"{float(found.value):.4f} ({cell(gaps[-1])})"]
                cells += [f"{time.process_time() - began:.0f}"]
            yield (
                f"| {tables} x {regions} x {jobs} | {seed} | {best:.4f} | {' | '.join(cells)} "
                f"| {cell(min(gaps))} |"
            )


def opened() -> Iterator[str]:
    """Yield the best known solutions and bounds of the library's open instances."""
    yield "| instance | cost | bound | method | gap |\n|---|---|---|---|---|"
    for name in ("placement-open-200x6x600", "placement-open-1000x10x3000"):
        solution = dlsched.load_solution(library.solution_file(name))
        instance = dlsched.load(name)
        report = dlsched.verify(instance, solution)
        assert report.feasible
        now = float(report.objective[0])
        bound = library.best_bounds(instance.sha256)[0]
        yield (
            f"| {name} | {now:.4f} | {float(bound.value):.4f} "
            f"| {bound.method} | {cell(1 - float(bound.value) / now)} |"
        )


SECTIONS = {
    "proven": proven,
    "thousand": thousand,
    "day": day,
    "overload": overload,
    "headline": headline,
    "replicas": replicas,
    "candidates": candidates,
    "stronger_thousand": stronger_thousand,
    "open": opened,
}

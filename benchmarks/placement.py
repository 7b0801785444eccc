"""Placement: a day at full size, v1 against v2, demand by region, replicas, bounds."""

import resource
import time
from collections.abc import Iterator, Sequence

import numpy as np
from runs import Row, compare

import dlsched
from dlsched import library
from dlsched.problems.placement import Instance, Solution
from dlsched.problems.placement.instances.replicas import Replica, co_location, replicate

THOUSAND = {"tables": 1000, "regions": 10, "jobs": 3000}
HIGH = 3
"""Priorities from 1 to this count as high; the paper does not say which do."""


def cost(result: dlsched.Result) -> float:
    """Return the cost of a result's solution."""
    return float(result.objective[0])


def thousand(methods: Sequence[Row | str]) -> Iterator[Row]:
    """Yield 1,000 tables in 10 regions, and the bound that holds for all placements."""
    grid = {name: [value] for name, value in THOUSAND.items()}
    yield from compare("placement", methods, grid, (1, 2, 3))
    for seed in (1, 2, 3):
        made = dlsched.generate("placement", seed, **THOUSAND)
        began = time.perf_counter()
        bound = float(dlsched.bound(made, "indivisible_bound")[0].value)
        yield {"seed": seed, "least": bound, "bound, s": time.perf_counter() - began}


def day() -> Iterator[Row]:
    """Yield one day of hill climbing at full size; memory is the whole process's."""
    made = dlsched.generate("placement", 1, tables=100_000, regions=20, jobs=300_000)
    result = dlsched.solve(made, "hill_climbing", days=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    before = cost(dlsched.solve(made, "no_moves"))
    yield {
        "size": "100,000 x 20 x 300,000", "cost before": before, "after": cost(result),
        "solve, s": result.seconds.solve, "check, s": result.seconds.check,
        "total, s": result.seconds.total, "peak, GiB": peak,
    }  # fmt: skip


def overload() -> Iterator[Row]:
    """Yield overload, traffic and placed share by version of the objective."""
    for utilization in (0.5, 0.7, 0.9, 1.1):
        for seed in range(1, 6):
            for version in ("v1", "v2"):
                made = dlsched.generate(
                    "placement", seed, tables=200, regions=6, jobs=600, version=version,
                    utilization=utilization,
                )  # fmt: skip
                details = dlsched.solve(made, "annealing", trials=1_000).details
                wanted = sum(float(h) for job in made.jobs for h in job.gpu_hours.values())
                row: Row = {"demand / supply": str(utilization), "seed": seed, "version": version}
                row |= {name: float(details[name]) for name in ("traffic", "placed")}
                yield row | {"overload": float(details["overload"]) / wanted}


def headline(seeds: int) -> Iterator[Row]:
    """Yield demand over supply of the worst region, before and after the first version's climb.

    Homes are drawn, or chosen by `users` for the traffic alone. Demand counts at `homes` of all of
    a job's tables, else nowhere; with `copies` in the region of the highest supply that has all
    tables and types; or `spread`, in the least loaded of these.
    """
    for start in ("drawn", "users"):
        for seed in range(1, seeds + 1):
            made = dlsched.generate(
                "placement", seed, version="v1", storage_utilization=1 / 3, **THOUSAND
            )
            assert isinstance(made, Instance)
            if start == "users":
                made = moved_by_traffic(made)
            for counting in ("homes", "copies", "spread"):
                row: Row = {"counting": f"{start}-{counting}", "seed": seed}
                for rule, when in (("no_moves", "before"), ("hill_climbing", "after")):
                    figures = loads(made, rule, counting)
                    row |= {f"{name}, {when}": value for name, value in figures.items()}
                for name in ("worst, high", "worst, all"):
                    before, after = row[f"{name}, before"], row[f"{name}, after"]
                    row[f"{name}, reduced"] = 100 * (1 - after / before)
                yield row | {"less": row["worst, high, after"] < row["worst, high, before"]}


def loads(made: Instance, rule: str, counting: str) -> Row:
    """Return ratios of demand to supply, and per cent nowhere and at home."""
    solution = dlsched.solve(made, rule).solution
    copies = () if counting == "homes" else replicate(made, solution)
    high, nowhere, home = load_of_regions(made, solution, copies, counting, HIGH)
    every, _, _ = load_of_regions(made, solution, copies, counting, 7)
    row = {"worst, high": high.max(), "deviation": high.std(), "worst, all": every.max()}
    return {name: float(value) for name, value in row.items()} | {
        "nowhere": float(nowhere), "at home": float(home),
    }  # fmt: skip


def moved_by_traffic(inst: Instance) -> Instance:
    """Return the instance with the homes that hill climbing chooses for the traffic alone."""
    weights = inst.weights.model_copy(update={"gpu": 0})
    traffic = inst.model_copy(update={"weights": weights})
    home = dlsched.solve(traffic, "hill_climbing").solution.home
    tables = tuple(t.model_copy(update={"home": home[t.id]}) for t in inst.tables)
    return inst.model_copy(update={"tables": tables})


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


def candidates() -> Iterator[Row]:
    """Yield in how many regions a training job can run with replicas (Figure 7), in per cent."""
    for share in (0.05, 0.5):
        for seed in range(1, 6):
            made = dlsched.generate("placement", seed, storage_utilization=1 / 3, **THOUSAND)
            home = dlsched.solve(made, "hill_climbing").solution
            size = {table.id: float(table.size) for table in made.tables}
            copies = replicate(made, home, hot_quota=int(share * sum(size.values())))
            counts = np.array(regions_of_jobs(made, home, copies))
            row: Row = {"hot share, seed": f"{share}, {seed}", "none": counts < 1}
            row |= {"two or more": counts > 1, "four or more": counts > 3}
            row = {
                k: 100 * float(v.mean()) if k != "hot share, seed" else v for k, v in row.items()
            }
            copied = sum(size[copy.table] for copy in copies)
            yield row | {"copies": 100 * copied / sum(size.values())}


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


def replicas() -> Iterator[Row]:
    """Yield the co-location rate with replicas, by the paper's rules."""
    for seed in (1, 2, 3):
        made = dlsched.generate(
            "placement", seed, storage_utilization=1 / 3, cpu_training=0.3, **THOUSAND
        )
        home = dlsched.solve(made, "hill_climbing").solution
        size = {table.id: float(table.size) for table in made.tables}
        total = sum(size.values())
        began = time.perf_counter()
        copies = replicate(made, home, hot_quota=int(0.05 * total))
        row: Row = {"seed": seed, "s": time.perf_counter() - began}
        row["homes alone"] = float(co_location(made, home))
        for name, kinds in (("disaster", ("disaster",)), ("and jobs", ("disaster", "job"))):
            part = [copy for copy in copies if copy.reason in kinds]
            row[name] = float(co_location(made, home, part))
        row["of the jobs"] = float(co_location(made, home, copies, by="jobs"))
        yield row | {"copies": sum(size[copy.table] for copy in copies) / total}


def bounds(size: Row, methods: dict[str, Row], trials: int, seeds: Sequence[int]) -> Iterator[Row]:
    """Yield bounds, and their gaps to the best of a long replica exchange, in per cent."""
    for seed in seeds:
        made = dlsched.generate("placement", seed, **size)
        best = cost(dlsched.solve(made, "tempering", trials=trials * len(made.tables)))
        for name, options in methods.items():
            began = time.process_time()
            (found,) = dlsched.bound(made, name, **options)
            row: Row = {"seed": seed, "best": best, "method": name, "bound": float(found.value)}
            row["gap"] = 100 * (1 - row["bound"] / best)
            yield row | {"s": time.process_time() - began}


def opened() -> Iterator[Row]:
    """Yield the best known solutions and bounds of the library's open instances."""
    for name in ("placement-open-200x6x600", "placement-open-1000x10x3000"):
        solution = dlsched.load_solution(library.solution_file(name))
        made = dlsched.load(name)
        report = dlsched.verify(made, solution)
        assert report.feasible
        now, bound = float(report.objective[0]), library.best_bounds(made.sha256)[0]
        gap = 100 * (1 - float(bound.value) / now)
        yield {"instance": name, "cost": now, "bound": float(bound.value),
               "method": bound.method, "gap": gap}  # fmt: skip

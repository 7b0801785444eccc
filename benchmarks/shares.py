"""Gavel's allocation programs: agreement with all pairs of jobs, time by size.

    python benchmarks/shares.py [agreement size steps]

Rates are Gavel's published ones where ../shared/data/gavel is there, otherwise the generator's.
Jobs draw their number of GPUs (1, 2, 4, 8 at .70, .10, .15, .05) and a model measured with it.
Figures are in benchmarks/figures/shares.md.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from figures import cell

import dlsched
from dlsched.problems.shares import Instance, Rates, from_rates, read_rates

ROOT = Path(__file__).parents[1]
MEASURED = ROOT.parent / "shared/data/gavel"
TYPES = ("v100", "p100", "k80")
SCALES = {1: 0.70, 2: 0.10, 4: 0.15, 8: 0.05}
HEAD = (
    "| objective | method | jobs | GPUs of each type | kinds | columns | value | certified gap | "
    "processor seconds |\n|---|---|---|---|---|---|---|---|---|"
)


def measured() -> Rates:
    """Return the published rates, whose pairs are in a file of their own, a table."""
    types: dict[str, dict[str, dict[str, Any]]] = {kind: {} for kind in TYPES}
    for row in json.loads((MEASURED / "isolated_throughputs.json").read_text(encoding="utf-8")):
        for kind, rate in row["iterations_per_second"].items():
            types[kind][str((row["job_type"], row["scale_factor"]))] = {"null": rate}
    with gzip.open(MEASURED / "colocated_throughputs.json.gz", "rt", encoding="utf-8") as file:
        table = json.load(file)
    for cells in table["rows"]:
        row = dict(zip(table["columns"], cells, strict=True))
        model, beside = (str((row[name], row["scale_factor"])) for name in ("job_type", "beside"))
        both = [row[f"iterations_per_second{whose}"] for whose in ("", "_of_the_other")]
        types[row["gpu"]][model][beside] = both
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as nested:
        nested.write(json.dumps(types))
        nested.flush()
        return read_rates(nested.name)


def workload(count: int, gpus: int, objective: str) -> Instance:
    """Return an instance of jobs with iterations of their own, with space sharing."""
    if not MEASURED.exists():
        return dlsched.generate("shares", 0, jobs=count, gpus=gpus, objective=objective)
    rates = measured()
    rng = random.Random(0)
    by_scale: dict[int, list[str]] = {scale: [] for scale in SCALES}
    for (model, scale), row in rates.alone.items():
        if any(row.values()):
            by_scale[scale].append(model)
    jobs: dict[str, dict[str, Any]] = {}
    for i in range(count):
        scale = rng.choices(list(SCALES), list(SCALES.values()))[0]
        run = {"model": rng.choice(by_scale[scale]), "gpus": scale}
        timed = {"steps": rng.randint(10**4, 10**6), "elapsed": rng.randint(0, 10**4)}
        jobs[f"j{i}"] = run | timed
    return from_rates(rates, dict.fromkeys(TYPES, gpus), jobs, objective=objective)


def line(objective: str, count: int, gpus: int, method: str = "milp") -> str:
    """Solve one workload, and return its line."""
    made = workload(count, gpus, objective)
    model = dlsched.model(made)
    began = time.process_time()
    found = dlsched.solve(made, method)
    seconds = time.process_time() - began
    columns = len(model.y) + len(model.z)
    return (
        f"| {objective} | `{method}` | {count:,} | {gpus} | {len(model.KINDS):,} | {columns:,} | "
        f"{float(found.objective.value):.6g} | {cell(found.gap.value)} | {seconds:.2f} |"
    )


def agreement() -> Iterator[str]:
    """Each objective against one variable per pair of jobs, in cvxpy."""
    sys.path.insert(0, str(ROOT / "tests/problems/shares"))
    from all_pairs import optimum

    yield "| objective | jobs | ours | all pairs | difference | seconds | all pairs: seconds |"
    yield "|---|---|---|---|---|---|---|"
    for objective in ("max_min", "makespan", "total"):
        for count in (32, 64):
            made = workload(count, 8, objective)
            began = time.perf_counter()
            ours = float(dlsched.solve(made).objective.value)
            middle = time.perf_counter()
            theirs = optimum(made)
            ended = time.perf_counter()
            yield (
                f"| {objective} | {count} | {ours:.10g} | {theirs:.10g} | "
                f"{abs(ours / theirs - 1):.0e} | {middle - began:.2f} | {ended - middle:.2f} |"
            )


def size() -> Iterator[str]:
    """Objectives that do not read steps: jobs of a model are few kinds."""
    yield HEAD
    for count in (1024, 4096):
        yield line("max_min", count, 20)
        yield line("total", count, 20)
    for gpus in (20, 100, 400):
        yield line("max_min", 1024, gpus, "water_filling")


def steps() -> Iterator[str]:
    """Objectives that read every job's own steps: as many kinds as jobs."""
    yield HEAD
    for count in (64, 256, 1024):
        yield line("makespan", count, 20)
        yield line("finish_time", count, 20)


SECTIONS = {"agreement": agreement, "size": size, "steps": steps}

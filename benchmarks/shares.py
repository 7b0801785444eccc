"""Gavel's allocation programs over kinds of jobs: agreement with all pairs, time and memory.

    python benchmarks/gavel.py [agreement size rounds steps]

Rates are Gavel's published ones where ../shared/data/gavel is there, otherwise random ones of 26
models. Jobs draw their number of GPUs (1, 2, 4, 8 at .70, .10, .15, .05) and a model measured with
it. Each workload is measured in processes of its own; figures are in benchmarks/figures/gavel.md.
Processor seconds depend less than seconds on what else the machine does.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from figures import arguments, cell, write

from dlsched.problems.shares import Job, Rates, Shares, read_rates, shares

MEASURED = Path(__file__).parents[1].parent / "shared/data/gavel"
TESTS = Path(__file__).parents[1] / "tests/problems/shares"
CLUSTER, SMALL, LARGE = 20, 8, 400
TYPES = ("v100", "p100", "k80")
SIZES = (1024, 4096)
SHARES = {1: 0.70, 2: 0.10, 4: 0.15, 8: 0.05}
MB = 2**20


def rates() -> Rates:
    """Return the published rates, or random ones of as many models."""
    if MEASURED.exists():
        pairs = MEASURED / "colocated_throughputs.json.gz"
        return read_rates(MEASURED / "isolated_throughputs.json", pairs)
    rng = random.Random(0)
    alone = {
        (f"m{m}", s): {
            k: rng.uniform(1, 30) / (1 + i) for i, k in enumerate(("v100", "p100", "k80"))
        }
        for m in range(26)
        for s in (SHARES if m < 19 else (1,))
    }
    pairs_of = {
        (a, b, s, k): tuple(alone[n, s][k] * rng.uniform(0.3, 1) for n in (a, b))
        for a, s in alone
        for b, t in alone
        if s == t and a < b
        for k in alone[a, s]
    }
    return Rates.of(alone, pairs_of)


def workload(known: Rates, count: int, seed: int = 0) -> list[Job]:
    """Return jobs with scales as in the module's docstring, and iterations of their own."""
    rng = random.Random(seed)
    by_scale: dict[int, list[str]] = {s: [] for s in SHARES}
    for (model, scale), row in known.alone.items():
        if any(row.values()):
            by_scale[scale or 1].append(model)
    found = []
    for i in range(count):
        scale = rng.choices(list(SHARES), list(SHARES.values()))[0]
        model = rng.choice(by_scale[scale])
        steps, elapsed = rng.randint(10**4, 10**6), rng.randint(0, 10**4)
        found.append(Job(f"j{i}", model, scale, 1, steps, elapsed))
    return found


def one(policy: str, count: int, gpus: int, trace: bool) -> dict[str, Any]:
    """Solve one workload and return what it took; `trace` measures the memory of the call."""
    known = rates()
    jobs = workload(known, count)
    supply = dict.fromkeys(TYPES, gpus)
    shares(known, supply, jobs[:4])  # libraries are imported before the clock starts
    if trace:
        tracemalloc.start()
    wall, cpu = time.perf_counter(), time.process_time()
    found: Shares = shares(known, supply, jobs, policy=policy)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = tracemalloc.get_traced_memory()[1] if trace else 0
    return {
        "kinds": found.kinds,
        "size": "{:,} x {:,}".format(*found.size),
        "objective": float(found.objective),
        "gap": found.gap,
        "solves": found.solves,
        "wall": wall,
        "cpu": cpu,
        "traced": peak / MB,
        "resident": resident(),
    }


def resident() -> float:
    """Return the peak memory of this process in MB.

    Linux's own figure is read, as that of `resource` has the parent's memory at the start.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(row for row in status.read_text().splitlines() if row.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def child(*what: object) -> dict[str, Any]:
    """Run `one` in a process of its own."""
    command = [sys.executable, __file__, "--one", *map(str, what)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, Any] = json.loads(answer)
    return found


def line(policy: str, count: int, gpus: int) -> str:
    """Measure one workload, once for time and once for memory, and return the line."""
    found, memory = child(policy, count, gpus, 0), child(policy, count, gpus, 1)
    return (
        f"| {policy} | {count:,} | {gpus} | {found['kinds']:,} | {found['size']} | "
        f"{found['objective']:.6g} | {cell(found['gap'])} | {found['solves']} | "
        f"{found['wall']:.2f} | {found['cpu']:.2f} | {memory['traced']:.0f} | "
        f"{found['resident']:.0f} |"
    )


HEAD = (
    "| policy | jobs | GPUs of each type | kinds | rows x columns | objective | certified gap | "
    "programs | seconds | processor seconds | MB of the call | MB of the process |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def agreement() -> Iterator[str]:
    """Max-min fairness against one variable per pair of jobs, in cvxpy."""
    yield f"## Agreement with one variable per pair of jobs, in cvxpy, {SMALL} GPUs of each type\n"
    yield "| policy | jobs | this library | all pairs | difference | seconds | all pairs: seconds |"
    yield "|---|---|---|---|---|---|---|"
    sys.path.insert(0, str(TESTS))
    from gavel_all_pairs import optimum

    known = rates()
    supply = dict.fromkeys(TYPES, SMALL)
    for policy in ("max_min", "makespan", "max_sum_throughput"):
        for count in (32, 64):
            jobs = workload(known, count)
            began = time.perf_counter()
            ours = float(shares(known, supply, jobs, policy=policy).objective)
            middle = time.perf_counter()
            theirs = optimum(policy, jobs, known, supply, True)
            ended = time.perf_counter()
            yield (
                f"| {policy} | {count} | {ours:.10g} | {theirs:.10g} | "
                f"{abs(ours / theirs - 1):.0e} | {middle - began:.2f} | {ended - middle:.2f} |"
            )


def size() -> Iterator[str]:
    """Space sharing at the sizes at which the public implementation was measured, and beyond."""
    yield f"## Space sharing on {CLUSTER} GPUs of each type\n"
    yield HEAD
    for policy in ("max_min", "water_filling", "max_sum_throughput"):
        for count in SIZES:
            yield line(policy, count, CLUSTER)


def rounds() -> Iterator[str]:
    """Water filling where jobs reach their limits at many levels."""
    yield f"## Water filling with few and with many GPUs, {SIZES[0]:,} jobs\n"
    yield HEAD
    for gpus in (CLUSTER, LARGE // 4, LARGE):
        yield line("water_filling", SIZES[0], gpus)


def steps() -> Iterator[str]:
    """Policies that read every job's own steps: as many kinds as jobs."""
    yield "## Every job its own number of iterations\n"
    yield HEAD
    for count in (64, 256, 1024):
        for policy in ("makespan", "finish_time_fairness"):
            yield line(policy, count, CLUSTER)


SECTIONS = {"agreement": agreement, "size": size, "rounds": rounds, "steps": steps}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        name, jobs_, gpus_, traced = sys.argv[2:]
        print(json.dumps(one(name, int(jobs_), int(gpus_), traced == "1")))
    else:
        write("gavel", SECTIONS, arguments())

"""What a run of a sweep costs beyond the method's own time, and what a trace's snapshot costs.

    python benchmarks/overhead.py [local dask traces]

Small reclaiming instances, `lyra` and `random`; the figures go into benchmarks/figures/overhead.md.
Overhead is wall-clock time of the whole sweep times the number of jobs, less the seconds that the
methods and the checker took, divided by the number of runs. It has the making of the instances.
"""

from __future__ import annotations

import functools
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dlsched.records import read_trace
from dlsched.simulation import snapshot
from dlsched.sweeps import read_suite, run_suite

SUITE = """
name = "overhead"
[[instances]]
generate = "reclaiming"
seeds = [{seeds}]
grid = {{ servers = [8, 10, 12, 14, 16] }}
[[methods]]
name = "lyra"
[[methods]]
name = "random"
seeds = [0, 1, 2, 3]
"""
RUNS_PER_SEED = 25
HEAD = (
    "| runs | workers | jobs | seconds in all | own ms per run | overhead ms per run |\n"
    "|---|---|---|---|---|---|"
)


def measure(runs: int, workers: str, jobs: int, **how: Any) -> str:
    """Make a sweep of `runs` runs, `jobs` at a time, and return its line."""
    with tempfile.TemporaryDirectory() as folder:
        seeds = ", ".join(map(str, range(runs // RUNS_PER_SEED)))
        file = Path(folder) / "suite.toml"
        file.write_text(SUITE.format(seeds=seeds))
        suite = read_suite(file)
        began = time.perf_counter()
        frame = run_suite(suite, Path(folder) / "out", **how)
        wall = time.perf_counter() - began
    assert len(frame) == runs and set(frame["status"]) == {"feasible"}
    own = frame["seconds"].sum()
    overhead = 1000 * (wall * jobs - own) / runs
    each = 1000 * own / runs
    return f"| {runs:,} | {workers} | {jobs} | {wall:.1f} | {each:.2f} | {overhead:.2f} |"


def local() -> Iterator[str]:
    """A process for every run, on this machine."""
    yield "## A process for every run\n"
    yield HEAD
    for jobs in (1, 2):
        yield measure(10_000, "local", jobs, jobs=jobs)


def dask() -> Iterator[str]:
    """A local Dask cluster of two worker processes."""
    import distributed

    yield "## Dask, two worker processes\n"
    yield HEAD
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        yield measure(2000, "dask", 2, on=cluster)


def traces() -> Iterator[str]:
    """Yield the table of reading, replaying and converting a trace, in processor milliseconds."""
    yield "## A trace of 1,500 jobs that overload 64 servers\n"
    yield "Processor time; the instances are of its 20th day.\n\n| step | ms |\n|---|---|"
    trace = read_trace("synthetic-1")
    shot = snapshot(trace, "20d")
    steps: dict[str, Callable[[], object]] = {
        "`read_trace`": lambda: read_trace("synthetic-1"),
        "`snapshot`": lambda: snapshot(trace, "20d"),
    }
    for name in ("reclaiming", "elastic", "interleaving"):
        steps[f"instance of {name}"] = functools.partial(shot.instance, name)
    for name, step in steps.items():
        began = time.process_time()
        for _ in range(5):
            step()
        yield f"| {name} | {1000 * (time.process_time() - began) / 5:.1f} |"


SECTIONS = {"local": local, "dask": dask, "traces": traces}

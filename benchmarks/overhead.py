"""What a run of a sweep costs beyond the method's own time, and what a trace's snapshot costs.

    python benchmarks/measure.py overhead [local traces]

The runs of benchmarks/many.py; the figures go into benchmarks/figures/overhead.md. Overhead is the
processor time of the whole sweep, all processes together, less the seconds that the methods and the
checker took, divided by the number of runs. It has the making of the instances.
"""

import functools
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import many

from dlsched.records import read_trace
from dlsched.simulation import snapshot
from dlsched.sweeps import read_rows

RUNS = 1000


def local() -> Iterator[str]:
    """A process for every run, on this machine."""
    yield "## A process for every run\n"
    yield f"Load of the machine when it began: {os.getloadavg()[0]:.1f}.\n"
    yield "| runs | jobs | seconds in all | own ms per run | overhead ms per run |"
    yield "|---|---|---|---|---|"
    for jobs in (1, 2):
        with tempfile.TemporaryDirectory() as place:
            file, out = many.write_suite(Path(place), RUNS), Path(place) / "out"
            command = [sys.executable, "-m", "dlsched", "bench", os.fspath(file), "-q", "-o"]
            began = time.perf_counter()
            _, spent = many.metered([*command, os.fspath(out), "--jobs", str(jobs)])
            wall, rows = time.perf_counter() - began, read_rows(out)
        assert len(rows) == RUNS and set(rows["status"]) == {"feasible"}
        own = rows["seconds"].sum()
        each = f"{1000 * own / RUNS:.2f} | {1000 * (spent - own) / RUNS:.1f}"
        yield f"| {RUNS:,} | {jobs} | {wall:.1f} | {each} |"


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


SECTIONS = {"local": local, "traces": traces}

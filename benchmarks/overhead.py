"""What a run of a sweep costs beyond the method's own time, and what a trace's snapshot costs.

The runs are those of benchmarks/many.py. Overhead is the processor time of the whole sweep, all
processes together, less the seconds that the methods and the checker took, divided by the number of
runs. It has the making of the instances.
"""

import functools
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import many
from runs import Row

from dlsched.records import read_trace
from dlsched.simulation import snapshot
from dlsched.sweeps import read_rows

RUNS = 1000


def local() -> Iterator[Row]:
    """Yield the cost of a process for every run, on this machine."""
    for jobs in (1, 2):
        with tempfile.TemporaryDirectory() as place:
            file, out = many.write_suite(Path(place), RUNS), Path(place) / "out"
            command = [sys.executable, "-m", "dlsched", "bench", os.fspath(file), "-q", "-o"]
            began = time.perf_counter()
            _, spent = many.metered([*command, os.fspath(out), "--jobs", str(jobs)])
            wall, rows = time.perf_counter() - began, read_rows(out)
        assert len(rows) == RUNS and set(rows["status"]) == {"feasible"}
        own = rows["seconds"].sum()
        yield {
            "table": 0, "runs": RUNS, "jobs": jobs, "seconds in all": f"{wall:.1f}",
            "own ms per run": f"{1000 * own / RUNS:.2f}",
            "overhead ms per run": f"{1000 * (spent - own) / RUNS:.1f}",
        }  # fmt: skip


def traces() -> Iterator[Row]:
    """Yield the time of reading, replaying and converting a trace, in processor milliseconds."""
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
        spent = (time.process_time() - began) / 5
        yield {"table": 0, "step": name, "ms": f"{1000 * spent:.1f}"}

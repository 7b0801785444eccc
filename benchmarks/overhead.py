"""What a run of a sweep costs beyond the method's own time.

The runs are those of benchmarks/many.py. Overhead is the processor time of the whole sweep, all
processes together, less the seconds that the methods and the checker took, divided by the number of
runs. It has the making of the instances.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import many
from runs import Row

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

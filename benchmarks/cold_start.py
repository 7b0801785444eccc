"""Seconds of the first solve of each problem in a fresh process, with and without compiled loops.

Usage::

    python benchmarks/cold_start.py

Each line is one fresh process. "Empty" has an empty cache of compiled loops, as on a new machine;
"filled" is the same again. "First solve" is the exact method on the problem's first small instance,
imports and compilation included; "all methods" then solves it with every other method, so that the
two together have compiled all that the problem has. Run it on an idle machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from figures import arguments, write

CODE = """
import json, sys, time
began = time.perf_counter()
import dlsched
name = sys.argv[1]
dlsched.solve(f"{name}-small-01", time_limit=10)
first = time.perf_counter() - began
for method in dlsched.list_methods(name)["method"]:
    try:
        dlsched.solve(f"{name}-small-01", method, time_limit=1)
    except dlsched.OptionError:
        pass
print(json.dumps([first, time.perf_counter() - began]))
"""
PROBLEMS = ("reclaiming", "elastic", "interleaving", "utility", "placement", "sensitivity")


def fresh(problem: str, cache: str) -> tuple[float, float]:
    """Return seconds of the first solve, and of all methods with it, in a fresh process."""
    run = subprocess.run(
        [sys.executable, "-c", CODE, problem],
        env=os.environ | {"NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    first, total = json.loads(run.stdout.splitlines()[-1])
    return first, total


def seconds() -> Iterator[str]:
    """Yield the table."""
    yield "## Cold start: seconds in a fresh process, by the cache of compiled loops\n"
    yield "| problem | first, empty | all methods, empty | first, filled | all methods, filled |"
    yield "|---|---|---|---|---|"
    sums = [0.0] * 4
    for problem in PROBLEMS:
        with tempfile.TemporaryDirectory() as cache:
            figures = [*fresh(problem, cache), *fresh(problem, cache)]
        sums = [a + b for a, b in zip(sums, figures, strict=True)]
        yield f"| {problem} | {' | '.join(f'{x:.1f}' for x in figures)} |"
    yield f"| all six | {' | '.join(f'{x:.1f}' for x in sums)} |"


if __name__ == "__main__":
    write("cold_start", {"seconds": seconds}, arguments())

"""CPU seconds of the import and of the first solve in a fresh process, with and without a cache.

Usage::

    python benchmarks/cold_start.py [import] [seconds]

Each figure is from a fresh process. "Empty" has an empty cache of compiled loops, as on a new
machine; "filled" is the same again. "Small" is the exact method on the problem's first small
instance, imports included; "larger" on a generated one, for which loops are compiled; "all methods"
solves the small one with every method.

CPU seconds are those of the whole process, from its start. On an idle machine they are about what
one waits; unlike that, they do not depend much on what else runs.
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
import dlsched
name, size = sys.argv[1:]
small = f"{name}-small-01"
first = dlsched.generate(name, seed=1) if size == "larger" else small
dlsched.solve(first, time_limit=10)
if size == "all":
    for method in dlsched.list_methods(name)["method"]:
        try:
            dlsched.solve(small, method, time_limit=1)
        except dlsched.OptionError:
            pass
print(json.dumps(time.process_time()))
"""
IMPORT = """
import time
import dlsched
print(time.process_time())
"""
PROBLEMS = ("reclaiming", "elastic", "interleaving", "utility", "placement", "sensitivity",
            "workers", "dispatch")  # fmt: skip
SIZES = ("small", "larger", "all")
TRIES = 5


def fresh(code: str, *arguments: str, cache: str = "") -> float:
    """Return what some code prints in a fresh process with a cache of compiled loops."""
    run = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {}),
        capture_output=True,
        text=True,
        check=True,
    )
    return float(json.loads(run.stdout.splitlines()[-1]))


def imported() -> Iterator[str]:
    """Yield the seconds of the import."""
    best = min(fresh(IMPORT) for _ in range(TRIES))
    yield "## Import\n"
    yield f"`python -c 'import dlsched'` takes {best:.2f} CPU seconds, the best of {TRIES}."


def seconds() -> Iterator[str]:
    """Yield the table of the first solves."""
    yield "## Cold start: CPU seconds of a fresh process, by the cache of compiled loops\n"
    sizes = ("small", "larger", "all methods")
    heads = [f"{size}, {cache}" for size in sizes for cache in ("empty", "filled")]
    yield f"| problem | {' | '.join(heads)} |"
    yield "|---|---|---|---|---|---|---|"
    sums = [0.0] * 6
    for problem in PROBLEMS:
        fresh(CODE, problem, "small")  # not measured: it writes bytecode, as pip does
    for problem in PROBLEMS:
        figures = []
        for size in SIZES:
            with tempfile.TemporaryDirectory() as cache:
                figures += [fresh(CODE, problem, size, cache=cache) for _ in range(2)]
        sums = [a + b for a, b in zip(sums, figures, strict=True)]
        yield f"| {problem} | {' | '.join(f'{x:.1f}' for x in figures)} |"
    yield f"| all | {' | '.join(f'{x:.1f}' for x in sums)} |"


if __name__ == "__main__":
    write("cold_start", {"import": imported, "seconds": seconds}, arguments())

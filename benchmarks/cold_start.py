"""CPU seconds of the import and of the first solve in a fresh process, with and without a cache.

Usage::

    python benchmarks/cold_start.py [import] [commands] [medium] [seconds] [before]

Each figure is from a fresh process. "Empty" has an empty cache of compiled loops, as on a new
machine; "filled" is the same again. "Medium" instances have jobs of several weights, or more jobs
than those that need no compiled loops. "Small" is the exact method on the problem's first small
instance, imports included; "larger" on a generated one, for which loops are compiled; "all methods"
solves the small one with every method. "Before" runs the code of an older commit and today's by
turns, in processor seconds of all their processes, as machines differ.

CPU seconds are those of the whole process, from its start. On an idle machine they are about what
one waits; unlike that, they do not depend much on what else runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence

from figures import ROOT, arguments, write

# Python's bytecode is written, as pip does, and apart from other processes.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
BYTECODE = tempfile.TemporaryDirectory()
os.environ["PYTHONPYCACHEPREFIX"] = BYTECODE.name

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
FIRST = """
import time
import dlsched
dlsched.solve("lyra-fig5")
print(time.process_time())
"""
MEDIUM = """
import sys, time
began = time.perf_counter()
import dlsched
name = sys.argv[1]
parameters = {
    "reclaiming": dict(servers=520, demand=130), "utility": dict(jobs=25, slots=40),
    "placement": dict(tables=40, regions=5, jobs=80), "interleaving": dict(jobs=128),
}
data = dlsched.generate(name, seed=1, **parameters[name]).to_data()
for i, job in enumerate(data["jobs"] if name == "reclaiming" else ()):
    job["weight"] = 1 + i % 5
result = dlsched.solve(dlsched.load(data), time_limit=1)
print(time.perf_counter() - began - result.seconds.total)
"""
MEDIUM_PROBLEMS = ("reclaiming", "interleaving", "utility", "placement")
PROBLEMS = ("reclaiming", "elastic", "interleaving", "utility", "placement", "sensitivity",
            "workers", "dispatch")  # fmt: skip
SIZES = ("small", "larger", "all")
TRIES = 5
BEFORE = "c0c63050"
"""The commit before the work on cold starts began."""
COMMANDS = {
    "`dlsched --help`": ["--help"],
    "`dlsched solve lyra-fig5`": ["solve", "lyra-fig5"],
    "`dlsched.solve('lyra-fig5')`": [],
}
START = "import sys; sys.argv = ['dlsched', *sys.argv[1:]]; from dlsched.cli import main; main()"


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


def used(code: str, *arguments: str, **variables: str) -> tuple[float, float]:
    """Return the processor time of a process and those it starts, and the time that one waits."""
    before, began = os.times(), time.perf_counter()
    command = [sys.executable, "-c", code, *arguments]
    subprocess.run(command, env=os.environ | variables, capture_output=True, check=True)
    after = os.times()
    spent = after.children_user + after.children_system
    return spent - before.children_user - before.children_system, time.perf_counter() - began


def commands() -> Iterator[str]:
    """Yield the table of what a user types first."""
    yield "## First commands\n"
    yield f"The best of {TRIES} processes each.\n"
    yield "| command | processor, s | wall, s |"
    yield "|---|---|---|"
    for name, words in COMMANDS.items():
        ran = [used(START if words else FIRST, *words) for _ in range(TRIES + 1)][1:]
        yield f"| {name} | {min(s for s, _ in ran):.2f} | {min(wall for _, wall in ran):.2f} |"


def compared() -> Iterator[str]:
    """Yield the table of an older commit and today's code, run by turns."""
    yield f"## Processor seconds before (commit {BEFORE}) and now\n"
    yield (
        f"By turns: of commands the best of {TRIES} processes each, of medium instances one with "
        "an empty cache of compiled loops, a search of a second included.\n"
    )
    yield "| what | before | now | ratio |\n|---|---|---|---|"
    with tempfile.TemporaryDirectory() as folder:
        parts = ["src", "instances", "pyproject.toml"]
        archive = subprocess.run(
            ["git", "archive", BEFORE, *parts], cwd=ROOT, capture_output=True, check=True
        ).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        trees = (folder, str(ROOT))
        for name, words in COMMANDS.items():
            code = START if words else FIRST
            yield row(name, [of_trees(trees, code, *words) for _ in range(TRIES + 1)][1:])
        for problem in MEDIUM_PROBLEMS:
            yield row(f"{problem}, medium, empty", [of_trees(trees, MEDIUM, problem)])


def of_trees(trees: Sequence[str], code: str, *words: str) -> list[float]:
    """Return the processor time in each tree of source files, with an empty cache."""
    times = []
    for tree in trees:
        with tempfile.TemporaryDirectory() as cache:
            times.append(used(code, *words, PYTHONPATH=f"{tree}/src", NUMBA_CACHE_DIR=cache)[0])
    return times


def row(name: str, ran: Sequence[Sequence[float]]) -> str:
    """Return a row of the table: the best of each tree."""
    before, now = (min(times) for times in zip(*ran, strict=True))
    return f"| {name} | {before:.2f} | {now:.2f} | {now / before:.2f} |"


def medium() -> Iterator[str]:
    """Yield the table of medium instances: what a first solve takes without its own seconds."""
    yield "## Medium instances: wall seconds of a fresh process before its search begins\n"
    with tempfile.TemporaryDirectory() as compiled:
        spent, wall = used(START, "doctor", "--compile", NUMBA_CACHE_DIR=compiled)
        yield (
            f"`dlsched doctor --compile`, once after installation, takes {wall:.0f} s "
            f"({spent:.0f} processor s).\n"
        )
        yield "| problem | nothing compiled | after `dlsched doctor --compile` |\n|---|---|---|"
        for problem in MEDIUM_PROBLEMS:
            with tempfile.TemporaryDirectory() as cache:
                empty = fresh(MEDIUM, problem, cache=cache)
            yield f"| {problem} | {empty:.1f} | {fresh(MEDIUM, problem, cache=compiled):.1f} |"


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
    sections = {
        "import": imported,
        "commands": commands,
        "medium": medium,
        "seconds": seconds,
        "before": compared,
    }
    write("cold_start", sections, arguments())

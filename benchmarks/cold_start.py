"""CPU seconds of the import, of first commands, and of the first and second solve of a process.

Usage::

    python benchmarks/cold_start.py [import] [commands] [seconds]

Each figure is from a fresh process. "Small" is the exact method on the problem's first small
instance, "medium" on a generated one, with a limit of a second. "Process" is all that the process
has used when it has its first answer, imports included; "first" and "second" are two calls.

On an idle machine CPU seconds are about what one waits; unlike that, they do not depend much on
what else runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from figures import arguments, write

import dlsched

# Python's bytecode is written, as pip does, and apart from other processes.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
BYTECODE = tempfile.TemporaryDirectory()
os.environ["PYTHONPYCACHEPREFIX"] = BYTECODE.name

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
TWICE = """
import sys, time
import dlsched
began = time.process_time()
dlsched.solve(sys.argv[1], time_limit=1)
first = time.process_time()
dlsched.solve(sys.argv[1], time_limit=1)
print([first, first - began, time.process_time() - first])
"""
MEDIUM: dict[str, dict[str, Any]] = {
    "reclaiming": {"servers": 520, "demand": 130},
    "elastic": {},
    "interleaving": {"jobs": 128},
    "utility": {"jobs": 25, "slots": 40},
    "placement": {"tables": 40, "regions": 5, "jobs": 80},
    "sensitivity": {},
    "workers": {},
    "dispatch": {},
}
TRIES = 5
COMMANDS = {
    "`dlsched --help`": ["--help"],
    "`dlsched list`": ["list"],
    "`dlsched solve lyra-fig5`": ["solve", "lyra-fig5"],
    "`dlsched.solve('lyra-fig5')`": [],
}
START = "import sys; sys.argv = ['dlsched', *sys.argv[1:]]; from dlsched.cli import main; main()"


def fresh(code: str, *arguments: str) -> Any:
    """Return what some code prints in a fresh process."""
    command = [sys.executable, "-c", code, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def imported() -> Iterator[str]:
    """Yield the seconds of the import."""
    best = min(fresh(IMPORT) for _ in range(TRIES))
    yield "## Import\n"
    yield f"`python -c 'import dlsched'` takes {best:.2f} CPU seconds, the best of {TRIES}."


def used(code: str, *arguments: str) -> tuple[float, float]:
    """Return the processor time of a process and those it starts, and the time that one waits."""
    before, began = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, check=True)
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


def seconds() -> Iterator[str]:
    """Yield the table of the first and second solves."""
    yield "## First and second solve: CPU seconds of a fresh process\n"
    yield f"The least of {TRIES} processes each.\n"
    times = ("process", "first", "second")
    heads = [f"{size}, {what}" for size in ("small", "medium") for what in times]
    yield f"| problem | {' | '.join(heads)} |\n|" + "---|" * 7
    with tempfile.TemporaryDirectory() as folder:
        for problem, parameters in MEDIUM.items():
            cells = []
            for instance in (f"{problem}-small-01", medium(problem, parameters, folder)):
                fresh(TWICE, instance)  # not measured: it writes bytecode, as pip does
                ran = [fresh(TWICE, instance) for _ in range(TRIES)]
                cells += [f"{min(of):.2f}" for of in zip(*ran, strict=True)]
            yield f"| {problem} | {' | '.join(cells)} |"


def medium(problem: str, parameters: dict[str, Any], folder: str) -> str:
    """Write a medium instance to a file; jobs of reclaiming have several weights."""
    data = dlsched.generate(problem, seed=1, **parameters).to_data()
    for i, job in enumerate(data["jobs"] if problem == "reclaiming" else ()):
        job["weight"] = 1 + i % 5
    file = Path(folder) / f"{problem}.json"
    dlsched.save(dlsched.load(data), file)
    return str(file)


if __name__ == "__main__":
    sections = {"import": imported, "commands": commands, "seconds": seconds}
    write("cold_start", sections, arguments())

"""Loops are compiled before a run's clock starts, and a run compiles nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dlsched.compilation import loop
from dlsched.registry import problem, problem_names

COMPILED = [
    name
    for name in problem_names()
    if any(part.startswith(".") for m in problem(name).methods.values() for part in m.preload)
]
"""Problems with compiled loops."""

WATCH = """
import json, sys
import numba.core.event as events
import dlsched
from dlsched.registry import problem
from dlsched.run import Run

running, compiled = [], []

class Listener(events.Listener):
    def on_start(self, event):
        if running:
            compiled.append(str(event.data.get("dispatcher", "?")))

    def on_end(self, event):
        pass

begin = Run.__post_init__

def noted(run):
    running.append(run)
    begin(run)

Run.__post_init__ = noted
events.register("numba:compile", Listener())
name = sys.argv[1]
statuses, announced = {}, []
instance = dlsched.generate(name, seed=1)
for method in problem(name).methods.values():
    if method.preload:
        running.clear()
        try:
            limit = 1.0 if method.wants_run else None
            result = dlsched.solve(
                instance, method.name, time_limit=limit, on_stage=announced.append
            )
            statuses[method.name] = str(result.status)
        except dlsched.OptionError:  # a method for another kind of instance
            pass
announced = [event.detail for event in announced if event.stage == "compiling"]
print(json.dumps([statuses, compiled, announced]))
"""


def watched(name: str, cache: Path) -> tuple[dict[str, str], list[str], list[str]]:
    """Solve in a fresh process.

    Return how each method ended, what a run compiled, and the compilations announced before.
    """
    ran = subprocess.run(
        [sys.executable, "-c", WATCH, name],
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    statuses, compiled, announced = json.loads(ran.stdout.splitlines()[-1])
    return statuses, compiled, announced


@pytest.mark.parametrize(
    "name",
    [
        "interleaving",
        *(pytest.param(n, marks=pytest.mark.slow) for n in COMPILED if n != "interleaving"),
    ],
)
def test_no_run_compiles(name: str, tmp_path: Path) -> None:
    """With an empty cache, no method compiles anything between its run's start and its answer.

    What is compiled before is announced, once for each module.
    """
    statuses, compiled, announced = watched(name, tmp_path)
    assert announced and len(set(announced)) == len(announced)
    assert statuses and compiled == []
    kinds = {m.name: m.kind for m in problem(name).methods.values()}
    rules = [status for method, status in statuses.items() if kinds[method] == "heuristic"]
    assert set(rules) <= {"feasible"}


def test_a_loop_that_is_no_entry_runs_as_python_if_python_calls_it() -> None:
    """It has no compiled form for calls from Python: such a call would end the process."""

    @loop
    def successor(number: int) -> int:
        return number + 1

    assert successor(2) == 3

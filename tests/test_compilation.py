"""Loops: compiled before a run's clock starts, or run as Python with the same answer."""

from __future__ import annotations

import importlib
import json
import logging
import math
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from calls import python
from dlsched.registry import Method, problem, problem_names
from dlsched.solvers import preparation
from dlsched.solvers.compilation import (
    Loop,
    entries,
    entry,
    interpreted,
    loop,
    size_of,
    warn_that_loops_run_as_python,
)
from dlsched.solvers.preparation import divided, tells_terminal
from dlsched.testing import strategies
from drawing import draws

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
# Fewer jobs of reclaiming run as Python.
large = {"servers": 2_000, "demand": 500} if name == "reclaiming" else {}
instance = dlsched.generate(name, seed=1, **large)
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
    ran = python(WATCH, name, env={"NUMBA_CACHE_DIR": str(cache)})
    statuses, compiled, announced = json.loads(ran.stdout.splitlines()[-1])
    return statuses, compiled, announced


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
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


CALLED = """
from dlsched.solvers.compilation import Loop, entries, loop, size_of
from dlsched.solvers.preparation import divided

LIMIT = 2.0

@loop
def called(x):
    return x + 1.0
"""
CALLING = """
from dlsched.solvers.compilation import entry
from digest_called import LIMIT, called

@entry("float64(float64)")
def calling(x):
    return called(x) * LIMIT

alone = entry("float64(float64)")(lambda x: x)
"""


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [("x + 1.0", "x + 2.0", True), ("2.0", "3.0", True), ("\n\n", "\n", True), ("", "", False)],
)
def test_cached_code_follows_other_files(
    old: str, new: str, counts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of cached machine code changes with the files of the loops that it has, too."""
    monkeypatch.syspath_prepend(tmp_path)
    digests = []
    for text in (CALLED, CALLED.replace(old, new, 1)):
        (tmp_path / "digest_called.py").write_text(text)
        (tmp_path / "digest_calling.py").write_text(CALLING)
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        for name in ("digest_called", "digest_calling"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        made = importlib.import_module("digest_calling")
        digests.append((made.calling.digest_of_others(), made.alone.digest_of_others()))
    assert (digests[0][0] != digests[1][0]) == counts
    assert digests[0][1] == digests[1][1]


@pytest.mark.slow
def test_machine_code_of_an_edited_loop(tmp_path: Path) -> None:
    """A new process does not take cached machine code that has an older version of a loop."""
    (tmp_path / "digest_calling.py").write_text(CALLING)
    code = "import digest_calling; print(digest_calling.calling(1.0))"
    answers = []
    for text in (CALLED, CALLED.replace("x + 1.0", "x + 9.0")):
        (tmp_path / "digest_called.py").write_text(text)
        answers.append(float(python(code, cwd=tmp_path).stdout))
    assert answers == [4.0, 20.0]


@pytest.mark.parametrize(
    ("level", "told"), [(logging.WARNING, True), (logging.INFO, False), (logging.ERROR, False)]
)
def test_what_a_terminal_is_told(level: int, told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python on a terminal says that loops are compiled; the command line says it, or is quiet."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(logging.getLogger("dlsched"), "level", level)
    assert tells_terminal() == told


def test_loops_are_divided_by_their_length() -> None:
    """The longest loops are in different parts, and no part is empty unless there is no loop."""
    known = entries("dlsched.problems.reclaiming.heuristics.densest_loops")
    loops = sorted(known, key=lambda loop: size_of([loop]), reverse=True)
    assert divided(loops, 2) == [loops[:1], loops[1:]]
    assert divided(loops, 9) == [[loop] for loop in loops]
    assert divided(loops, 1) == [loops] and divided([], 4) == [[]]
    assert size_of([loops[0], loops[0]]) == size_of(loops[:1])


CONSTANT = """
from dlsched.solvers.compilation import entry, loop

@loop
def doubled(x):
    return x * 2

@entry("int64(int64)")
def both(x):
    return doubled(3) + doubled(x)
"""


def test_a_loop_is_compiled_once_for_constants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A constant argument makes no second signature of a loop."""
    (tmp_path / "constant_argument.py").write_text(CONSTANT)
    monkeypatch.syspath_prepend(tmp_path)
    made = importlib.import_module("constant_argument")
    assert made.both(4) == 14
    assert len(made.doubled.compiled.signatures) == 1


def test_installation_compiles_the_loops_and_says_so() -> None:
    """What makes the environment fills the cache of loops after a line about how long it takes."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("make is not installed")
    root = Path(__file__).parents[1]
    told = subprocess.run(
        [make, "-nB", ".venv/.ready"], cwd=root, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    steps = [
        next(i for i, line in enumerate(told) if part in line)
        for part in ("pip install", "once per machine", "compile_loops()", "touch")
    ]
    assert steps == sorted(steps)


METHODS = [
    method for name in problem_names() for method in problem(name).methods.values() if method.small
]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: f"{method.problem}-{method.name}")
def test_the_answer_is_the_same(method: Method) -> None:
    """As Python and compiled, a method gives the same solution, objective, bounds and status."""
    method.prepare(problem(method.problem).package)

    @given(getattr(strategies, method.problem)())
    @settings(max_examples=draws(10, 4), deadline=None, derandomize=True, database=None)
    def both(instance: dlsched.Instance) -> None:
        answers = []
        for as_python in (True, False):
            with interpreted(as_python):
                try:
                    found = dlsched.solve(instance, method.name)
                except dlsched.OptionError as error:  # a method for another kind of instance
                    answers.append(str(error))
                else:
                    answers.append((found.solution, found.objective, found.bound, found.status))
        assert answers[0] == answers[1]

    both()


def test_a_larger_answer_is_the_same() -> None:
    """Beyond the sizes at which they run as Python, loops give the same answer, too."""
    made = [
        ("placement", "hill_climbing", {"tables": 150, "jobs": 150}),
        ("utility", "hadar", {"jobs": 20, "slots": 40}),
    ]
    for name, method, options in made:
        instance = dlsched.generate(name, 3, **options)
        compiled = dlsched.solve(instance, method)
        with interpreted():
            assert dlsched.solve(instance, method).solution == compiled.solution


def test_small_instances_need_no_compiler() -> None:
    """The exact method of every problem solves a small instance without importing numba."""
    code = f"""
import sys, dlsched
for name in {problem_names()}:
    assert dlsched.solve(f"{{name}}-small-01").status == "optimal"
print("numba" in sys.modules)
"""
    assert python(code).stdout == "False\n"


def test_compiled_loops_are_used_where_there_are_any() -> None:
    """A small instance runs as Python only while nothing is compiled in the process."""
    owner = problem("placement")
    instance, method = dlsched.load("placement-small-01"), owner.methods["no_moves"]
    method.prepare(owner.package)
    assert not method.interprets(instance, owner.package)
    loops = f"{owner.package}.heuristics.local_search"
    assert preparation.is_ready(loops, package=owner.package)


@loop
def _half(x: float) -> float:
    return x / 2


@entry("UniTuple(float64, 2)(float64[::1], float64)")
def _sums(values: Any, scale: float) -> Any:
    total = 0.0
    for i in range(len(values)):
        total += math.exp(-values[i]) * _half(scale)
    return total, values[0] * scale


@given(st.lists(st.floats(0, 1e300), min_size=1, max_size=20), st.floats(-1e10, 1e10))
@settings(max_examples=draws(50), deadline=None, derandomize=True)
def test_one_loop_in_both_forms(values: list[float], scale: float) -> None:
    """Sums of doubles agree to the last bit, overflow included; results are Python's numbers."""
    array = np.array(values)
    with interpreted():
        found = _sums(array, scale)
    assert [type(value) for value in found] == [float, float]
    assert found == _sums(array, scale)


def test_one_warning_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where loops run as Python for want of numba, not where they would in any case."""
    monkeypatch.setattr(preparation, "can_compile", lambda: False)
    monkeypatch.setattr(Loop, "ready", False)
    warn_that_loops_run_as_python.cache_clear()
    drawn = (
        ("elastic", {"jobs": 12}, 0),
        ("placement", {"tables": 6, "regions": 3, "jobs": 8}, 0),
        ("placement", {"tables": 30, "regions": 4, "jobs": 40}, 1),
        ("utility", {"jobs": 25, "slots": 40}, 1),
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name, parameters, warned in drawn:
            owner = problem(name)
            instance = dlsched.generate(name, 0, **parameters)
            owner.method("exact", instance).prepare(owner.package, instance=instance)
            assert len(caught) == warned
    warn_that_loops_run_as_python.cache_clear()
    assert caught[0].category is RuntimeWarning
    assert "pip install 'dlsched[fast]'" in str(caught[0].message)

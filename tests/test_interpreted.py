"""Loops that run as Python on small instances: nothing is compiled, and the answer is the same."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from calls import python
from dlsched.registry import Method, problem, problem_names
from dlsched.solvers import preparation
from dlsched.solvers.compilation import entry, interpreted, loop
from dlsched.testing import strategies

METHODS = [
    method for name in problem_names() for method in problem(name).methods.values() if method.small
]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: f"{method.problem}-{method.name}")
def test_the_answer_is_the_same(method: Method) -> None:
    """As Python and compiled, a method gives the same solution, objective, bounds and status."""
    method.prepare(problem(method.problem).package)

    @given(getattr(strategies, method.problem)())
    @settings(max_examples=10, deadline=None, derandomize=True, database=None)
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
        ("interleaving", "column_generation", {"jobs": 20, "grouping": "cover"}),
        ("utility", "hadar_pooled", {"jobs": 20, "slots": 40}),
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
@settings(max_examples=50, deadline=None, derandomize=True)
def test_one_loop_in_both_forms(values: list[float], scale: float) -> None:
    """Sums of doubles agree to the last bit, overflow included; results are Python's numbers."""
    array = np.array(values)
    with interpreted():
        found = _sums(array, scale)
    assert [type(value) for value in found] == [float, float]
    assert found == _sums(array, scale)

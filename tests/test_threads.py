"""In one process the number of threads may change from call to call."""

from __future__ import annotations

import pytest

import dlsched
from dlsched.registry import problem
from dlsched.testing.thread_changes import answers_of, in_new_process

UTILITY = [dlsched.generate("utility", seed, jobs=8, slots=12) for seed in (1, 3)]
"""HiGHS refused to solve them, as one of their programs had another number of threads."""


@pytest.mark.parametrize("name", dlsched.list_problems())
def test_threads_may_change(name: str) -> None:
    """The exact method and the bound find the same, whatever was called before."""
    owner = problem(name)
    instance = owner.module("generate").examples()[0]
    for method in (owner.resolve("exact", instance).name, owner.bound):
        assert len(set(answers_of(instance, method, (2, 1, 2)))) == 1


@pytest.mark.slow
def test_threads_in_a_new_process() -> None:
    """Two threads from the first call on, then one, then two again."""
    found = in_new_process(UTILITY, ["milp", "dantzig_wolfe", "lagrangian"], (2, 1, 2))
    assert found and all(len(set(answers)) == 1 for answers in found.values())
    assert not any("SolverFailure" in answer for answers in found.values() for answer in answers)

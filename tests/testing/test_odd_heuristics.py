"""check_heuristic on methods that claim too much, change things, or end: a finding each time."""

from __future__ import annotations

import itertools
import os
import sys
from typing import Any

import pytest
from hypothesis import strategies as st

import dlsched
from dlsched import Bound, Claim, Status
from dlsched.problems.reclaiming import Solution
from dlsched.testing import check_heuristic, oracles

CHILDREN: list[int] = []
"""Processes that `forks` made."""
CALLS = itertools.count()


def first(instance: Any, rng: Any = None) -> Solution:
    """Return the first servers of the file, whatever runs on them."""
    ids = [server.id for server in instance.servers]
    return Solution(instance=instance.name, returned=ids[: instance.demand])


def claiming(**claim: Any) -> Any:
    """Return a method that claims this, about the first servers unless it says otherwise."""

    def boasts(instance: Any, run: Any) -> Claim:
        return Claim(**{"solution": first(instance)} | claim)

    return boasts


HIGH = [[Bound(1, "certified", "by eye")]]
NONE = {"solution": None, "reason": "it looks hard"}


def overestimates_late(instance: Any, run: Any) -> Claim:
    """Its second level's bound is false, where the first one's is right."""
    best = oracles.reclaiming(instance)
    assert best is not None
    bounds = [[Bound(best[0], "certified", "it")], [Bound(best[1] + 1, "claimed", "it")]]
    return Claim(solution=first(instance), bounds=bounds)


def silent(instance: Any, rng: Any) -> None:
    """It returns nothing at all."""


def exits(instance: Any, rng: Any) -> None:
    """It ends the program."""
    sys.exit("enough")


def ends(instance: Any, rng: Any) -> None:
    """It ends the process, at once."""
    os._exit(3)


def forks(instance: Any, rng: Any) -> Solution:
    """It forks, and returns in both processes."""
    child = os.fork()
    CHILDREN.append(child)
    return first(instance)


def now_and_then(instance: Any, rng: Any) -> Solution:
    """It raises in every seventh call."""
    if next(CALLS) % 7 == 6:
        raise RuntimeError("the seventh call")
    return first(instance)


def changes(instance: Any, rng: Any) -> Solution:
    """It asks for less, and returns that."""
    found = first(instance)
    object.__setattr__(instance, "demand", 0)
    return found


def changes_deep(instance: Any, rng: Any) -> Solution:
    """It takes a job away while it thinks."""
    found = first(instance)
    object.__setattr__(instance, "jobs", instance.jobs[1:])
    return found


@pytest.mark.parametrize(
    ("bug", "kind", "words"),
    [
        (claiming(status=Status.OPTIMAL), "wrong_status", "optimal; the optimum is"),
        (
            claiming(status=Status.INFEASIBLE, **NONE),
            "wrong_status",
            "it says infeasible; the optimum is",
        ),
        (
            claiming(status=Status.NO_SOLUTION),
            "wrong_status",
            "it says no solution, and returns a feasible solution",
        ),
        (claiming(bounds=HIGH), "wrong_bound", "preempted is at best 1"),
        pytest.param(
            overestimates_late, "wrong_bound", "collateral is at best", marks=pytest.mark.slow
        ),
        (silent, "no_solution_object", "it returned no solution"),
        pytest.param(
            claiming(objective=["few"]),
            "no_solution_object",
            "what it returned cannot be read: ",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            claiming(status="perfect"), "no_solution_object", "perfect", marks=pytest.mark.slow
        ),
        (exits, "exits", "it ends the process with 'enough'"),
        pytest.param(ends, "exits", "it ends the process with 3", marks=pytest.mark.slow),
        (now_and_then, "crash", "RuntimeError: the seventh call (not every time)"),
        (changes, "changes_instance", "changes changed the instance"),
        pytest.param(
            changes_deep,
            "changes_instance",
            "changes_deep changed the instance",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_odd_heuristic_is_a_finding(bug: Any, kind: str, words: str, unshrunk: None) -> None:
    """What a method claims falsely, or does beside solving, is named, with the instance."""
    found = check_heuristic("reclaiming", bug, examples=30, invariant=())
    named = {finding.kind: finding for finding in found.findings}
    assert words in named[kind].message
    assert '"servers"' in str(found) and kind in str(found)


def test_the_instance_printed_is_the_original() -> None:
    """A heuristic that changes its instance is shown with the instance that it was given."""
    made = dlsched.generate("reclaiming", servers=4, demand=2)
    found = check_heuristic("reclaiming", changes, examples=3, instances=st.just(made))
    assert [f.kind for f in found.findings] == ["changes_instance"]
    assert found.findings[0].instance == made and made.demand == 2
    assert '"demand":2' in str(found)


def test_forked_children_end() -> None:
    """A heuristic that forks is tested in one process; its children do not go on with the test."""
    process = os.getpid()
    CHILDREN.clear()
    found = check_heuristic("reclaiming", forks, examples=5, invariant=(), oracle=False)
    assert os.getpid() == process and found.examples >= 5
    assert len(CHILDREN) == 2 * found.examples
    for child in CHILDREN:  # this process may have others
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_exact_methods_keep_their_word() -> None:
    """Methods that prove optimality are compared with brute force, and are right."""
    for problem, name in (("elastic", "dp"), ("reclaiming", "milp")):
        found = check_heuristic(problem, name, examples=15, invariant=())
        assert found and found.optimal == found.solved > 0, str(found)

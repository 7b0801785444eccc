"""`counted`: its programs by priority, what it needs no program for, and its properties."""

from __future__ import annotations

from typing import Any

import pytest

import dlsched
from dlsched.problems.dispatch import Instance, Solution
from dlsched.problems.dispatch.definition.check import evaluate
from dlsched.problems.dispatch.heuristics import counted_plan, mast_solution
from dlsched.problems.dispatch.heuristics.fill_remaining import filled
from dlsched.problems.dispatch.instances.generate import examples
from dlsched.run import Run
from dlsched.testing import check_heuristic


def test_counted_has_the_properties_of_heuristics() -> None:
    """Feasible, deterministic, no better than brute force; names apart."""
    found = check_heuristic("dispatch", "counted", examples=25, invariant=("names",))
    assert found, str(found)


@pytest.mark.parametrize("example", examples(), ids=lambda instance: instance.name)
def test_counted_is_optimal_on_the_examples(example: Instance) -> None:
    """In what starts and who is preempted, where `mast` misses two of three."""
    best = dlsched.solve(example, "exact").objective
    assert dlsched.solve(example, "counted").objective[:-2] == best[:-2]


@pytest.mark.parametrize("machines", [5, 10, 20])
def test_counted_is_optimal_on_small_batches(machines: int) -> None:
    """In what starts and who is preempted at every priority."""
    for seed in (1, 2):
        instance = dlsched.generate("dispatch", seed, machines=machines)
        best = dlsched.solve(instance, "classes", levels=14).objective
        assert dlsched.solve(instance, "counted").objective[:-2] == best[:-2]


def test_a_priority_without_loss_needs_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything starts and nobody is preempted: the plan of `mast` is returned."""
    instance = dlsched.generate("dispatch", 1, machines=20, allocation=0.2)
    assert evaluate(instance, mast_solution(instance))[12] == 0

    def refuse(*args: Any, **options: Any) -> None:
        raise AssertionError("a program was solved")

    monkeypatch.setattr(counted_plan.highs, "solve", refuse)
    assert dlsched.solve(instance, "counted").solution.start == mast_solution(instance).start


def test_a_limit_returns_the_plan_of_mast() -> None:
    """Without time for a program only what still fits is added."""
    instance = dlsched.generate("dispatch", 2, machines=20)
    start = mast_solution(instance)
    run = Run(time_limit=1e-9)
    assert evaluate(instance, counted_plan.Counted(instance, run, start, 0.01, 10, 4).solve()) == (
        evaluate(instance, filled(instance, start))
    )


def test_counts_that_cannot_be_placed_are_refined() -> None:
    """The first counts of priority 7 fit no machines; later ones start six times as much."""
    instance = dlsched.generate("dispatch", 7, machines=10)
    once, more = (dlsched.solve(instance, "counted", tries=tries).objective for tries in (1, 4))
    assert once[:13] == more[:13]
    assert more.started_7 > 6 * once.started_7


def test_what_still_fits_is_started() -> None:
    """Of a solution that starts and preempts less than `mast`, without further victims."""
    instance = dlsched.generate("dispatch", 2, machines=20)
    whole = mast_solution(instance)
    assert whole.preempt
    some = dict(list(whole.start.items())[:2])
    part = Solution(start=some, preempt=())
    if not dlsched.verify(instance, part).feasible:
        part = Solution(start={}, preempt=())
    found = filled(instance, part)
    assert dlsched.verify(instance, found).feasible
    assert not found.preempt
    assert len(found.start) > len(part.start)
    assert filled(instance, found) == found


def test_a_better_start_is_where_counted_begins() -> None:
    """The optimum stays, and a worse start than the plan of `mast` is not used."""
    instance = dlsched.generate("dispatch", 3, machines=10)
    best = dlsched.solve(instance, "classes")
    again = dlsched.solve(instance, "counted", start=best.solution)
    assert again.objective == best.objective
    assert again.start is not None and again.start.accepted
    nothing = dlsched.solve(instance, "counted", start=Solution(start={}, preempt=()))
    assert nothing.start is not None and not nothing.start.accepted

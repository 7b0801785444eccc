"""Exact methods begin from the heuristics and baselines, and return nothing worse than these."""

from __future__ import annotations

import pytest

import dlsched
from dlsched.problems.dispatch import Instance, Solution
from dlsched.problems.dispatch.exact.beginning import from_best
from dlsched.registry import Kind, problem
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.solvers.precision import BEYOND_PRECISION

HEURISTICS = [
    name
    for name, method in problem("dispatch").methods.items()
    if method.kind in (Kind.HEURISTIC, Kind.BASELINE)
]


def drawn(seed: int) -> Instance:
    """Generate a cluster on which workloads wait and others are preempted."""
    instance = dlsched.generate("dispatch", seed, machines=6, pending=12, allocation=1.0)
    assert isinstance(instance, Instance)
    return instance


@pytest.mark.parametrize("seed", range(3))
def test_nothing_found_is_what_the_search_begins_from(seed: int) -> None:
    """That is what heuristics have found, or the plan of `mast` if none was called."""
    instance, run = drawn(seed), Run()
    nothing = Claim(status=Status.NO_SOLUTION, termination=Termination.TOLERANCES)
    claim = from_best(instance, run, lambda start: nothing)
    mast = dlsched.solve(instance, "mast").solution
    assert claim.status is Status.FEASIBLE and claim.solution.start == mast.start
    run.known = dlsched.solve(instance, "counted").solution
    assert from_best(instance, run, lambda start: nothing).solution is run.known


def test_an_optimum_that_the_start_beats_is_none() -> None:
    """It may be one of values that are equal to the solver: the start is returned instead."""
    claim = from_best(drawn(1), Run(), lambda start: Claim(Solution(), Status.OPTIMAL))
    assert claim.status is Status.FEASIBLE and claim.termination is Termination.TOLERANCES
    assert claim.reason == BEYOND_PRECISION and claim.solution.start


@pytest.mark.parametrize("method", ["milp", "classes"])
def test_no_time_is_the_plan_of_mast(method: str) -> None:
    """Without time the start is returned, whatever the method."""
    instance = drawn(1)
    plan = dlsched.solve(instance, "mast").objective
    result = dlsched.solve(instance, method, time_limit=1e-9)
    assert result.status == "feasible" and result.termination == "time_limit"
    assert not plan.better_than(result.objective)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0.05, 0.3, 2.0])
@pytest.mark.parametrize("seed", range(6))
def test_exact_is_no_worse_than_heuristics(seed: int, limit: float) -> None:
    """Under a limit within which the heuristics end, the exact method's answer is no worse."""
    instance = drawn(seed)
    exact = dlsched.solve(instance, time_limit=limit).objective
    for name in HEURISTICS:
        if dlsched.solve(instance, name).seconds.total < limit / 4:
            assert not dlsched.solve(instance, name).objective.better_than(exact), name

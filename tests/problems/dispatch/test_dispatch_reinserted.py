"""`reinserted`: between `mast` and the optimum, its moves, and what is left of a move undone."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from dispatch_instances import held, instance, job, machines, running, waiting
from hypothesis import given, settings

import dlsched
from dlsched import Run
from dlsched.problems.dispatch import Instance
from dlsched.problems.dispatch.definition.check import evaluate
from dlsched.problems.dispatch.definition.oracle import brute_force
from dlsched.problems.dispatch.heuristics import mast_solution
from dlsched.problems.dispatch.heuristics.reinsertion import Reinsertion
from dlsched.problems.dispatch.instances.generate import examples
from dlsched.problems.dispatch.instances.strategy import instances
from dlsched.problems.dispatch.structures.fleet import Fleet


@given(instances(scope="batch"))
@settings(max_examples=15, deadline=None)
def test_between_mast_and_the_optimum_of_brute_force(drawn: Instance) -> None:
    """It is feasible, no worse than `mast`, and no better than any solution."""
    found = dlsched.solve(drawn, "reinserted")
    best = brute_force(drawn)
    assert dlsched.verify(drawn, found.solution).feasible
    assert not evaluate(drawn, mast_solution(drawn)).better_than(found.objective)
    assert best is None or not found.objective.better_than(best)


@pytest.mark.parametrize("seed", range(4))
def test_moves_leave_the_arrays_as_the_plans_say(seed: int) -> None:
    """After all moves, kept and undone, what is free is what the plans and victims leave."""
    drawn = dlsched.generate("dispatch", seed, machines=6, pending=20, allocation=1.0)
    search = Reinsertion(drawn, Run(), 20)
    assert dlsched.verify(drawn, search.solve()).feasible
    fleet = Fleet(drawn)
    fleet.stop(search.dispatcher.preempt)
    for w, plan in search.plans.items():
        for of_job, request in zip(plan.jobs, fleet.requests[w], strict=True):
            fleet.take(of_job.site, request, of_job.machines, of_job.tasks)
    assert np.array_equal(fleet.free, search.fleet.free) and (fleet.free >= 0).all()
    assert np.array_equal(fleet.running, search.fleet.running)


def test_a_workload_moves_for_one_that_fits_nowhere_else() -> None:
    """Section 4.1: workload 1 leaves region X, which 2 needs; without auctions it stays."""
    two, *_ = examples()
    both = dlsched.solve(two, "reinserted").solution
    assert {name: s.region for name, s in both.start.items()} == {"1": "y", "2": "x"}
    assert list(dlsched.solve(two, "reinserted", work=0).solution.start) == ["1"]


@pytest.mark.parametrize("work", [-1, 0.5, "many"])
def test_work_is_a_whole_number(work: Any) -> None:
    """Others are refused."""
    with pytest.raises(dlsched.OptionError, match="work"):
        dlsched.solve(examples()[0], "reinserted", work=work)


def test_a_limit_returns_the_plan_of_mast() -> None:
    """Without time nothing is moved."""
    drawn = dlsched.generate("dispatch", 2, machines=10)
    found = dlsched.solve(drawn, "reinserted", time_limit=1e-9).solution
    assert found.start == mast_solution(drawn).start


def test_amounts_beyond_64_bits() -> None:
    """The same workloads start where memory has 18 decimals, and as many victims stop."""
    plain, fine = (
        instance(
            [machines("m", 2, cpus=4, count=2)],
            [running("v", held({"m#0": 1}, 1, 1, memory), seconds=1)],
            [waiting(f"w{k}", job(gpus=1, tasks=1, cpus=k, memory=memory)) for k in (3, 1, 2, 4)],
        )
        for memory in (1, Fraction(1, 10**18))
    )
    found, other = (dlsched.solve(one, "reinserted") for one in (plain, fine))
    assert Fleet(fine).free.dtype == object
    assert found.objective == other.objective and found.solution.start

"""What prices and an incumbent rule out is in no better schedule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from utility_instances import instance, job

import dlsched
from dlsched.problems.utility import Instance, model
from dlsched.problems.utility.exact import solve_model
from dlsched.problems.utility.exact.schedule_columns import ScheduleSearch
from dlsched.problems.utility.heuristics.insertion import Insertion
from dlsched.problems.utility.programs.lagrangian import Dual
from dlsched.problems.utility.programs.reduced_cost_fixing import Part, restrict
from dlsched.problems.utility.structures.gangs import Gangs
from dlsched.run import Run
from dlsched.testing import oracles, strategies


def inserted(instance: Instance, order: list[int]) -> Insertion:
    """Return the schedule of one insertion."""
    made = Insertion(Gangs(instance))
    made.fill(order)
    return made


def part_of(made: Insertion, prices: dict[str, list[float]]) -> Part:
    """Return what is no worse than a schedule, by prices of each type and slot."""
    gangs, instance = made.gangs, made.gangs.instance
    matrix = np.array([prices[kind] for kind in gangs.kinds]).reshape(-1, instance.slots).T
    return restrict(Dual(gangs), np.ldexp(matrix, -gangs.exponent), made.levels, made.total)


@given(strategies.utility(scales=False), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_the_part_has_an_optimum(instance: Instance, seed: int) -> None:
    """Whatever the prices, the part's optimum is that of all schedules, by brute force."""
    rng = np.random.default_rng(seed)
    scale = 10 ** rng.uniform(-2, 1)
    prices = {kind: (scale * rng.random(instance.slots)).tolist() for kind in instance.supply}
    made = inserted(instance, rng.permutation(len(instance.jobs)).tolist())
    assume(not instance.must_finish or not made.left_out())
    claim = solve_model(instance, Run(), part_of(made, prices))
    optimum = oracles.utility(instance)
    assert optimum is not None
    assert dlsched.verify(instance, claim.solution).objective == optimum
    assert all(bound.kind == "claimed" for bound in claim.bounds[0])


PRICES = {"A": [20.0, 20.0, 0.5, 0.5]}
"""Of the GPU of `example`."""


def example(**changes: Any) -> Instance:
    """Return two jobs of two slots each on one GPU, of which the first is worth far more."""
    jobs = [job(2, id=i, utilities=[u, u, u / 2, u / 4]) for i, u in (("a", 80), ("b", 8))]
    return instance(jobs, {"A": 1}, **changes)


def test_what_the_part_leaves_out() -> None:
    """At the best prices the first job runs at once, then the second one; both are certain."""
    part = part_of(inserted(example(), [0, 1]), PRICES)
    assert part.ends == {"a": range(2, 3), "b": range(4, 5)}
    assert part.runs == {"a": {(1, 0), (2, 0)}, "b": {(3, 0), (4, 0)}}
    assert part.certain == {"a", "b"}
    m = model.build(example(), part=part)
    assert set(m.done) == {("a", 2), ("b", 4)}


def test_a_worse_schedule_leaves_more() -> None:
    """With the jobs in the other order both schedules are left, and each job may not finish."""
    part = part_of(inserted(example(), [1, 0]), PRICES)
    assert part.ends == {"a": range(2, 5), "b": range(2, 5)}
    assert part.certain == set()
    must = part_of(inserted(example(must_finish=True), [1, 0]), PRICES)
    assert must.certain == {"a", "b"}


@pytest.mark.parametrize(("jobs", "slots", "seed"), [(8, 20, 2), (5, 40, 8)])
def test_the_gap_is_closed_in_a_part(jobs: int, slots: int, seed: int) -> None:
    """Where prices leave a gap, the part is much smaller than the model, and proves the optimum."""
    instance = dlsched.generate("utility", seed, jobs=jobs, slots=slots, gpus=12)
    search = ScheduleSearch(instance, Run())
    search.solve()
    assert not search.closed and search.part is not None
    left = sum(map(len, search.part.runs.values()))
    assert left < instance.runs / 2
    result = dlsched.solve(instance)
    assert result.status == "optimal"
    whole = dlsched.solve(instance, "milp")
    assert float(result.objective[0]) == pytest.approx(float(whole.objective[0]), rel=1e-9)
    assert result.objective[0] < result.certified[0].value

"""The model of interleaving says what the checker says, and reads back what it was given."""

from __future__ import annotations

import pyomo.environ as pyo
import pytest
from hypothesis import assume, given, settings

import dlsched
from dlsched.problems.interleaving import Instance, model
from dlsched.problems.interleaving.check import evaluate
from dlsched.testing import strategies


@given(strategies.interleaving())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_an_assigned_solution_has_its_objective(instance: Instance) -> None:
    """What the rules find keeps every constraint, is worth what the checker says, reads back."""
    for rule in ("greedy", "muri"):
        solution = dlsched.solve(instance, rule).solution
        assume(solution is not None)
        m = model.build(instance)
        model.assign(instance, m, solution)
        for row in m.component_data_objects(pyo.Constraint):
            low = row.lower is None or pyo.value(row.body) >= pyo.value(row.lower) - 1e-9
            high = row.upper is None or pyo.value(row.body) <= pyo.value(row.upper) + 1e-9
            assert low and high, row.name
        back = model.read(instance, m)
        assert dlsched.verify(instance, back)
        assert {frozenset(g.jobs) for g in back.groups} == {
            frozenset(g.jobs) for g in solution.groups
        }
        assert pyo.value(m.efficiency) == pytest.approx(
            float(evaluate(instance, back.groups).efficiency), abs=1e-9
        )


def test_groups_are_those_allowed() -> None:
    """Three jobs of one GPU and one of two: three singles, three pairs, a triple, and the other."""
    jobs = [{"id": i, "stages": [1, 2, 3]} for i in "abc"] + [
        {"id": "d", "stages": [1, 1, 1], "gpus": 2}
    ]
    cover = Instance(name="x", resources=("r", "s", "t"), grouping="cover", jobs=jobs, gpu_budget=4)
    m = model.build(cover)
    assert len(m.GROUPS) == 8
    assert len(m.budget) == 1
    assert m.GRANULARITY["efficiency"] > 0


def test_the_model_refuses_many_groups() -> None:
    """200 distinct jobs in fours are 65 million groups, and another method is named."""
    instance = dlsched.generate("interleaving", 1, jobs=200)
    with pytest.raises(dlsched.OptionError, match="column_generation"):
        dlsched.model(instance)

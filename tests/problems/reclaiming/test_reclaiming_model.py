"""The model agrees with the checker for every choice of servers."""

from __future__ import annotations

import math

import pyomo.environ as pyo
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from dlsched.problems.reclaiming import model
from dlsched.problems.reclaiming.definition.check import check, evaluate
from dlsched.problems.reclaiming.definition.schema import Instance, Solution
from dlsched.testing.strategies import reclaiming


@settings(max_examples=30, derandomize=True, deadline=None)
@given(reclaiming(), st.data())
def test_an_assigned_solution_has_its_objective(instance: Instance, data: st.DataObject) -> None:
    """Any choice of servers satisfies every constraint and has the checker's objective."""
    ids = [s.id for s in instance.servers]
    returned = tuple(data.draw(st.permutations(ids))[: instance.demand])
    solution = Solution(instance=instance.name, returned=returned)
    assert check(instance, solution)
    m = model.build(instance)
    model.assign(instance, m, solution)
    for row in m.component_data_objects(pyo.Constraint):
        low = row.lower is None or pyo.value(row.body) >= pyo.value(row.lower)
        high = row.upper is None or pyo.value(row.body) <= pyo.value(row.upper)
        assert low and high, row.name
    worth = evaluate(instance, {instance.server_index[s] for s in returned})
    # The sum is in doubles: an ulp for each of up to six weights.
    assert math.isclose(pyo.value(m.preempted), worth.preempted, rel_tol=2e-15)
    assert pyo.value(m.collateral) == worth.collateral
    assert set(model.read(instance, m).returned) == set(returned)


def test_the_granularity_is_that_of_the_weights() -> None:
    """Values of level 1 are multiples of the weights' greatest common divisor."""
    servers = [{"id": "s", "gpus": 8}]
    jobs = [
        {"id": f"j{w}", "weight": w, "workers": [{"server": "s", "gpus": 1}]} for w in (1.5, 2.25)
    ]
    m = model.build(Instance(name="x", demand=1, servers=servers, jobs=jobs))
    assert m.GRANULARITY == {"preempted": 0.75, "collateral": 0}


def test_damage_only_where_there_can_be_any() -> None:
    """A job on one server, or without base workers, has no collateral variable."""
    m = dlsched.model("lyra-fig5")
    assert set(m.DAMAGE) == {("a", "1"), ("a", "2"), ("c", "4"), ("c", "5"), ("d", "5"), ("d", "6")}

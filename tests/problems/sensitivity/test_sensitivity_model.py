"""The model of sensitivity says what the checker says, and reads back what it was given."""

from __future__ import annotations

import pyomo.environ as pyo
import pytest
from hypothesis import assume, given, settings

import dlsched
from dlsched.problems.sensitivity import Instance, model
from dlsched.problems.sensitivity.check import evaluate
from dlsched.testing import strategies


@given(strategies.sensitivity())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_an_assigned_solution_has_its_objective(instance: Instance) -> None:
    """What the rules find satisfies every constraint, is worth what the checker says, reads back.

    Choices that others dominate are replaced, so that what is read is worth no less.
    """
    for rule in ("proportional", "tune", "greedy"):
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
        worth = evaluate(instance, back.allocation)
        assert pyo.value(m.throughput) == pytest.approx(float(worth.throughput), abs=1e-9)
        assert pyo.value(m.split) == worth.split
        assert not evaluate(instance, solution.allocation).better_than(worth)
        model.assign(instance, m, back)
        assert model.read(instance, m) == back


def test_only_jobs_of_several_gpus_can_be_split() -> None:
    """The two-server example: c alone has variables for its servers and for being split."""
    m = dlsched.model("synergy-two-servers")
    assert list(m.SEVERAL) == ["c"]
    assert len(m.z) == 2
    whole = dlsched.load("synergy-two-servers").model_copy(update={"allow_split": False})
    assert dlsched.model(whole).q["c"].ub == 0


def test_the_model_refuses_many_servers() -> None:
    """milp has a variable for every job, choice and server, and names patterns when too many."""
    instance = dlsched.generate("sensitivity", 1, servers=64)
    with pytest.raises(dlsched.OptionError, match="use patterns"):
        dlsched.solve(instance, "milp")

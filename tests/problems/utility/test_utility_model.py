"""The model of utility says what the checker says, and reads back what it was given."""

from __future__ import annotations

import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from dlsched.problems.utility import Instance, model
from dlsched.problems.utility.check import completions, evaluate
from dlsched.solvers.standard_form import compile_model
from dlsched.testing import strategies


@given(st.booleans().flatmap(lambda forking: strategies.utility(forking=forking)))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_an_assigned_solution_has_its_objective(instance: Instance) -> None:
    """What a rule finds satisfies every constraint, is worth what the checker says, reads back."""
    rule = "hadare" if instance.forking else "fifo"
    solution = dlsched.solve(instance, rule).solution
    if solution is None:
        assert instance.must_finish
        return
    m = model.build(instance)
    model.assign(instance, m, solution)
    for row in m.component_data_objects(pyo.Constraint):
        low = row.lower is None or pyo.value(row.body) >= pyo.value(row.lower) - 1e-9
        high = row.upper is None or pyo.value(row.body) <= pyo.value(row.upper) + 1e-9
        assert low and high, row.name
    worth = evaluate(instance, solution.schedule).utility
    assert pyo.value(m.utility) == pytest.approx(float(worth), abs=1e-9)
    back = model.read(instance, m)
    assert dlsched.verify(instance, back).feasible
    assert completions(instance, back.schedule) == completions(instance, solution.schedule)


def test_rows_that_cannot_be_broken_are_left_out() -> None:
    """One job on enough GPUs has no capacity rows; three that rank types alike have two sets."""
    data = {
        "name": "x",
        "slots": 2,
        "slot_seconds": 1,
        "machines": [{"id": "m", "gpus": {"A": 2, "B": 2}}],
        "jobs": [
            {"id": "a", "arrival": 1, "workers": 2, "iterations": 2, "rates": {"A": 2, "B": 1}}
        ],
    }
    assert len(model.build(Instance(**data)).capacity) == 0
    more = data | {"jobs": [data["jobs"][0] | {"id": i, "workers": 2} for i in "abc"]}
    assert {s for _, s in model.build(Instance(**more)).capacity} == {"A", "A+B"}


def test_rows_grow_with_the_slots() -> None:
    """Twice the slots are twice the entries: progress is summed up in blocks, not from the start.

    The blocks' work is what a schedule has done, and the schedule reads back.
    """
    sizes = []
    for slots in (200, 400):
        made = dlsched.generate("utility", 1, jobs=2, slots=slots, gpus=3, utilization=0.5)
        m = model.build(made)
        sizes.append(compile_model(m).A.nnz)
    assert sizes[1] < 2.2 * sizes[0]
    solution = dlsched.solve(made, "fifo").solution
    model.assign(made, m, solution)
    for row in m.component_data_objects(pyo.Constraint):
        low = row.lower is None or pyo.value(row.body) >= pyo.value(row.lower) - 1e-9
        high = row.upper is None or pyo.value(row.body) <= pyo.value(row.upper) + 1e-9
        assert low and high, row.name
    assert len(m.work) > 10
    back = model.read(made, m)
    assert completions(made, back.schedule) == completions(made, solution.schedule)


def test_the_model_refuses_what_is_too_large() -> None:
    """480 jobs over 400 slots are too many, and another method is named."""
    instance = dlsched.generate("utility", 1, jobs=480, slots=400, gpus=60)
    with pytest.raises(dlsched.OptionError, match="dantzig_wolfe"):
        dlsched.model(instance)

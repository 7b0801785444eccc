"""The rows of the model of utility, and their number."""

from __future__ import annotations

import pyomo.environ as pyo
import pytest

import dlsched
from dlsched.problems.utility import Instance, model
from dlsched.problems.utility.definition.check import completions
from dlsched.solvers.standard_form import compile_model


def test_rows_that_cannot_be_violated_are_left_out() -> None:
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
    """Twice the slots are twice the entries: progress is summed in blocks, not from the start.

    A schedule's assignment satisfies the rows of blocks, and reads back.
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


def test_too_large_a_model_is_rejected() -> None:
    """480 jobs over 400 slots are too many, and another method is named."""
    instance = dlsched.generate("utility", 1, jobs=480, slots=400, gpus=60)
    with pytest.raises(dlsched.OptionError, match="dantzig_wolfe"):
        dlsched.model(instance)

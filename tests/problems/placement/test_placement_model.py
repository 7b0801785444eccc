"""The model of placement estimates the cost from below, exactly at its points."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from dlsched.problems.placement import Instance, Solution, model
from dlsched.problems.placement.definition.check import check
from dlsched.problems.placement.programs.coefficients import Shares, at_least, at_most, groups_of
from dlsched.problems.placement.programs.piecewise_estimate import Estimate
from dlsched.problems.placement.structures.arrays import arrays
from dlsched.problems.placement.structures.state import state_of
from dlsched.solvers.certificate import dual_bound
from dlsched.solvers.standard_form import compile_model
from dlsched.testing import strategies


def homes_of(instance: Instance, data: st.DataObject) -> Solution:
    """Draw a placement, feasible or not."""
    regions = st.sampled_from([region.id for region in instance.regions])
    home = {table.id: data.draw(regions) for table in instance.tables}
    return Solution(home=home)


def value_at(instance: Instance, m: pyo.ConcreteModel) -> float:
    """Return the objective with the auxiliary variables as low as their rows allow."""
    for key in m.square:
        m.square[key].set_value(0.0)
    for key in m.uneven:
        m.uneven[key].set_value(0.0)
    for row in (*m.share_tangent.values(), *m.bytes_tangent.values()):
        (low,) = (v for v in _variables(row) if v.parent_component() in (m.square, m.uneven))
        slack = pyo.value(row.lower if row.has_lb() else row.upper) - pyo.value(row.body)
        low.set_value(max(low.value, low.value + abs(slack) * _short(row)))
    for key in m.extra:
        m.extra[key].set_value(0.0)
    for row in m.step.values():
        (low,) = (v for v in _variables(row) if v.parent_component() is m.extra)
        slack = pyo.value(row.lower if row.has_lb() else row.upper) - pyo.value(row.body)
        low.set_value(max(low.value, low.value + abs(slack) * _short(row)))
    return float(pyo.value(m.cost))


def _variables(row: pyo.Constraint) -> list[pyo.Var]:
    from pyomo.core.expr.visitor import identify_variables

    return list(identify_variables(row.body))


def _short(row: pyo.Constraint) -> bool:
    body = pyo.value(row.body)
    return (row.has_lb() and body < pyo.value(row.lower)) or (
        row.has_ub() and body > pyo.value(row.upper)
    )


@given(strategies.placement(), st.data())
@settings(max_examples=30, deadline=None, derandomize=True)
def test_estimate_is_below_and_exact_after_refinement(
    instance: Instance, data: st.DataObject
) -> None:
    """At any placement the estimate is at most the cost, and equal once refined there."""
    solution = homes_of(instance, data)
    report = check(instance, solution)
    assert report.objective is not None
    cost = float(report.objective.cost)
    numbers = arrays(instance)
    index = instance.region_index
    state = state_of(numbers, [index[solution.home[table.id]] for table in instance.tables])
    coarse = Estimate.coarse(numbers, Shares(instance))
    m = model.build(instance, coarse)
    model.assign(instance, m, solution)
    assert value_at(instance, m) <= cost + 1e-9
    coarse.refine(numbers, state)
    m = model.build(instance, coarse)
    model.assign(instance, m, solution)
    assert value_at(instance, m) == pytest.approx(cost, abs=1e-7)


def test_few_attainable_demands_make_the_first_estimate_exact() -> None:
    """In v1 with few jobs by type and priority, the unrefined model has the cost of any homes."""
    instance = dlsched.generate(
        "placement", 1, tables=10, regions=3, jobs=16, version="v1", min_jobs_per_priority=2
    )
    coarse = Estimate.coarse(arrays(instance), Shares(instance))
    assert any(len(gaps.demands) > 3 for gaps in coarse.gaps.values())
    rng = np.random.default_rng(4)
    for _ in range(3):
        homes = rng.integers(len(instance.regions), size=len(instance.tables)).tolist()
        regions = [instance.regions[r].id for r in homes]
        names = [table.id for table in instance.tables]
        solution = Solution(home=dict(zip(names, regions, strict=True)))
        m = model.build(instance, coarse)
        model.assign(instance, m, solution)
        objective = check(instance, solution).objective
        assert objective is not None
        assert value_at(instance, m) == pytest.approx(float(objective.cost), abs=1e-9)


@given(strategies.placement(), st.data())
@settings(max_examples=30, deadline=None, derandomize=True)
def test_rows_hold_if_and_only_if_the_checker_agrees(
    instance: Instance, data: st.DataObject
) -> None:
    """A placement satisfies all rows if it is feasible, breaks one if not, and is read back."""
    solution = homes_of(instance, data)
    m = model.build(instance)
    model.assign(instance, m, solution)
    broken = [
        row.name
        for row in m.component_data_objects(pyo.Constraint)
        if (row.has_lb() and pyo.value(row.body) < pyo.value(row.lower) - 1e-9)
        or (row.has_ub() and pyo.value(row.body) > pyo.value(row.upper) + 1e-9)
    ]
    assert check(instance, solution).feasible == (not broken), broken
    assert model.read(instance, m) == solution


def test_jobs_of_equal_tables_share_a_region() -> None:
    """Jobs of equal kind and tables are one group; a job with one table runs in its home."""
    instance = dlsched.load("mast-two-regions")
    extra = instance.jobs[0].model_copy(update={"id": "again"})
    single = instance.jobs[2].model_copy(update={"id": "one", "tables": ("clicks",)})
    made = instance.model_copy(update={"jobs": (*instance.jobs, extra, single)})
    groups = groups_of(made)
    assert [(ml, len(jobs)) for ml, _, jobs in groups] == [
        (True, 2), (True, 1), (False, 1), (True, 1)
    ]  # fmt: skip
    assert list(dlsched.model(made).VOTING) == [2]


@given(strategies.placement(scales=True))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_every_column_has_its_exact_maximum(instance: Instance) -> None:
    """All columns have finite bounds, squares their maxima, so any duals give a finite bound."""
    m = model.build(instance)
    form = compile_model(m)
    assert np.all(np.isfinite(form.upper))
    assert np.all(form.lower == 0)
    supply = [[Fraction(r.gpu_supply.get(k, 0)) for r in instance.regions] for k in instance.kinds]
    for r, k, p in m.SHARES:
        share = supply[k][r] / sum(supply[k])
        most = 1000 * max(share, 1 - share) ** 2
        assert m.square[r, k, p].ub >= most
        assert m.square[r, k, p].ub == pytest.approx(float(most), rel=1e-12)
    multipliers = np.random.default_rng(1).normal(size=form.shape[0])
    assert dual_bound(form, 0, multipliers) is not None


def test_limits_far_below_the_total_keep_their_digits() -> None:
    """A value far above the limit is replaced by a smaller one that exceeds it."""
    assert at_most([3, 5], 6) == ([3.0, 5.0], 6.0)
    row, limit = at_most([1e15, 1, 2], 3)
    assert row == [1e6, pytest.approx(1000 / 3), pytest.approx(2000 / 3)]
    assert limit == 1000
    assert at_most([1e15, 0], 0) == ([1.0, 0.0], 0.0)
    assert at_most([Fraction(1, 2)], 10**9) == ([1000.0], 1001.0)
    assert at_least([10**9, 1], 4 * 10**8) == ([1000.0, pytest.approx(2.5e-6)], 1000.0)

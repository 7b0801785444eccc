"""The model and milp: brute force, bounds, limits, and an estimate of the cost from below."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from placement_instances import home_of, instance, job, region, table
from pyomo.core.expr.visitor import identify_variables

import dlsched
from dlsched import Run
from dlsched.problems.placement import Instance, Solution, model
from dlsched.problems.placement.definition.check import check
from dlsched.problems.placement.exact import Refinement, estimated_program
from dlsched.problems.placement.kernels.least_squares import min_squares, relaxed_squares
from dlsched.problems.placement.programs.coefficients import Shares, at_least, at_most, groups_of
from dlsched.problems.placement.programs.piecewise_estimate import Estimate
from dlsched.problems.placement.structures.arrays import arrays
from dlsched.problems.placement.structures.state import state_of
from dlsched.results.result import Termination
from dlsched.solvers.certificate import dual_bound
from dlsched.solvers.standard_form import compile_model
from dlsched.testing import oracles, strategies
from drawing import drawn, draws


@drawn(30, st.one_of(strategies.placement(), strategies.placement(scales=True)))
def test_milp_is_brute_force_with_a_certificate(instance: Instance) -> None:
    """In any units, milp = full enumeration, and each proof has a certified bound from duals."""
    optimum = oracles.placement(instance)
    result = dlsched.solve(instance)
    if optimum is None:
        assert result.status == "infeasible"
        return
    assert (result.status, result.termination) == ("optimal", "proved")
    assert float(result.objective.cost) == pytest.approx(float(optimum.cost), rel=1e-9, abs=0)
    assert "no certificate" not in result.solver_message
    assert result.certified.cost.value <= optimum.cost
    bound = dlsched.bound(instance)
    assert bound.cost.kind == "certified"
    assert bound.cost.value <= optimum.cost


def test_the_duals_give_a_bound() -> None:
    """One bound is from duals in exact arithmetic, above that of indivisible tables and jobs."""
    inst = dlsched.generate("placement", 1, tables=10, regions=3, jobs=14, largest=0.4)
    claim = Refinement(inst, Run()).search()
    known = {bound.method: bound for bound in claim.bounds[0]}
    dual = known["duals of the relaxation"]
    assert dual.kind == "certified"
    assert claim.solution is not None
    cost = check(inst, claim.solution).objective.cost
    assert known["whole tables and jobs"].value < dual.value <= cost


def test_a_missing_certificate_is_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a bound from the duals, the solver message states the reason."""
    monkeypatch.setattr(estimated_program, "dual_bound", lambda *_: None)
    result = dlsched.solve("mast-two-regions")
    assert "no certificate from the relaxation" in result.solver_message
    assert "bound nothing" in result.solver_message


def test_the_solver_cannot_undercut_the_cost() -> None:
    """With loads that differ by less than HiGHS's tolerances, milp proves the optimum."""
    # HiGHS's bound is below the cost of such placements, so they are excluded one by one.
    hours = (10**9, 10**9 + 1, 10**9 + 3, 5 * 10**8, 5 * 10**8 + 1)
    inst = instance(
        [region("r", 100, 2 * 10**9), region("s", 100, 2 * 10**9 + 1)],
        [table(f"t{i}") for i in range(5)],
        [job(f"j{i}", [f"t{i}"], need) for i, need in enumerate(hours)],
        weights={"traffic": 0, "storage": 0}, overload_slope=10**9,
    )  # fmt: skip
    optimum = oracles.placement(inst)
    result = dlsched.solve(inst)
    assert (result.status, result.termination) == ("optimal", "proved")
    assert result.objective == optimum


@pytest.mark.parametrize("method", ["exact", "hill_climbing", "annealing", "no_moves"])
def test_values_far_apart(method: str) -> None:
    """Hours, bytes and weights of 1e-300 beside 1e15 give a result, not an exception."""
    inst = instance(
        [region("r", 1e15, 1e-300), region("s", 1e15, cpu_quota={"x": 1e-300})],
        [table("t", 1e-300, "r"), table("u", 1e14)],
        [
            job("j", "t", 1e15),
            job("k", "ut", 1e-300, "spark", cpu_hours=1e-300, app="x", priority=2),
        ],
        weights={"traffic": 1e-300, "gpu": 1e15, "storage": 1}, overload_slope=1e15,
    )  # fmt: skip
    result = dlsched.solve(inst, method)
    optimum = oracles.placement(inst)
    assert optimum is not None
    assert not result.objective.better_than(optimum)
    if method == "exact":
        assert result.status == "optimal"


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("seed", range(2))
def test_generated_instances_are_proven(version: str, seed: int) -> None:
    """Five tables in three regions: milp = brute force, annealing finds it with restarts."""
    inst = dlsched.generate(
        "placement", seed, tables=5, regions=3, jobs=10, version=version, largest=0.4
    )
    optimum = oracles.placement(inst)
    assert optimum is not None
    result = dlsched.solve(inst)
    assert result.status == "optimal"
    assert float(result.objective.cost) == pytest.approx(float(optimum.cost), abs=1e-9)
    annealed = dlsched.solve(inst, "annealing", trials=250)
    assert float(annealed.objective.cost) == pytest.approx(float(optimum.cost), abs=1e-9)


def test_a_limit_keeps_the_placement_and_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped after the relaxation, milp returns its start, the relaxation's bound, and why."""
    inst = dlsched.generate("placement", 1, tables=40, regions=5, jobs=60)
    known = dlsched.solve(inst, "annealing", trials=300)
    relax = Refinement.relax

    def relax_and_spend_the_limit(search: Refinement, **options: int) -> None:
        relax(search, **options)
        search.run.time_limit = 0.0

    monkeypatch.setattr(Refinement, "relax", relax_and_spend_the_limit)
    claim = Refinement(inst, Run(found=[known.solution])).search()
    assert (claim.status, claim.termination) == ("feasible", "time_limit")
    assert claim.solution == known.solution
    ((indivisible, dual),) = claim.bounds
    assert indivisible.kind == dual.kind == "certified"
    assert 0 <= indivisible.value < dual.value <= known.objective.cost


@given(
    st.lists(st.floats(0.01, 0.5), min_size=1, max_size=5),
    st.lists(st.floats(0, 1), min_size=1, max_size=3),
)
@settings(max_examples=draws(100), deadline=None, derandomize=True)
def test_branch_and_bound_is_brute_force(shares: list[float], goals: list[float]) -> None:
    """The search = enumeration; the relaxation, and a search cut short, are never above it."""
    items, target = np.array(sorted(shares, reverse=True)), np.array(goals)
    optimum = np.inf
    for regions in product(range(len(goals)), repeat=len(shares)):
        load = np.bincount(regions, items, minlength=len(goals))
        optimum = min(optimum, float(((load - target) ** 2).sum()))
    assert min_squares(items, target, 10**6) == pytest.approx(optimum, abs=1e-12)
    assert min_squares(items, target, 3) <= optimum + 1e-12
    load, scratch = np.zeros((2, len(goals)))
    assert relaxed_squares(load, target, scratch, items.sum()) <= optimum + 1e-12


def test_the_relaxation_by_hand() -> None:
    """A rest of 1 over gaps of 1 and 0.5 leaves 0.25 each, 9 leaves 3.75."""
    load, scratch, target = np.zeros(2), np.zeros(2), np.array([1.0, 0.5])
    assert relaxed_squares(load, target, scratch, 1.0) == pytest.approx(2 * 0.25**2)
    assert relaxed_squares(load, target, scratch, 9.0) == pytest.approx(2 * 3.75**2)


def homes_of(instance: Instance, data: st.DataObject) -> Solution:
    """Draw a placement, feasible or not."""
    regions = st.sampled_from([region.id for region in instance.regions])
    home = {table.id: data.draw(regions) for table in instance.tables}
    return Solution(home=home)


def value_at(instance: Instance, m: pyo.ConcreteModel) -> float:
    """Return the objective with the auxiliary variables as low as their rows allow."""
    auxiliary = (m.square, m.uneven, m.extra)
    for variable in auxiliary:
        for key in variable:
            variable[key].set_value(0.0)
    # The rows of `step` have squares in them, which those of the tangents raise first.
    for row in (*m.share_tangent.values(), *m.bytes_tangent.values(), *m.step.values()):
        raised = (m.extra,) if row.parent_component() is m.step else auxiliary[:2]
        (low,) = (v for v in identify_variables(row.body) if v.parent_component() in raised)
        body = pyo.value(row.body)
        limits = [pyo.value(limit) for limit in (row.lower, row.upper) if limit is not None]
        if breaks(row):
            low.set_value(low.value + abs(limits[0] - body))
    return float(pyo.value(m.cost))


def breaks(row: pyo.Constraint, tolerance: float = 0.0) -> bool:
    """Return whether the values of a row's variables break it."""
    body = pyo.value(row.body)
    below = row.has_lb() and body < pyo.value(row.lower) - tolerance
    return below or (row.has_ub() and body > pyo.value(row.upper) + tolerance)


@drawn(30, strategies.placement(), st.data())
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
        solution = Solution(home=home_of(instance, homes))
        m = model.build(instance, coarse)
        model.assign(instance, m, solution)
        objective = check(instance, solution).objective
        assert objective is not None
        assert value_at(instance, m) == pytest.approx(float(objective.cost), abs=1e-9)


@drawn(30, strategies.placement(), st.data())
def test_rows_hold_if_and_only_if_the_checker_agrees(
    instance: Instance, data: st.DataObject
) -> None:
    """A placement satisfies all rows if it is feasible, breaks one if not, and is read back."""
    solution = homes_of(instance, data)
    m = model.build(instance)
    model.assign(instance, m, solution)
    rows = m.component_data_objects(pyo.Constraint)
    broken = [row.name for row in rows if breaks(row, 1e-9)]
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


@drawn(30, strategies.placement(scales=True))
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


class FewPolls(Run):
    """A run that reaches its time limit at a number of questions for it."""

    polls = 0

    def stop_reason(self) -> Termination | None:
        """Count the question."""
        self.polls -= 1
        return Termination.TIME_LIMIT if self.polls < 0 else None


@pytest.mark.parametrize("polls", [3, 5, 10, 40])
def test_a_model_that_is_not_built_in_time_is_left(polls: int) -> None:
    """The search ends with the placement and the bound that it has; no model is half built."""
    run = FewPolls()
    search = Refinement(dlsched.generate("placement", 1, tables=30, regions=4, jobs=40), run)
    search.start()
    run.polls = polls
    claim = search.prove()
    assert (claim.status, claim.termination) == ("feasible", "time_limit")
    assert search.built is None and claim.solution is not None
    assert "before the model was built" in claim.solver_message or polls == 3

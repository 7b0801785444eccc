"""HiGHS in process: every status is mapped by name, limits and starts are told truthfully."""

from __future__ import annotations

import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from typing import Any

import highspy
import numpy as np
import pytest
from scipy import sparse

import dlsched
from dlsched.errors import SolverFailure
from dlsched.problems.reclaiming import model
from dlsched.problems.reclaiming.schema import Instance
from dlsched.result import Point, Status, Termination
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.standard_form import StandardForm, compile_model

INF = float("inf")
FAILURES = {
    "kNotset",
    "kLoadError",
    "kModelError",
    "kPresolveError",
    "kSolveError",
    "kPostsolveError",
    "kUnboundedOrInfeasible",  # solved again without presolve; what is left is a failure
}


def make(
    rows: list[list[float]],
    row_bounds: list[tuple[float, float]],
    bounds: list[tuple[float, float]],
    cost: list[float],
    sense: str = "min",
) -> StandardForm:
    """Return a form with whole-number columns and no grid."""
    return StandardForm(
        A=sparse.csc_array(np.array(rows, dtype=float).reshape(len(rows), len(cost))),
        row_lower=np.array([low for low, _ in row_bounds], dtype=float),
        row_upper=np.array([high for _, high in row_bounds], dtype=float),
        lower=np.array([low for low, _ in bounds], dtype=float),
        upper=np.array([high for _, high in bounds], dtype=float),
        integer=np.ones(len(cost), dtype=bool),
        costs=(np.array(cost, dtype=float),),
        offsets=(0.0,),
        senses=(sense,),
        granularities=(Fraction(0),),
        variables=[],
        constraints=[f"r{i}" for i in range(len(rows))],
    )


def hard(servers: int = 120, jobs: int = 400, demand: int = 40) -> Instance:
    """Return an instance that takes minutes: every job sits on 4 servers drawn at random."""
    options = {"servers": servers, "gpus": 64, "jobs": jobs, "demand": demand}
    return dlsched.generate("reclaiming", 0, scattered=4, **options)


def test_every_status_has_a_meaning() -> None:
    """HiGHS's statuses are those with a verdict and those that are failures, and no others."""
    statuses = set(highspy.HighsModelStatus.__members__)
    assert set(highs._TERMINATIONS) <= statuses | {"kHighsInterrupt"}
    assert statuses - set(highs._TERMINATIONS) - {"kModelEmpty"} == FAILURES


@pytest.mark.parametrize("name", sorted(FAILURES | {"kSomethingNew"}))
def test_failures_raise(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A status without a verdict, a future one too, is an error and never a default."""
    monkeypatch.setattr(highs, "_status", lambda _: name)
    with pytest.raises(SolverFailure, match=name):
        highs.solve(make([[1]], [(0, INF)], [(0, 1)], [1]), 0, Run())


@pytest.mark.parametrize("name", sorted(highs._TERMINATIONS))
def test_status_of_every_termination(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The status follows from why HiGHS stopped and from whether there is a point."""
    monkeypatch.setattr(highs, "_status", lambda _: name)
    outcome = highs.solve(make([[1]], [(0, INF)], [(0, 1)], [1]), 0, Run())
    assert outcome.termination is highs._TERMINATIONS[name] and outcome.values is not None
    known = {"kOptimal": "optimal", "kInfeasible": "infeasible", "kUnbounded": "unbounded"}
    assert outcome.status == known.get(name, "feasible")
    without = replace(outcome, values=None).status
    assert without is (
        outcome.status if name in ("kInfeasible", "kUnbounded") else Status.NO_SOLUTION
    )


CASES: dict[str, tuple[tuple[Any, ...], Status, float | None]] = {
    "empty": (([], [], [], []), Status.OPTIMAL, 0),
    "no columns, a row that 0 breaks": (([[]], [(1, INF)], [], []), Status.INFEASIBLE, None),
    "no columns, a row that 0 fulfils": (([[]], [(-1, 0)], [], []), Status.OPTIMAL, 0),
    "no rows": (([], [], [(0, 3), (0, 4)], [1, -1]), Status.OPTIMAL, -4),
    "no rows, unbounded": (([], [], [(0, INF)], [-1]), Status.UNBOUNDED, None),
    "unbounded": (([[1]], [(0, INF)], [(0, INF)], [-1]), Status.UNBOUNDED, None),
    "unbounded upwards": (([[1]], [(0, INF)], [(0, INF)], [1], "max"), Status.UNBOUNDED, None),
    "infeasible": (([[1]], [(3, INF)], [(0, 1)], [1]), Status.INFEASIBLE, None),
    "infeasible or unbounded": (
        ([[1, -1], [-1, 1]], [(1, INF), (1, INF)], [(0, INF), (0, INF)], [-1, -1]),
        Status.INFEASIBLE,
        None,
    ),
    "crossed bounds": (([[1]], [(0, INF)], [(2, 1)], [1]), Status.INFEASIBLE, None),
    "infeasible in whole numbers": (([[2]], [(1, 1)], [(0, 1)], [1]), Status.INFEASIBLE, None),
    "no cost": (([[1]], [(0, INF)], [(0, 1)], [0]), Status.OPTIMAL, 0),
    "maximise": (([[2]], [(-INF, 5)], [(0, 9)], [1], "max"), Status.OPTIMAL, 2),
}


@pytest.mark.parametrize("case", CASES)
def test_verdicts(case: str) -> None:
    """Small models with a known verdict get it, with a bound only where one holds."""
    data, status, value = CASES[case]
    outcome = highs.solve(make(*data), 0, Run())
    assert outcome.status is status
    if status is Status.OPTIMAL:
        assert outcome.objective == outcome.bound == value
    else:
        assert outcome.bound is None


def test_crossed_bounds_of_the_relaxation() -> None:
    """The relaxation drops whole numbers, and only them."""
    outcome = highs.solve(make([[2]], [(1, 1)], [(0, 1)], [1]), 0, Run(), relax=True)
    assert outcome.status is Status.OPTIMAL and outcome.objective == 0.5
    assert outcome.duals is not None and outcome.duals.tolist() == [0.5]


def stop_at_incumbent() -> Run:
    """Return a run that is interrupted when the first incumbent is told."""
    run = Run()

    def stop(point: Point) -> None:
        run.interrupted = run.interrupted or point.objective is not None

    run.on_progress = stop
    return run


def test_stopped_with_a_solution() -> None:
    """A search that is stopped after an incumbent leaves it, and a bound below it."""
    outcome = highs.solve(compile_model(model.build(hard())), 0, stop_at_incumbent())
    assert outcome.status is Status.FEASIBLE and outcome.termination is Termination.INTERRUPTED
    assert outcome.objective is not None
    assert outcome.bound is None or outcome.bound <= outcome.objective


def test_time_limit() -> None:
    """A limit that strikes tells the truth about the solution, on any machine."""
    outcome = highs.solve(compile_model(model.build(hard())), 0, Run(time_limit=0.7))
    assert outcome.termination is Termination.TIME_LIMIT
    found = outcome.values is not None
    assert outcome.status is (Status.FEASIBLE if found else Status.NO_SOLUTION)
    assert found == (outcome.objective is not None)


def test_time_limit_without_a_solution() -> None:
    """A limit that strikes at once leaves no solution, and no zeros in its place."""
    outcome = highs.solve(compile_model(model.build(hard())), 0, Run(time_limit=1e-9))
    assert outcome.status is Status.NO_SOLUTION and outcome.termination is Termination.TIME_LIMIT
    assert outcome.values is None and outcome.objective is None


def starting(x: list[str], demand: int = 40) -> tuple[StandardForm, Any]:
    """Return the hard form and the point that returns the given servers."""
    instance = hard(demand=demand)
    pyomo_model = model.build(instance)
    form = compile_model(pyomo_model)
    solution = {"instance": "hard", "returned": tuple(x)}
    from dlsched.problems.reclaiming.schema import Solution

    model.assign(instance, pyomo_model, Solution(**solution))
    return form, form.point()


def test_start_accepted() -> None:
    """A feasible start is accepted in HiGHS's own words, and the answer is no worse."""
    form, point = starting([f"s{i + 1}" for i in range(40)])
    outcome = highs.solve(form, 0, stop_at_incumbent(), start=point)
    assert outcome.start is not None and outcome.start.accepted
    assert "is feasible" in outcome.start.reason
    assert outcome.objective is not None and outcome.objective <= form.value(0, point)


def test_start_rejected() -> None:
    """An infeasible start is rejected, and the reason is in words."""
    form, point = starting([f"s{i + 1}" for i in range(39)])
    outcome = highs.solve(form, 0, stop_at_incumbent(), start=point)
    assert outcome.start is not None and not outcome.start.accepted
    assert outcome.start.reason


def test_start_not_looked_at() -> None:
    """A model solved before the search says that the start was not needed."""
    form = make([[1, 1]], [(2, INF)], [(0, 5), (0, 5)], [1, 2])
    outcome = highs.solve(form, 0, Run(), start=np.array([0.0, 2.0]))
    assert outcome.objective == 2
    assert outcome.start is not None and not outcome.start.accepted


def test_trajectory_is_monotone() -> None:
    """Along the search incumbents get no worse, bounds no weaker, and time does not run back."""
    told: list[Point] = []
    run = Run(time_limit=1.5, on_progress=told.append)
    highs.solve(compile_model(model.build(hard())), 0, run)
    assert told and told == run.trajectory
    incumbents = [p.objective for p in told if p.objective is not None]
    bounds = [p.bound for p in told if p.bound is not None]
    assert incumbents == sorted(incumbents, reverse=True)
    assert all(b >= a - 1e-6 for a, b in itertools.pairwise(bounds))
    seconds = [p.seconds for p in told]
    assert seconds == sorted(seconds)
    assert all(math.isfinite(v) for p in told for v in p if v is not None)


def test_progress_in_the_levels_own_unit() -> None:
    """What is told counts in the instance's weights, not in units of their grid."""
    instance = hard(30, 40, 8)
    jobs = [job.model_copy(update={"weight": 8}) for job in instance.jobs]
    form = compile_model(model.build(instance.model_copy(update={"jobs": tuple(jobs)})))
    assert form.scaled(0)[0] == 8
    run = Run(time_limit=20)
    outcome = highs.solve(form, 0, run)
    assert run.trajectory[-1].objective == outcome.objective == outcome.bound
    assert outcome.objective is not None and outcome.objective % 8 == 0


def test_an_error_in_the_listener_is_raised() -> None:
    """A listener that fails is not swallowed by the solver."""

    def fail(point: Point) -> None:
        raise LookupError("listener")

    with pytest.raises(LookupError, match="listener"):
        highs.solve(compile_model(model.build(hard())), 0, Run(time_limit=2, on_progress=fail))


def test_same_seed_same_answer() -> None:
    """On one thread the same seed gives the same point, digit by digit."""
    form = compile_model(model.build(hard(30, 40, 8)))
    first, second = (highs.solve(form, 0, Run(seed=7)).values for _ in range(2))
    assert first is not None and second is not None and np.array_equal(first, second)


def test_interrupted_before_it_starts() -> None:
    """A run that is interrupted already stops at HiGHS's first question."""
    run = Run(interrupted=True)
    outcome = highs.solve(compile_model(model.build(hard())), 0, run)
    assert outcome.termination is Termination.INTERRUPTED
    assert outcome.status in (Status.FEASIBLE, Status.NO_SOLUTION)


def test_gap_is_honoured() -> None:
    """With a gap of a fifth the search stops early, within a fifth."""
    form = compile_model(model.build(hard(40, 60, 12)))
    loose = highs.solve(form, 0, Run(gap=0.2))
    assert loose.status is Status.OPTIMAL
    assert loose.objective is not None and loose.bound is not None
    assert loose.objective - loose.bound <= 0.2 * loose.objective + 1e-9


def test_threads_may_change() -> None:
    """One process may solve with 1 thread, then 2, then 1 again, and in threads of its own."""
    form = compile_model(model.build(hard(20, 30, 6)))
    values = {highs.solve(form, 0, Run(threads=n)).objective for n in (1, 2, 1)}

    def work(n: int) -> float | None:
        return max(highs.solve(form, 0, Run(threads=n)).objective or 0 for n in (n, 3 - n))

    with ThreadPoolExecutor(3) as pool:
        values |= set(pool.map(work, [1, 2, 1, 2]))
    values.add(highs.solve(form, 0, Run(threads=2)).objective)
    assert len(values) == 1


def test_very_wide_programs_go_without_presolve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond so many columns a row the integer program's presolve is off; the optimum stays."""
    columns = 40
    rng = np.random.default_rng(1)
    rows = rng.integers(1, 9, (2, columns)).astype(float).tolist()
    form = make(rows, [(30, 60), (20, 50)], [(0, 1)] * columns, rng.random(columns).tolist(), "max")
    said: list[str] = []
    true = highspy.Highs.setOptionValue

    def spy(self: Any, name: str, value: Any) -> Any:
        if name == "presolve":
            said.append(value)
        return true(self, name, value)

    monkeypatch.setattr(highspy.Highs, "setOptionValue", spy)
    before = highs.solve(form, 0, Run())
    assert said == []
    monkeypatch.setattr(highs, "MANY_COLUMNS", 10)
    monkeypatch.setattr(highs, "WIDE", 10)
    highs.solve(form, 0, Run(), relax=True)
    assert said == []
    after = highs.solve(form, 0, Run())
    assert said == ["off"]
    assert before.status is after.status is Status.OPTIMAL
    assert after.objective == pytest.approx(before.objective)

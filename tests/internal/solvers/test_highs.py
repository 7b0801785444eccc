"""Internal: HiGHS in process: statuses, limits, starts, progress, threads, errors, listeners."""

import itertools
import math
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import highspy
import numpy as np
import pytest
from forms import hard_form, hard_instance, make_form
from scipy import sparse

from dlsched import Run, SolverFailure
from dlsched.problems.reclaiming import Solution, model
from dlsched.results.result import Point, Status, Termination
from dlsched.solvers import highs
from dlsched.solvers.incremental import IncrementalProgram
from dlsched.solvers.outcome import HIGHS
from dlsched.solvers.session import Session
from dlsched.solvers.standard_form import INF, compile_model

FAILURES = {f"k{phase}Error" for phase in ("Load", "Model", "Presolve", "Solve", "Postsolve")}
FAILURES |= {"kNotset", "kUnboundedOrInfeasible"}  # the latter after presolve was turned off


def test_every_status_has_a_meaning() -> None:
    """Every status of HiGHS has a termination or is a failure."""
    statuses = set(highspy.HighsModelStatus.__members__)
    assert set(HIGHS) <= statuses | {"kHighsInterrupt"}
    assert statuses - set(HIGHS) - {"kModelEmpty"} == FAILURES


@pytest.mark.parametrize("name", sorted(FAILURES | {"kSomethingNew"}))
def test_failures_raise(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A status without a termination is an error, also one that HiGHS does not have yet."""
    monkeypatch.setattr(Session, "status", name)
    with pytest.raises(SolverFailure, match=name):
        highs.solve(make_form([[1]], [(0, INF)], [(0, 1)], [1]), 0, Run())


@pytest.mark.parametrize("name", sorted(HIGHS))
def test_status_of_every_termination(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The status follows from why HiGHS stopped and from whether there is a point."""
    monkeypatch.setattr(Session, "status", name)
    outcome = highs.solve(make_form([[1]], [(0, INF)], [(0, 1)], [1]), 0, Run())
    assert outcome.termination is HIGHS[name] and outcome.values is not None
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
def test_small_models(case: str) -> None:
    """Small models have the known status, and a bound if and only if they are solved."""
    data, status, value = CASES[case]
    outcome = highs.solve(make_form(*data), 0, Run())
    assert outcome.status is status
    if status is Status.OPTIMAL:
        assert outcome.objective == outcome.bound == value
    else:
        assert outcome.bound is None


def test_relaxation() -> None:
    """The relaxation drops integrality and keeps the rows and bounds."""
    outcome = highs.solve(make_form([[2]], [(1, 1)], [(0, 1)], [1]), 0, Run(), relax=True)
    assert outcome.status is Status.OPTIMAL and outcome.objective == 0.5
    assert outcome.duals is not None and outcome.duals.tolist() == [0.5]


def test_start_whose_value_highs_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """If HiGHS states another value than that of its point, the start is left out."""
    instance = hard_instance(demand=3)
    pyomo_model = model.build(instance)
    form = compile_model(pyomo_model)
    model.assign(instance, pyomo_model, Solution(returned=[f"s{i}" for i in range(1, 11)]))
    point = form.point()
    monkeypatch.setattr(highs, "_states", lambda *_: False)
    outcome = highs.solve(form, 0, Run(), start=point)
    assert outcome.objective == highs.solve(form, 0, Run()).objective
    assert outcome.start is not None and not outcome.start.accepted
    assert "mistook" in outcome.start.reason


def test_progress() -> None:
    """Along the search incumbents improve and bounds tighten, in the unit of the weights."""
    points: list[Point] = []
    run = Run(on_progress=points.append)
    highs.solve(hard_form(20, 30, 6), 0, run)
    assert len(points) > 1 and points == run.trajectory
    incumbents = [p.objective for p in points if p.objective is not None]
    bounds = [p.bound for p in points if p.bound is not None]
    assert incumbents == sorted(incumbents, reverse=True)
    assert all(b >= a - 1e-6 for a, b in itertools.pairwise(bounds))
    seconds = [p.seconds for p in points]
    assert seconds == sorted(seconds)
    assert all(math.isfinite(v) for p in points for v in p if v is not None)
    instance = hard_instance(16, 24, 5)
    jobs = [job.model_copy(update={"weight": 8}) for job in instance.jobs]
    form = compile_model(model.build(instance.model_copy(update={"jobs": tuple(jobs)})))
    assert form.scaled(0)[0] == 8
    run = Run()
    outcome = highs.solve(form, 0, run)
    assert run.trajectory[-1].objective == outcome.objective == outcome.bound
    assert outcome.objective is not None and outcome.objective % 8 == 0


@pytest.mark.parametrize("sense", ["max", "min"])
def test_target_ends_the_search(sense: str) -> None:
    """A solution at least as good as the target is the end, in either sense; else the optimum is.

    Of 16 items with weights of 1 to 16 and values that differ, those of half the weight.
    """
    weights = np.arange(1.0, 17.0)
    values = weights + np.random.default_rng(0).integers(0, 5, 16)
    sign = 1 if sense == "max" else -1
    limits = (0, 68) if sense == "max" else (68, INF)
    form = make_form([weights], [limits], [(0, 1)] * 16, values, sense=sense)
    best = highs.solve(form, 0, Run(gap=0))
    assert best.objective is not None
    for far in (0, 4):
        target = best.objective - sign * far
        outcome = highs.solve(form, 0, Run(gap=0), target=target)
        assert outcome.objective is not None and sign * (outcome.objective - target) >= -1e-9
        assert outcome.termination in (Termination.OBJECTIVE_LIMIT, Termination.PROVED)
    beyond = highs.solve(form, 0, Run(gap=0), target=best.objective + sign)
    assert (beyond.termination, beyond.objective) == (Termination.PROVED, best.objective)


FORM = make_form([[2, 3]], [(4, INF)], [(0, 5), (0, 5)], [1, 2])
"""The optimum is 2."""


def growing(run: Run, size: int = 0) -> IncrementalProgram:
    """Return a program that maximizes x <= 4, or one of random rows and columns."""
    program = IncrementalProgram(run, maximize=True)
    if not size:
        program.add_row(-INF, 4)
        program.add_columns(np.ones(1), sparse.csc_array([[1.0]]))
        return program
    rng = np.random.default_rng(0)
    program.add_rows(np.full(size, -INF), np.ones(size))
    program.add_columns(rng.random(size), sparse.csc_array(rng.random((size, size))))
    return program


@pytest.mark.parametrize("threads", [1, 2])
def test_another_library_may_use_highs(threads: int) -> None:
    """A pool that others have made, of whatever size, is no obstacle, in any thread."""

    def work(size: int) -> float:
        highspy.Highs.resetGlobalScheduler(True)
        other = highspy.Highs()
        other.silent()
        other.setOptionValue("threads", size)
        other.addCol(1.0, 0.0, 1.0, 0, [], [])
        assert other.run() == highspy.HighsStatus.kOk
        program = growing(Run(threads=threads))
        assert program.solve() is Termination.PROVED
        return program.objective

    assert work(3) == 4
    with ThreadPoolExecutor(3) as pool:
        assert set(pool.map(work, [1, 2, 3])) == {4}


def test_a_listener_may_solve() -> None:
    """``on_progress`` may solve with another number of threads, while HiGHS is at work."""
    found: list[float | None] = []

    def solve(point: Point) -> None:
        found.extend(highs.solve(FORM, 0, Run(threads=n)).objective for n in (1, 3))

    rng = np.random.default_rng(0)
    rows = rng.integers(10, 99, (6, 20))
    form = make_form(rows, [(-INF, r.sum() // 2) for r in rows], [(0, 1)] * 20, rows[0], "max")
    outcome = highs.solve(form, 0, Run(threads=2, on_progress=solve))
    assert outcome.termination is Termination.PROVED
    assert found and set(found) == {2}


def test_ctrl_c_is_raised_after_the_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    """While HiGHS runs, no handler raises: between its callbacks that would end the process."""
    before = signal.getsignal(signal.SIGINT)
    assert before is signal.default_int_handler
    session = Session(Run(), {"presolve": "off"})
    highs.load(session, FORM, 0)
    met: list[Any] = []

    def interrupt(event: Any) -> None:
        met.append(signal.getsignal(signal.SIGINT))
        if len(met) == 1:
            met[0](signal.SIGINT, None)  # as Python does between two statements, here or elsewhere

    session.listen("cbMipInterrupt", interrupt)
    with pytest.raises(KeyboardInterrupt):
        session.solve()
    assert met and met[0] is not before
    assert signal.getsignal(signal.SIGINT) is before
    assert session.solve() in ("kOptimal", "kInterrupt")


@pytest.mark.parametrize("error", [LookupError("listener"), KeyboardInterrupt()])
def test_what_a_listener_raises_ends_the_solution(error: BaseException) -> None:
    """It comes out as itself, and the session can be used again."""
    session = Session(Run(), {"presolve": "off"})
    highs.load(session, FORM, 0)
    raised = [error]

    def fail(event: Any) -> None:
        if raised:
            raise raised.pop()

    session.listen("cbMipInterrupt", fail)
    with pytest.raises(type(error)):
        session.solve()
    assert session.solve() in ("kOptimal", "kInterrupt")


def test_limits_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program ends at the run's limit or an interrupt; an error of both methods is an error."""
    run = Run(time_limit=0.0)
    program = growing(run, size=60)
    assert program.solve() is Termination.TIME_LIMIT
    run.time_limit, run.interrupted = None, True
    assert growing(run, size=60).solve() is Termination.INTERRUPTED
    run.time_limit, run.interrupted = 100.0, False
    assert program.solve() is Termination.PROVED
    program = growing(Run())
    monkeypatch.setattr(program.solver, "run", lambda: highspy.HighsStatus.kError)
    with pytest.raises(SolverFailure, match="kNotset"):
        program.solve()


def test_programs_without_columns() -> None:
    """Their rows are checked, though HiGHS does not."""
    program = IncrementalProgram(Run())
    program.add_row(-1, 1)
    assert program.solve() is Termination.PROVED and program.duals.tolist() == [0]
    program.add_row(1, 2)
    assert program.solve() is Termination.INFEASIBLE and program.dual_ray is None


@pytest.mark.parametrize("name", ["no_such_option", "threads"])
def test_an_option_that_highs_refuses(name: str) -> None:
    """It is an error, not ignored."""
    with pytest.raises(SolverFailure, match=name):
        Session(Run(), {name: "much"})

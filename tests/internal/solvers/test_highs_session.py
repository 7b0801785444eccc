"""Internal: HiGHS in process: its pool of threads, errors, limits, exceptions of listeners."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import highspy
import numpy as np
import pytest
from forms import make_form
from scipy import sparse

from dlsched import Run, SolverFailure
from dlsched.results.result import Point, Termination
from dlsched.solvers import highs
from dlsched.solvers.incremental import IncrementalProgram
from dlsched.solvers.session import Session
from dlsched.solvers.standard_form import INF

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

"""HiGHS in this process. No module but this one and `incremental` imports highspy.

HiGHS keeps a pool of threads for each thread that calls it, from the first call on, and refuses a
program with another number of threads. A session therefore makes the pool that it needs. It has the
limits of a run, is silent, and raises an error of HiGHS as one: no error is taken for a limit.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import SolverFailure
from dlsched.run import Run
from dlsched.solvers.outcome import HIGHS, Vector

if TYPE_CHECKING:
    from scipy import sparse

NAME = "highs"

EMPTY = "kModelEmpty"
"""The status of a program without columns, whose rows HiGHS does not check."""

_calling = threading.local()
"""``threads``: size of the pool of the calling thread; ``listening``: whether HiGHS called it."""


@cache
def version() -> str:
    """Return the version of HiGHS."""
    return str(_solver_class()().version())


@cache
def _solver_class() -> Any:
    import highspy

    class Silent(highspy.Highs):  # type: ignore[misc]
        """HiGHS; from 1.16 on the first one of a process announces itself on stdout."""

        def enableCallbacks(self) -> None:
            self.setOptionValue("log_to_console", False)
            super().enableCallbacks()  # the announcement goes nowhere, and does not come again
            self.silent()

    return Silent


def use_threads(threads: int) -> None:
    """Make the calling thread's pool ready for a number of threads."""
    if getattr(_calling, "threads", None) != threads:
        _end_pool()
    _calling.threads = threads


def _end_pool() -> None:
    """End the calling thread's pool; its next program makes one of the size that it needs."""
    import highspy

    of_all = highspy.Highs.resetGlobalScheduler  # this thread's alone, but for the newest versions
    getattr(highspy.Highs, "resetThreadScheduler", of_all)(True)


def with_more_rows(basis: Any, at: int, count: int) -> Any:
    """Return a basis of a program with more rows, which are basic."""
    import highspy

    kinds = list(basis.row_status)
    longer = highspy.HighsBasis()
    longer.col_status = basis.col_status
    longer.row_status = [*kinds[:at], *[highspy.HighsBasisStatus.kBasic] * count, *kinds[at:]]
    return longer


ENUMERATION: Final = 1 << 16
"""HiGHS's bit for the rule of its presolve that tries all values of columns with few."""


class Session:
    """A program in HiGHS, with the threads, the limits and the interrupts of a run.

    Parameters
    ----------
    run
        The solver is recorded there.
    options
        Of HiGHS, by name.
    threads
        By default the run's.
    interruptible
        Whether a program that is being solved ends when the run is interrupted. HiGHS asks very
        often, which takes a tenth of the time of small programs.

    Attributes
    ----------
    solver
        The ``highspy.Highs``.
    """

    def __init__(
        self,
        run: Run,
        options: Mapping[str, Any] | None = None,
        *,
        threads: int | None = None,
        interruptible: bool = True,
    ) -> None:
        run.record_solver(NAME, version())
        self.run, self.threads = run, threads or run.threads
        self.solver: Any = _solver_class()()
        self._raised: BaseException | None = None
        self.set("threads", self.threads)
        # By default a model with a coefficient of 1e15 is refused, the largest that a document has.
        self.set("large_matrix_value", 1e30)
        # By it HiGHS 1.16 loses optima: of 3,700 small integer programs it answered 21 wrong.
        self.set("presolve_rule_off", ENUMERATION)
        for name, value in (options or {}).items():
            self.set(name, value)
        if interruptible:
            for event in ("cbMipInterrupt", "cbSimplexInterrupt", "cbIpmInterrupt"):
                self.listen(event, self._on_interrupt)

    def set(self, name: str, value: Any) -> None:
        """Set an option of HiGHS.

        `SolverFailure` is raised if HiGHS has no such option or value.
        """
        self.require(self.solver.setOptionValue(name, value), f"the option {name}={value}")

    def require(self, status: Any, what: str) -> None:
        """Raise `SolverFailure` if HiGHS answered a call with an error."""
        if status.name == "kError":
            raise SolverFailure(f"HiGHS {version()} rejected {what}")

    def listen(self, event: str, function: Callable[[Any], None]) -> None:
        """Call a function at every event of HiGHS with a name; `solve` raises what it raises."""

        def call(data: Any) -> None:
            listening = getattr(_calling, "listening", False)
            _calling.listening = True
            try:
                function(data)
            except BaseException as error:  # some versions of HiGHS would end with one of theirs
                self._raised = self._raised or error
            finally:
                _calling.listening = listening

        getattr(self.solver, event).subscribe(call)

    def _on_interrupt(self, event: Any) -> None:
        if self._raised is not None or self.run.interrupted:
            event.interrupt()

    def load(
        self,
        A: sparse.csc_array | sparse.csr_array,
        costs: Vector,
        columns: tuple[Vector, Vector],
        rows: tuple[Vector, Vector],
        *,
        maximize: bool = False,
        offset: float = 0.0,
        integer: NDArray[np.bool_] | None = None,
    ) -> None:
        """Pass a program; `columns` and `rows` are their lower and upper limits.

        `SolverFailure` is raised if HiGHS refuses it.
        """
        import highspy

        lp = highspy.HighsLp()
        lp.num_row_, lp.num_col_ = A.shape
        lp.col_cost_, lp.offset_ = costs, offset
        lp.col_lower_, lp.col_upper_ = columns
        lp.row_lower_, lp.row_upper_ = rows
        formats = highspy.MatrixFormat
        lp.a_matrix_.format_ = formats.kRowwise if A.format == "csr" else formats.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_ = A.indptr, A.indices
        lp.a_matrix_.value_ = A.data
        if maximize:
            lp.sense_ = highspy.ObjSense.kMaximize
        if integer is not None and integer.any():
            kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
            lp.integrality_ = [kinds[flag] for flag in integer.tolist()]
        self.require(self.solver.passModel(lp), "the model")

    def start_from(self, point: Vector) -> None:
        """Begin the search from a point."""
        import highspy

        solution = highspy.HighsSolution()
        solution.col_value = point.tolist()
        self.solver.setSolution(solution)

    @property
    def basis(self) -> Any:
        """The last basis; ``None`` if there is none."""
        basis = self.solver.getBasis()
        return basis if basis.valid else None

    def start_from_basis(self, basis: Any) -> None:
        """Begin the simplex method from a basis."""
        self.require(self.solver.setBasis(basis), "a basis")

    @property
    def status(self) -> str:
        """HiGHS's name of the model's status."""
        return str(self.solver.getModelStatus().name)

    @property
    def message(self) -> str:
        """The model's status, by its name and in words."""
        return f"{self.status}: {self.solver.modelStatusToString(self.solver.getModelStatus())}"

    def solve(self) -> str:
        """Solve within the limits of the run; return the status, in `HIGHS` or `EMPTY`.

        `SolverFailure` is raised if HiGHS reports an error, or a status that is in neither.
        """
        status = self._run()
        if self.status == "kUnboundedOrInfeasible":  # presolve cannot tell which
            self.set("presolve", "off")
            status = self._run()
        if self.status == "kSolveError":  # a point that presolve has reduced does not fit the model
            self.solver.clearSolver()
            self.set("presolve", "off")
            status = self._run()
        if status.name == "kError" or self.status not in (*HIGHS, EMPTY):
            raise SolverFailure(f"HiGHS {version()} ended with {self.message}")
        return self.status

    def _run(self) -> Any:
        """Return HiGHS's own result of one call."""
        if self.run.time_limit is not None:  # HiGHS adds up the time of all calls
            self.set("time_limit", self.solver.getRunTime() + self.run.remaining())
        if getattr(_calling, "listening", False):
            # A listener solves a program while HiGHS solves another one with this thread's pool.
            with ThreadPoolExecutor(1) as other_thread:
                status = other_thread.submit(self._call).result()
        else:
            status = self._call()
        if self._raised is not None:
            raised, self._raised = self._raised, None
            raise raised
        return status

    def _call(self) -> Any:
        with self._signals_kept():
            use_threads(self.threads)
            status = self.solver.run()
            if status.name == "kError" and self.status == "kNotset":
                _end_pool()  # another library has used HiGHS, with another number of threads
                status = self.solver.run()
            return status

    @contextmanager
    def _signals_kept(self) -> Iterator[None]:
        """Keep what Ctrl-C raises until HiGHS has ended, which it then does at once.

        Raised in a callback, outside of our own function, it ends the process.
        """
        before = signal.getsignal(signal.SIGINT)
        main = threading.current_thread() is threading.main_thread()
        if not main or not callable(before):
            yield
            return

        def keep(number: int, frame: FrameType | None) -> None:
            try:
                before(number, frame)
            except BaseException as error:
                self._raised = self._raised or error

        signal.signal(signal.SIGINT, keep)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

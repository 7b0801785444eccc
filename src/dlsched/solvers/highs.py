"""HiGHS in process: a standard form in, an outcome out, in one call."""

from __future__ import annotations

import math
import threading
from functools import cache
from typing import Any

import numpy as np

from dlsched.errors import SolverFailure
from dlsched.result import Start, Status
from dlsched.run import Run
from dlsched.solvers.outcome import Outcome, Vector
from dlsched.solvers.standard_form import StandardForm

NAME = "highs"

# Every HiGHS model status by name: (status with a solution, status without one, reason).
# What is absent is an error of HiGHS or of ours, never a verdict about the instance.
_VERDICTS: dict[str, tuple[Status, Status, str]] = {
    "kOptimal": (Status.OPTIMAL, Status.NO_SOLUTION, "proved optimal"),
    "kModelEmpty": (Status.OPTIMAL, Status.OPTIMAL, "the model is empty"),
    "kInfeasible": (Status.INFEASIBLE, Status.INFEASIBLE, "proved infeasible"),
    "kUnbounded": (Status.UNBOUNDED, Status.UNBOUNDED, "proved unbounded"),
    "kTimeLimit": (Status.FEASIBLE, Status.NO_SOLUTION, "time limit"),
    "kIterationLimit": (Status.FEASIBLE, Status.NO_SOLUTION, "iteration limit"),
    "kSolutionLimit": (Status.FEASIBLE, Status.NO_SOLUTION, "solution limit"),
    "kMemoryLimit": (Status.FEASIBLE, Status.NO_SOLUTION, "memory limit"),
    "kObjectiveBound": (Status.FEASIBLE, Status.NO_SOLUTION, "objective bound reached"),
    "kObjectiveTarget": (Status.FEASIBLE, Status.NO_SOLUTION, "objective target reached"),
    "kInterrupt": (Status.FEASIBLE, Status.NO_SOLUTION, "interrupted"),
    "kHighsInterrupt": (Status.FEASIBLE, Status.NO_SOLUTION, "interrupted"),
    "kUnknown": (Status.FEASIBLE, Status.NO_SOLUTION, "HiGHS could not decide"),
}


MANY_COLUMNS, WIDE = 100_000, 1000
"""Integer programs with more columns, and more columns a row, go without presolve: HiGHS's
ignores the time limit there (48 rows, 194,580 columns: minutes), and gains nothing."""

_workers = threading.local()
"""The number of HiGHS's worker threads, of which it keeps one set per thread of ours."""


@cache
def version() -> str:
    """Return the version of HiGHS."""
    import highspy

    return str(highspy.Highs().version())


def build(form: StandardForm, level: int, integer: bool = True, scaled: bool = False) -> Any:
    """Return a ``highspy.HighsLp`` of one level, with the integrality or without.

    With `scaled`, the objective is in the unit that suits HiGHS; see `StandardForm.scaled`.
    """
    import highspy

    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = form.shape
    _, costs, offset = form.scaled(level)
    lp.col_cost_ = costs if scaled else form.costs[level]
    lp.offset_ = offset if scaled else form.offsets[level]
    lp.col_lower_, lp.col_upper_ = form.lower, form.upper
    lp.row_lower_, lp.row_upper_ = form.row_lower, form.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = form.A.indptr
    lp.a_matrix_.index_ = form.A.indices
    lp.a_matrix_.value_ = form.A.data
    if form.senses[level] == "max":
        lp.sense_ = highspy.ObjSense.kMaximize
    if integer and form.integer.any():
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[flag] for flag in form.integer.tolist()]
    return lp


def solve(
    form: StandardForm,
    level: int,
    run: Run,
    *,
    relax: bool = False,
    start: Vector | None = None,
    quiet: bool = False,
) -> Outcome:
    """Optimise one level of a form within the run's limits.

    Parameters
    ----------
    form, level
        What to optimise.
    run
        Limits, seed, threads, progress; an interrupt is noticed at HiGHS's next callback.
    relax
        Drop integrality; the outcome then has the row duals.
    start
        A point to start the search from.
    quiet
        Report no progress; none is reported of a relaxation either.

    Raises
    ------
    SolverFailure
        If HiGHS breaks down or answers with a status that is not on our list.
    """
    import highspy

    run.record_solver(NAME, version())
    if getattr(_workers, "count", run.threads) != run.threads:
        highspy.Highs.resetGlobalScheduler(True)  # else HiGHS refuses to run
    _workers.count = run.threads
    highs = highspy.Highs()
    callbacks = _Callbacks(run, float(form.scaled(level)[0]), quiet=quiet or relax)
    _configure(highs, run, callbacks)
    if highs.passModel(build(form, level, not relax, scaled=True)) == highspy.HighsStatus.kError:
        raise SolverFailure("HiGHS refused the model")
    rows, columns = form.shape
    if not relax and columns > max(MANY_COLUMNS, WIDE * rows):
        highs.setOptionValue("presolve", "off")
    if start is not None:
        point = highspy.HighsSolution()
        point.col_value = start.tolist()
        highs.setSolution(point)
    highs.run()
    if _status(highs) == "kUnboundedOrInfeasible":  # presolve cannot tell which; the solver can
        highs.setOptionValue("presolve", "off")
        highs.run()
    return _outcome(
        highs, form, level, relax, callbacks.start_verdict() if start is not None else None
    )


def _configure(highs: Any, run: Run, callbacks: _Callbacks) -> None:
    options = {
        "output_flag": True,
        "log_to_console": run.log,
        "threads": run.threads,
        "random_seed": run.seed % 2**31,
        "mip_rel_gap": run.gap,
        "mip_abs_gap": 1e-9,
    }
    if run.time_limit is not None:
        options["time_limit"] = run.remaining()
    for name, value in options.items():
        highs.setOptionValue(name, value)
    highs.cbLogging += callbacks.on_log
    highs.cbMipLogging += callbacks.on_progress
    highs.cbMipImprovingSolution += callbacks.on_progress
    highs.cbMipInterrupt += callbacks.on_interrupt
    highs.cbSimplexInterrupt += callbacks.on_interrupt
    highs.cbIpmInterrupt += callbacks.on_interrupt


class _Callbacks:
    """HiGHS's calls while it works: they report progress and pass on an interrupt."""

    def __init__(self, run: Run, unit: float, quiet: bool) -> None:
        self.run, self.unit, self.quiet = run, unit, quiet
        self.start_words = ""

    def on_log(self, event: Any) -> None:
        if "MIP start solution" in event.message:
            self.start_words = event.message.strip()

    def on_progress(self, event: Any) -> None:
        if not self.quiet:
            data = event.data_out
            primal, dual = data.mip_primal_bound * self.unit, data.mip_dual_bound * self.unit
            self.run.record(_finite(primal), _finite(dual))

    def on_interrupt(self, event: Any) -> None:
        if self.run.interrupted:
            event.interrupt()

    def start_verdict(self) -> Start:
        if "is feasible" in self.start_words:
            return Start(True, self.start_words)
        return Start(False, self.start_words or "HiGHS finished before it looked at the start")


def _status(highs: Any) -> str:
    return str(highs.getModelStatus().name)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _outcome(
    highs: Any, form: StandardForm, level: int, relax: bool, start: Start | None
) -> Outcome:
    name = _status(highs)
    if name == "kModelEmpty":
        return _empty(form, level)
    if name not in _VERDICTS:
        raise SolverFailure(f"HiGHS {version()} ended with {name}: {_words(highs)}")
    info = highs.getInfo()
    with_solution, without, reason = _VERDICTS[name]
    found = info.primal_solution_status == 2  # kSolutionStatusFeasible
    values = np.array(highs.getSolution().col_value) if found else None
    if name == "kOptimal" and not found:
        raise SolverFailure(f"HiGHS {version()} calls a point optimal that is not feasible")
    status = with_solution if found else without
    unit = float(form.scaled(level)[0])
    duals = None
    if relax or not form.integer.any():
        bound = form.value(level, values) if name == "kOptimal" and values is not None else None
        if name == "kOptimal":
            duals = np.array(highs.getSolution().row_dual) * unit
    else:
        bound = _finite(info.mip_dual_bound * unit)
    if status in (Status.INFEASIBLE, Status.UNBOUNDED):
        bound = None  # HiGHS leaves a 0 there
    return Outcome(
        status=status,
        reason=reason,
        message=f"{name}: {_words(highs)}",
        values=values,
        objective=form.value(level, values) if values is not None else None,
        bound=bound,
        duals=duals,
        start=start,
    )


def _empty(form: StandardForm, level: int) -> Outcome:
    """Decide a model without columns, whose rows HiGHS does not look at."""
    rows = bool(np.all((form.row_lower <= 0) & (form.row_upper >= 0)))
    solved, unsolved, reason = _VERDICTS["kModelEmpty" if rows else "kInfeasible"]
    value = form.offsets[level] if rows else None
    return Outcome(
        status=solved if rows else unsolved,
        reason=reason,
        message="kModelEmpty: Empty",
        values=form.lower.copy() if rows else None,
        objective=value,
        bound=value,
        duals=np.zeros(form.shape[0]) if rows else None,
    )


def _words(highs: Any) -> str:
    return str(highs.modelStatusToString(highs.getModelStatus()))

"""Back end for HiGHS, called in process."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from dlsched.errors import SolverFailure
from dlsched.result import Start, Termination
from dlsched.run import Run
from dlsched.solvers.outcome import Outcome, Vector
from dlsched.solvers.standard_form import StandardForm

logger = logging.getLogger(__name__)

NAME = "highs"

# HiGHS's model statuses by name. Any other one is a failure of HiGHS or an invalid model.
_TERMINATIONS = {
    "kOptimal": Termination.PROVED,
    "kInfeasible": Termination.INFEASIBLE,
    "kUnbounded": Termination.UNBOUNDED,
    "kTimeLimit": Termination.TIME_LIMIT,
    "kIterationLimit": Termination.ITERATION_LIMIT,
    "kSolutionLimit": Termination.SOLUTION_LIMIT,
    "kMemoryLimit": Termination.MEMORY_LIMIT,
    "kObjectiveBound": Termination.OBJECTIVE_LIMIT,
    "kObjectiveTarget": Termination.OBJECTIVE_LIMIT,
    "kInterrupt": Termination.INTERRUPTED,
    "kHighsInterrupt": Termination.INTERRUPTED,
    "kUnknown": Termination.UNDECIDED,
}

MANY_COLUMNS, WIDE = 100_000, 1000
"""Integer programs with more columns, and more columns per row, are solved without presolve, which
takes minutes there (48 rows, 194,580 columns), ignores the time limit and removes nothing."""

_SUB_PROGRAMS = (
    "mip_heuristic_run_rens",
    "mip_heuristic_run_rins",
    "mip_heuristic_run_root_reduced_cost",
    "mip_allow_restart",
)
"""Options of HiGHS: searches for solutions in smaller integer programs, and restarts."""

_scheduler = threading.local()
"""``threads``: the size of HiGHS's thread pool, of which it has one for each calling thread."""


@cache
def version() -> str:
    """Return the version of HiGHS."""
    import highspy

    return str(highspy.Highs().version())


def use_threads(threads: int) -> None:
    """Make HiGHS ready for a number of threads: with a pool of another size it refuses to run."""
    import highspy

    if getattr(_scheduler, "threads", threads) != threads:
        highspy.Highs.resetGlobalScheduler(True)
    _scheduler.threads = threads


def validate_limits(run: Run) -> None:
    """Do nothing: HiGHS has every limit of a run."""


def build(form: StandardForm, level: int, integer: bool = True, conditioned: bool = False) -> Any:
    """Return a ``highspy.HighsLp`` of one level, in the unit of `conditioned` or its own."""
    import highspy

    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = form.shape
    lp.col_cost_, lp.offset_ = form.costs[level], form.offsets[level]
    if conditioned:
        _, lp.col_cost_, lp.offset_ = form.conditioned(level)
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
    sub_programs: bool = True,
    quiet: bool = False,
    nodes: int | None = None,
    target: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Outcome:
    """Optimize one level; see `Backend.solve`.

    An interrupt takes effect at HiGHS's next callback. With `relax`, integrality is dropped, the
    outcome has the row duals, and no progress is recorded. `nodes` limits the branch-and-bound
    tree: unlike a time limit, the same on every machine. A solution at least as good as `target`,
    an objective, is the end of an integer program. Without `sub_programs` HiGHS neither seeks
    solutions in smaller integer programs nor restarts at the root. `options` are more of its own.
    """
    import highspy

    run.record_solver(NAME, version())
    use_threads(run.threads)
    highs = highspy.Highs()
    callbacks = _Callbacks(run, float(form.conditioned(level)[0]), quiet=quiet or relax)
    _configure(highs, run, callbacks)
    lp = build(form, level, not relax, conditioned=True)
    if highs.passModel(lp) == highspy.HighsStatus.kError:
        raise SolverFailure("HiGHS rejected the model")
    if nodes is not None:
        highs.setOptionValue("mip_max_nodes", nodes)
    if target is not None:
        highs.setOptionValue("objective_target", target / float(form.conditioned(level)[0]))
    rows, columns = form.shape
    if not relax and columns > max(MANY_COLUMNS, WIDE * rows):
        logger.info("no presolve: it would take minutes with %d rows and columns %d", rows, columns)
        highs.setOptionValue("presolve", "off")
    if start is not None:
        point = highspy.HighsSolution()
        point.col_value = start.tolist()
        highs.setSolution(point)
    if not sub_programs:
        for name in _SUB_PROGRAMS:
            highs.setOptionValue(name, False)
    for name, value in (options or {}).items():
        highs.setOptionValue(name, value)
    highs.run()
    if _status(highs) == "kUnboundedOrInfeasible":  # presolve cannot tell which; the solver can
        highs.setOptionValue("presolve", "off")
        highs.run()
    return _outcome(highs, form, level, relax, callbacks.start() if start is not None else None)


def interior_point(form: StandardForm, level: int, run: Run) -> Outcome:
    """Solve the linear relaxation of one level by interior point, without crossover.

    Much faster than the simplex method on large relaxations, and less exact: values and duals are
    those with which HiGHS ended, whatever its status, and no bound is stated. `dual_bound` makes a
    bound of the duals.
    """
    import highspy

    run.record_solver(NAME, version())
    if getattr(_scheduler, "threads", run.threads) != run.threads:
        highspy.Highs.resetGlobalScheduler(True)  # else HiGHS refuses to run
    _scheduler.threads = run.threads
    highs = highspy.Highs()
    _configure(highs, run, _Callbacks(run, 1.0, quiet=True))
    highs.setOptionValue("solver", "ipm")
    highs.setOptionValue("run_crossover", "off")
    if highs.passModel(build(form, level, False, conditioned=True)) == highspy.HighsStatus.kError:
        raise SolverFailure("HiGHS rejected the model")
    highs.run()
    name = _status(highs)
    if name not in _TERMINATIONS:
        return _outcome(highs, form, level, True, None)
    solution, values, duals = highs.getSolution(), None, None
    if solution.value_valid:
        values = np.array(solution.col_value)
    if solution.dual_valid:
        duals = np.array(solution.row_dual) * float(form.conditioned(level)[0])
    objective = None if values is None else form.value(level, values)
    message = f"{name} by interior point"
    return Outcome(NAME, _TERMINATIONS[name], message, values, objective, None, duals)


def _configure(highs: Any, run: Run, callbacks: _Callbacks) -> None:
    options = {
        "output_flag": True,
        "log_to_console": run.log,
        "threads": run.threads,
        "random_seed": run.seed % 2**31,
        "mip_rel_gap": run.gap,
        "mip_abs_gap": 1e-9,
        # By default a model with a coefficient of 1e15 is refused, the largest that a document has.
        "large_matrix_value": 1e30,
    }
    if run.time_limit is not None:
        options["time_limit"] = run.remaining()
    for name, value in options.items():
        highs.setOptionValue(name, value)
    highs.cbLogging += callbacks.on_log
    for event in (highs.cbMipLogging, highs.cbMipImprovingSolution):
        event.subscribe(callbacks.on_progress)
    for event in (highs.cbMipInterrupt, highs.cbSimplexInterrupt, highs.cbIpmInterrupt):
        event.subscribe(callbacks.on_interrupt)


class _Callbacks:
    """HiGHS's callbacks: they record progress and pass on an interrupt."""

    def __init__(self, run: Run, unit: float, quiet: bool) -> None:
        self.run, self.unit, self.quiet = run, unit, quiet
        self.start_message = ""

    def on_log(self, event: Any) -> None:
        if "MIP start solution" in event.message:
            self.start_message = event.message.strip()

    def on_progress(self, event: Any) -> None:
        if not self.quiet:
            data = event.data_out
            primal, dual = data.mip_primal_bound * self.unit, data.mip_dual_bound * self.unit
            self.run.record(_finite(primal), _finite(dual))

    def on_interrupt(self, event: Any) -> None:
        if self.run.interrupted:
            event.interrupt()

    def start(self) -> Start:
        if "is feasible" in self.start_message:
            return Start(True, self.start_message)
        return Start(False, self.start_message or "HiGHS finished before it read the start")


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
    message = f"{name}: {highs.modelStatusToString(highs.getModelStatus())}"
    if name not in _TERMINATIONS:
        raise SolverFailure(f"HiGHS {version()} ended with {message}")
    info = highs.getInfo()
    found = info.primal_solution_status == 2  # kSolutionStatusFeasible
    termination = _TERMINATIONS[name]
    proved = termination is Termination.PROVED
    if proved and not found:
        raise SolverFailure(f"HiGHS {version()} calls a point optimal that is not feasible")
    values = np.array(highs.getSolution().col_value) if found else None
    objective = None if values is None else form.value(level, values)
    unit = float(form.conditioned(level)[0])
    bound, duals = None, None
    if relax or not form.integer.any():
        if proved:
            bound, duals = objective, np.array(highs.getSolution().row_dual) * unit
    elif termination not in (Termination.INFEASIBLE, Termination.UNBOUNDED):  # 0 after these
        bound = _finite(info.mip_dual_bound * unit)
    return Outcome(NAME, termination, message, values, objective, bound, duals, start)


def _empty(form: StandardForm, level: int) -> Outcome:
    """Return the outcome of a form without columns, whose rows HiGHS does not check."""
    message = "kModelEmpty: Empty"
    if np.any((form.row_lower > 0) | (form.row_upper < 0)):
        return Outcome(NAME, Termination.INFEASIBLE, message)
    value = form.offsets[level]
    duals = np.zeros(form.shape[0])
    return Outcome(NAME, Termination.PROVED, message, form.lower.copy(), value, value, duals)

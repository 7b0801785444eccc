"""Back end for HiGHS, called in process."""

import logging
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dlsched.errors import OptionError, SolverFailure, spelled
from dlsched.results.result import Start, Termination
from dlsched.run import Run
from dlsched.solvers.outcome import HIGHS, Outcome, Vector
from dlsched.solvers.session import EMPTY, NAME, Session, version
from dlsched.solvers.standard_form import StandardForm

__all__ = ["NAME", "interior_point", "load", "solve", "validate_limits", "version"]

logger = logging.getLogger(__name__)

MANY_COLUMNS = 100_000
"""Integer programs with more columns, and more than `WIDE` per row, are solved without presolve,
which takes minutes there (48 rows, 194,580 columns), ignores the time limit and removes nothing."""
WIDE = 1000

_SUB_PROGRAMS = (
    "mip_heuristic_run_rens",
    "mip_heuristic_run_rins",
    "mip_heuristic_run_root_reduced_cost",
    "mip_allow_restart",
)
"""Options of HiGHS: searches for solutions in smaller integer programs, and restarts."""


_DIFFERENCE = 1e-6
"""Values that differ by more, relative to the larger of unit and value, are not the same."""


def validate_limits(run: Run) -> None:
    """Do nothing: HiGHS has every limit of a run (`session` passes the time)."""


def load(session: Session, form: StandardForm, level: int, integer: bool = True) -> None:
    """Pass one level to HiGHS, in the unit of `StandardForm.conditioned`."""
    _, costs, offset = form.conditioned(level)
    session.load(
        form.A,
        costs,
        (form.lower, form.upper),
        (form.row_lower, form.row_upper),
        maximize=form.senses[level] == "max",
        offset=offset,
        integer=form.integer if integer else None,
    )


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
    basis: Any = None,
    keep_basis: bool = False,
) -> Outcome:
    """Optimize one level; see `Backend.solve`.

    An interrupt takes effect at HiGHS's next callback. With `relax`, integrality is dropped, the
    outcome has the row duals, and no progress is recorded. `nodes` limits the branch-and-bound
    tree: unlike a time limit, the same on every machine. A solution at least as good as `target`,
    an objective, is the end of an integer program. Without `sub_programs` HiGHS neither seeks
    solutions in smaller integer programs nor restarts at the root. `options` are more of its own.
    A relaxation begins from `basis`, if it is given, and the outcome has its own if `keep_basis`.
    """
    unit = float(form.conditioned(level).unit)
    callbacks = _Callbacks(run, unit, quiet=quiet or relax)
    session = Session(run, _options(run) | dict(options or {}))
    callbacks.subscribe(session)
    if not (relax or quiet):
        _set_given(session, run)
    load(session, form, level, not relax)
    if nodes is not None:
        session.set("mip_max_nodes", nodes)
    if target is not None:
        session.set("objective_target", target / unit)
    rows, columns = form.shape
    if not relax and columns > max(MANY_COLUMNS, WIDE * rows):
        logger.info("no presolve: it would take minutes with %d rows and columns %d", rows, columns)
        session.set("presolve", "off")
    if basis is not None:
        session.start_from_basis(basis)
    if start is not None:
        session.start_from(start)
    if not sub_programs:
        for name in _SUB_PROGRAMS:
            session.set(name, False)
    session.solve()
    if start is None:
        outcome = _outcome(session, form, level, relax, None)
        return replace(outcome, basis=session.basis) if keep_basis else outcome
    outcome = _outcome(session, form, level, relax, callbacks.start())
    if outcome.objective is None or _states(session, outcome.objective, unit):
        return outcome
    logger.info("HiGHS returns a point of another value than it states: again without the start")
    session.solver.clearSolver()
    session.solve()
    return _outcome(session, form, level, relax, Start(False, "HiGHS mistook its value"))


def interior_point(
    form: StandardForm,
    level: int,
    run: Run,
    threads: int | None = None,
    accuracy: float | None = None,
) -> Outcome:
    """Solve the linear relaxation of one level by interior point, without crossover.

    Much faster than the simplex method on large relaxations, and less exact: values and duals are
    those with which HiGHS ended, whatever its status, and no bound is stated. `dual_bound` makes a
    bound of the duals. `threads` are the run's by default, `accuracy`, the relative difference of
    both objectives at the end, is HiGHS's.
    """
    method: dict[str, Any] = {"solver": "ipm", "run_crossover": "off"}
    if accuracy is not None:
        method["ipm_optimality_tolerance"] = accuracy
    session = Session(run, _options(run) | method, threads=threads)
    load(session, form, level, False)
    name = session.solve()
    if name not in HIGHS:
        return _outcome(session, form, level, True, None)
    solution = session.solver.getSolution()
    outcome = Outcome(NAME, HIGHS[name], f"{name} by interior point")
    if solution.value_valid:
        values = np.array(solution.col_value)
        outcome = replace(outcome, values=values, objective=form.value(level, values))
    if solution.dual_valid:
        unit = float(form.conditioned(level).unit)
        outcome = replace(outcome, duals=np.array(solution.row_dual) * unit)
    return outcome


def _states(session: Session, value: float, unit: float) -> bool:
    """Whether HiGHS states the value that its point has.

    HiGHS 1.16 may return the start with the value that it has after presolve, which is another one
    if presolve has removed points, and then calls it optimal.
    """
    stated = session.solver.getInfo().objective_function_value * unit
    return bool(abs(stated - value) <= _DIFFERENCE * max(unit, abs(value)))


def _set_given(session: Session, run: Run) -> None:
    """Set the options that the caller passes to the solver of the whole model.

    `OptionError` is raised if HiGHS has no such option or value.
    """
    for name, value in run.solver_options.items():
        try:
            session.set(name, value)
        except SolverFailure:
            raise OptionError(
                f"HiGHS {version()} has no option {name!r}, or not the value {spelled(value)}; "
                "see highs.dev for its options"
            ) from None
    run.options_used = True


def _options(run: Run) -> dict[str, Any]:
    return {
        "output_flag": True,  # also for `_Callbacks`
        "log_to_console": run.log,
        "random_seed": run.seed % 2**31,
        "mip_rel_gap": run.gap,
        "mip_abs_gap": 1e-9,
    }


class _Callbacks:
    """HiGHS's callbacks: they record progress and what becomes of the start."""

    def __init__(self, run: Run, unit: float, quiet: bool) -> None:
        self.run = run
        self.unit = unit
        self.quiet = quiet
        self.start_message = ""

    def subscribe(self, session: Session) -> None:
        session.listen("cbLogging", self.on_log)
        for event in ("cbMipLogging", "cbMipImprovingSolution"):
            session.listen(event, self.on_progress)

    def on_log(self, event: Any) -> None:
        if "MIP start solution" in event.message:
            self.start_message = event.message.strip()

    def on_progress(self, event: Any) -> None:
        if not self.quiet:
            data = event.data_out
            self.run.record(data.mip_primal_bound * self.unit, data.mip_dual_bound * self.unit)

    def start(self) -> Start:
        if "is feasible" in self.start_message:
            return Start(True, self.start_message)
        return Start(False, self.start_message or "HiGHS finished before it read the start")


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _outcome(
    session: Session, form: StandardForm, level: int, relax: bool, start: Start | None
) -> Outcome:
    name, highs, message = session.status, session.solver, session.message
    if name == EMPTY:
        return _empty(form, level)
    info = highs.getInfo()
    feasible = info.primal_solution_status == 2  # kSolutionStatusFeasible
    termination = HIGHS[name]
    proved = termination is Termination.PROVED
    if proved and not feasible:  # the point is not feasible by its own tolerances
        termination = Termination.TOLERANCES
    values = np.array(highs.getSolution().col_value) if feasible else None
    objective = None if values is None else form.value(level, values)
    unit = float(form.conditioned(level).unit)
    bound, duals = None, None
    if relax or not form.integer.any():
        if proved and info.dual_solution_status != 0:
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

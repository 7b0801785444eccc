"""Back end for CP-SAT of OR-Tools, which takes programs of integers only."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from dlsched.errors import OptionError, SolverMissing, describe
from dlsched.results.result import Start, Termination
from dlsched.run import Run
from dlsched.solvers.outcome import Outcome, Vector
from dlsched.solvers.standard_form import StandardForm

NAME = "cp_sat"
_FAR = 2**63 - 1
"""A side of a row that CP-SAT takes for none, and its largest number."""
_PARTS = 10**9
"""A row's largest number in whole parts, where it is no row of few digits; a level's costs too."""
_DIGITS = 10**6
_KEPT = 10**15
"""Fewer units than this of a decimal are as they were written."""
_ULP = Fraction(1, 2**52)


class CpSat:
    """CP-SAT, in process; see `Backend`."""

    def __init__(self) -> None:
        import highspy._core  # noqa: F401  (OR-Tools has a HiGHS of its own; the first one stays)

        try:
            from ortools import __version__
            from ortools.sat.python import cp_model
        except ImportError as error:
            raise SolverMissing(
                f"the solver 'cp_sat' is not installed here ({describe(error)}); get it with: "
                "pip install 'dlsched[cp_sat]' (solver='highs' comes with dlsched)"
            ) from None
        self.cp, self.version = cp_model, str(__version__)

    def validate_limits(self, run: Run) -> None:
        """Do nothing: CP-SAT has every limit of a run."""

    def solve(
        self, form: StandardForm, level: int, run: Run, *, start: Vector | None = None, **_: bool
    ) -> Outcome:
        """Optimize one level; see `Backend.solve`. No progress is recorded."""
        if not (form.integer & np.isfinite(_most(form))).all():
            raise OptionError(
                "CP-SAT takes integers only, with bounds, and this model has other columns"
            )
        run.record_solver(NAME, self.version)
        model = self.cp.CpModel()
        columns = [
            model.new_int_var_from_domain(self.cp.Domain(math.ceil(low), math.floor(high)), "")
            for low, high in zip(form.lower.tolist(), form.upper.tolist(), strict=True)
        ]
        self._add_rows(model, form, columns)
        unit, costs, error = _whole(form.scaled(level).costs, _most(form))
        cost = self.cp.LinearExpr.weighted_sum(columns, costs)
        (model.minimize if form.senses[level] == "min" else model.maximize)(cost)
        for column, value in zip(columns, () if start is None else start.tolist(), strict=False):
            model.add_hint(column, round(value))
        solver = self._solver(run)
        status = solver.status_name(solver.solve(model))
        found = status in ("OPTIMAL", "FEASIBLE")
        values = np.array([solver.value(x) for x in columns], dtype=float) if found else None
        scaled = form.scaled(level)
        bound = None
        if found:  # else CP-SAT says 0
            loose = Fraction(solver.best_objective_bound) * unit - form.sign(level) * error
            bound = float(Fraction(scaled.unit) * (loose + Fraction(scaled.offset)))
        return Outcome(
            solver=NAME,
            termination=_termination(status, run),
            message=status.lower(),
            values=values,
            objective=None if values is None else form.value(level, values),
            bound=bound,
            start=None if start is None else Start(True, "passed to cp_sat as a hint"),
        )

    def _add_rows(self, model: Any, form: StandardForm, columns: list[Any]) -> None:
        """Add the rows in whole numbers; where digits are lost, a row is wider than it was."""
        A, most = form.A.tocsr(), _most(form)
        for i, sides in enumerate(zip(form.row_lower, form.row_upper, strict=True)):
            part = slice(A.indptr[i], A.indptr[i + 1])
            unit, whole, error = _whole(A.data[part], most[A.indices[part]], sides)
            low, high = (_decimal(side) if np.isfinite(side) else None for side in sides)
            row = self.cp.LinearExpr.weighted_sum([columns[j] for j in A.indices[part]], whole)
            model.add_linear_constraint(
                row,
                -_FAR if low is None else _near(math.ceil((low - error) / unit)),
                _FAR if high is None else _near(math.floor((high + error) / unit)),
            )

    def _solver(self, run: Run) -> Any:
        """Return a solver with the run's limits and options."""
        solver = self.cp.CpSolver()
        options: dict[str, Any] = {
            "num_workers": run.threads or 0,
            "random_seed": run.seed % (2**31 - 1),
            "relative_gap_limit": run.gap,
            "log_search_progress": run.log,
        }
        if run.time_limit is not None:
            options["max_time_in_seconds"] = max(run.remaining(), 0.01)
        run.options_used = True
        for name, value in (options | dict(run.solver_options)).items():
            try:
                setattr(solver.parameters, name, value)
            except (AttributeError, TypeError, ValueError):
                raise OptionError(
                    f"CP-SAT takes no {name}={value!r}; its SatParameters say which it takes"
                ) from None
        return solver


def _most(form: StandardForm) -> Vector:
    """Return the largest absolute value of each column."""
    largest: Vector = np.maximum(np.abs(form.lower), np.abs(form.upper))
    return largest


def _whole(
    numbers: Vector, most: Vector, sides: tuple[float, ...] = ()
) -> tuple[Fraction, list[int], Fraction]:
    """Return a unit, numbers in whole units, and what their sum of products may be off by.

    Decimals of few digits are whole in the unit of their last digit, and nothing is off. Others may
    have been rounded before, and the sides, too.
    """
    exact = [_decimal(a) for a in numbers]
    shown = [_decimal(side) for side in sides if np.isfinite(side)]
    common = math.lcm(*(a.denominator for a in [*exact, *shown]))
    if common <= _DIGITS and max(map(abs, [*exact, *shown]), default=0) * common < _KEPT:
        return Fraction(1, common), [int(a * common) for a in exact], Fraction(0)
    unit = max(map(abs, exact), default=Fraction(1)) / _PARTS or Fraction(1)
    whole = [round(a / unit) for a in exact]
    lost = [abs(a - w * unit) + abs(a) * _ULP for a, w in zip(exact, whole, strict=True)]
    terms = (a * Fraction(m) for a, m in zip(lost, most.tolist(), strict=True))
    return unit, whole, sum(terms, max(map(abs, shown), default=Fraction(0)) * _ULP)


def _decimal(number: float) -> Fraction:
    """Return a number as it is written."""
    return Fraction(repr(float(number)))


def _near(side: int) -> int:
    """Return a row's side that CP-SAT can take."""
    return max(-_FAR, min(side, _FAR))


def _termination(status: str, run: Run) -> Termination:
    """Return why CP-SAT stopped."""
    if status in ("OPTIMAL", "INFEASIBLE"):
        return Termination.PROVED if status == "OPTIMAL" else Termination.INFEASIBLE
    if status == "MODEL_INVALID":
        raise OptionError("CP-SAT refuses the model: its numbers are too large; use highs")
    return Termination.UNDECIDED if run.time_limit is None else Termination.TIME_LIMIT

"""Solve a model level by level, each with the earlier ones held, and gather the bounds.

This is the body of every problem's ``milp``: build, compile, and for each level solve the linear
relaxation (whose duals give a certified bound), then the integer program if the two differ.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from dlsched.errors import OptionError, SolverDisagreement
from dlsched.objective import SOLVER_PRECISION, TOLERANCE, Bound, relative_gap
from dlsched.result import Claim, Start, Status
from dlsched.run import Run
from dlsched.schema import Instance, Number, Solution
from dlsched.solvers import highs, pyomo_backend
from dlsched.solvers.certificate import dual_bound, round_to_granularity
from dlsched.solvers.fixing import without_idle
from dlsched.solvers.iis import compute_iis
from dlsched.solvers.outcome import Outcome, Vector
from dlsched.solvers.standard_form import StandardForm, compile_model

SOLVER_LIBRARIES = ("highspy", "pyomo.repn.plugins.standard_form")
"""What a method that solves a model preloads."""
_SLACK = 1e-6
"""Relative slack granted to a solver's bound before it is rounded to the grid."""
_REDUCED_COST = 1e-7
"""A solver's tolerance on reduced costs, in the unit that it sees."""
_FAR, _ROUNDS = 2.0**10, 4
"""How far above an optimum the largest cost must be for the level to be solved again without the
columns that cost more, and how often."""
_INTEGRAL_VERTEX = 1e-9
"""How far from whole numbers the relaxation's vertex may be to be taken for a solution."""


def solve_levels(instance: Instance, run: Run, model: Any, depth: int | None = None) -> Claim:
    """Solve an instance's model lexicographically.

    Parameters
    ----------
    instance, run
        What to solve, and the limits.
    model
        The problem's ``model`` module: ``build(instance)``, ``read(instance, model)`` and
        ``assign(instance, model, solution)``.
    depth
        Number of levels to solve; all by default.
    """
    began = time.perf_counter()
    if run.solver != highs.NAME:
        pyomo_backend.validate_solver(run.solver, run)  # now rather than after minutes
    built = _build(instance, model)
    if isinstance(built, Claim):
        return built
    pyomo_model, form = built
    start = None
    if run.start is not None:
        model.assign(instance, pyomo_model, run.start)
        start = form.point()
    if depth is not None and not (isinstance(depth, int) and 1 <= depth <= len(form.costs)):
        raise OptionError(f"levels={depth} must be from 1 to {len(form.costs)}")

    def canonical(values: Vector) -> Vector:
        """Return the point that the solution read off another point has in the model.

        Auxiliary variables whose cost is within the solver's tolerances may be off in the point.
        """
        form.load(values)
        model.assign(instance, pyomo_model, model.read(instance, pyomo_model))
        point = form.point()
        return values if point is None else point

    search = _Search(run, pyomo_model, form, start, time.perf_counter() - began, canonical)
    claim = search.descend(len(form.costs) if depth is None else depth)
    if search.incumbent is None:
        return claim()
    search.form.load(search.incumbent)
    return claim(solution=model.read(instance, pyomo_model))


def relax_first_level(instance: Instance, run: Run, model: Any) -> Claim:
    """Return the bound that the linear relaxation of level 1 gives, re-checked from its duals."""
    began = time.perf_counter()
    built = _build(instance, model)
    if isinstance(built, Claim):
        return built
    pyomo_model, form = built
    search = _Search(run, pyomo_model, form, None, time.perf_counter() - began, lambda x: x)
    search.bounds.append([])
    outcome = search.relax(0)
    reason = (outcome.reason if outcome else "") or "bound only"
    return Claim(
        status=Status.NO_SOLUTION,
        reason=reason,
        bounds=search.bounds,
        build_seconds=search.build_seconds,
    )


def _build(instance: Instance, model: Any) -> tuple[Any, StandardForm] | Claim:
    """Build and compile; return a verdict if a constraint without variables is false already.

    The garbage collector would double the time for nothing.
    """
    from pyomo.common.errors import InfeasibleConstraintException

    enabled = gc.isenabled()
    gc.disable()
    try:
        pyomo_model = model.build(instance)
        return pyomo_model, compile_model(pyomo_model)
    except InfeasibleConstraintException as error:
        return Claim(status=Status.INFEASIBLE, reason=str(error))
    finally:
        if enabled:
            gc.enable()


def blame(names: list[str]) -> str:
    """Say why a model is infeasible, given an irreducible set of its constraints."""
    if not names:
        return "the variables' bounds and domains alone have no solution"
    return f"these constraints contradict each other: {', '.join(names)}"


class _Search:
    """The state between the levels: the form with the rows that hold, the incumbent, the bounds."""

    def __init__(
        self,
        run: Run,
        model: Any,
        form: StandardForm,
        start: Vector | None,
        build_seconds: float,
        canonical: Callable[[Vector], Vector],
    ) -> None:
        self.run, self.model, self.form = run, model, form
        self.canonical = canonical
        self.duals: Vector = np.zeros(form.shape[0])
        self.point = self.incumbent = start  # the checker has accepted it
        self.bounds: list[list[Bound]] = []
        self.verdict: Start | None = None
        self.message = ""
        self.build_seconds = build_seconds

    def descend(self, depth: int) -> Callable[..., Claim]:
        status, reason = Status.OPTIMAL, "proved optimal"
        proved: list[float] = []
        for level in range(depth):
            outcome = self.solve_level(level)
            self.message = outcome.message
            if outcome.values is not None:
                self.incumbent = self.point = self.settle(level, outcome.values)
            if outcome.status is not Status.OPTIMAL:
                status, reason = self.stopped(outcome, level, depth)
                break
            # Only a proved value is claimed: an early incumbent's auxiliaries may be slack.
            assert self.incumbent is not None
            proved.append(self.form.value(level, self.incumbent))
            left = self.proved_gap(level, proved[-1])
            if left > self.run.gap + TOLERANCE:
                status = Status.FEASIBLE
                reason = f"{self.run.solver}'s tolerances leave a gap of {left:.3g}"
                break
            if level + 1 < len(self.form.costs):
                self.hold(level, proved[-1])
        levels = len(self.form.costs)
        if status is Status.OPTIMAL and depth < levels:
            status, reason = Status.FEASIBLE, f"only {depth} of {levels} levels asked for"

        def claim(solution: Solution | None = None) -> Claim:
            return Claim(
                solution=solution,
                status=status,
                reason=reason,
                objective=proved,
                bounds=self.bounds,
                solver_message=self.message,
                build_seconds=self.build_seconds,
                start=self.verdict,
            )

        return claim

    def stopped(self, outcome: Outcome, level: int, depth: int) -> tuple[Status, str]:
        """Say what it means that a level was not solved to its end."""
        where = f" at level {level + 1} of {depth}" if depth > 1 else ""
        if outcome.status is Status.INFEASIBLE and level == 0:
            if self.incumbent is not None:
                raise SolverDisagreement(
                    f"{self.run.solver} calls the model infeasible; the checker accepts the start"
                )
            return outcome.status, blame(compute_iis(self.form, self.run))
        if outcome.status is not Status.UNBOUNDED and self.incumbent is not None:
            # An earlier level's solution, or the start, stands.
            return Status.FEASIBLE, outcome.reason + where
        return outcome.status, outcome.reason + where

    def settle(self, level: int, values: Vector) -> Vector:
        """Return the canonical form of a point, or the point if that would make the level worse."""
        rounded = np.where(self.form.integer, np.rint(values), values)
        point = self.canonical(rounded)
        mine, theirs = self.form.value(level, point), self.form.value(level, rounded)
        loss = mine - theirs if self.form.senses[level] == "min" else theirs - mine
        return point if loss <= SOLVER_PRECISION * max(abs(mine), abs(theirs)) else rounded

    def solve_level(self, level: int) -> Outcome:
        """Solve a level; again, without the columns that no optimum uses, if these cost far more.

        A solver's tolerances are relative to the largest cost that it sees, so an optimum far below
        that is lost in them. Each time, the first solution and the duals show which columns can be
        fixed, and the tolerances are then relative to the costs that are left.
        """
        whole = self.form
        outcome = self.solve_once(level)
        for _ in range(_ROUNDS):
            values = outcome.values if outcome.status is Status.OPTIMAL else None
            if values is None:
                break
            value = whole.value(level, self.settle(level, values))
            if self.proved_gap(level, value) <= SOLVER_PRECISION:
                break
            self.form, largest = without_idle(self.form, level, value, self.duals), self.form
            if np.abs(largest.costs[level]).max() < _FAR * np.abs(self.form.costs[level]).max():
                break
            coarse = self.bounds.pop()
            again = self.solve_once(level)
            if again.status is not Status.OPTIMAL:  # a limit: what was found first stands
                self.bounds[level] = coarse
                break
            outcome = again
        self.form = whole
        return outcome

    def proved_gap(self, level: int, value: float) -> float:
        """Return the gap of a value to the strongest bound of its level."""
        bounds = [float(bound.value) for bound in self.bounds[level]]
        pick = max if self.form.senses[level] == "min" else min
        return relative_gap(value, pick(bounds)) if bounds else 1.0

    def solve_once(self, level: int) -> Outcome:
        """Solve the relaxation, then the integer program unless the relaxation answered it."""
        self.bounds.append([])
        relaxed = self.relax(level)
        if relaxed is not None:
            if level == 0 and self.run.start is not None:
                self.verdict = Start(False, f"{relaxed.reason} before the search began")
            return relaxed
        start = self.point
        if self.run.solver == highs.NAME:
            outcome = highs.solve(self.form, level, self.run, start=start)
        else:
            outcome = pyomo_backend.solve(
                self.run.solver, self.model, self.form, level, self.run, start
            )
        if level == 0:
            self.verdict = outcome.start if self.run.start is not None else None
        if outcome.bound is not None:
            self.claim_bound(level, outcome.bound)
        return outcome

    def relax(self, level: int) -> Outcome | None:
        """Solve the linear relaxation and re-check its bound; return it if it settles the level."""
        outcome = highs.solve(self.form, level, self.run, relax=True)
        solved = outcome.duals is not None
        self.duals = outcome.duals if outcome.duals is not None else np.zeros(self.form.shape[0])
        certified = dual_bound(self.form, level, self.duals)
        if certified is not None:
            value = round_to_granularity(
                certified, self.form.granularities[level], self.form.senses[level]
            )
            how = "dual vector of the LP" if solved else "bounds of the variables"
            self.bounds[level].append(Bound(value, "certified", how))
        if outcome.status is Status.INFEASIBLE:
            return outcome
        if self.run.solver == highs.NAME and self.integral(outcome):
            assert outcome.bound is not None
            self.claim_bound(level, outcome.bound)
            return outcome
        stop = self.run.stop_reason()
        if stop and outcome.status is not Status.OPTIMAL:
            return Outcome(Status.NO_SOLUTION, stop, outcome.message)
        return None

    def integral(self, outcome: Outcome) -> bool:
        """Whether the relaxation's optimum is a solution already, so that no search is needed."""
        if outcome.status is not Status.OPTIMAL or outcome.values is None or self.run.start:
            return False
        x = outcome.values[self.form.integer]
        return bool(np.all(np.abs(x - np.rint(x)) < _INTEGRAL_VERTEX))

    def claim_bound(self, level: int, bound: float) -> None:
        """Note the solver's bound, weakened by the tolerances that it rests on.

        Where the level's values lie on a grid that is coarser, the bound is one of them; elsewhere
        it is right to nine digits and stays a floating-point number.
        """
        form, sense = self.form, self.form.senses[level]
        sign = 1 if sense == "max" else -1
        unit = float(form.scaled(level)[0]) if self.run.solver == highs.NAME else 1.0
        slack = Fraction(_SLACK) * Fraction(max(unit, abs(bound)))
        inner = Fraction(bound) + sign * slack
        value: Number | float
        if form.granularities[level] > 2 * slack:
            value = round_to_granularity(inner, form.granularities[level], sense)
        elif self.below_any_cost(level, inner):
            value = round_to_granularity(Fraction(form.offsets[level]), Fraction(0), sense)
        else:
            value = bound + sign * (SOLVER_PRECISION * abs(bound) + _REDUCED_COST * unit)
        self.bounds[level].append(Bound(value, "claimed", self.run.solver))

    def below_any_cost(self, level: int, bound: Fraction) -> bool:
        """Whether the level's value is its constant: nothing that costs anything can be bought."""
        form, costs = self.form, self.form.costs[level]
        paid = costs != 0
        whole = form.senses[level] == "max" and np.all(costs >= 0) and np.all(form.lower >= 0)
        if not whole or not np.all(form.integer[paid]):
            return False
        return bound - Fraction(form.offsets[level]) < Fraction(float(costs[paid].min(initial=1)))

    def hold(self, level: int, value: float) -> None:
        """Keep a solved level from getting worse, in the form and in the model."""
        import pyomo.environ as pyo

        objective = list(self.model.component_data_objects(pyo.Objective))[level]
        name = objective.name
        if not self.form.costs[level].any():
            return  # a constant cannot get worse, and some solvers refuse a row without variables
        # A row has one tolerance for costs of all sizes, so columns that alone break it are fixed.
        self.form = without_idle(self.form, level, value, self.duals).held(level, value, name)
        if self.run.solver != highs.NAME:
            low = self.form.senses[level] == "min"
            limit = objective.expr <= value if low else objective.expr >= value
            self.model.add_component(f"hold_{name}", pyo.Constraint(expr=limit))

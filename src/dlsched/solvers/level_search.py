"""The search of a lexicographic optimization: one level after the other, with bounds for each.

For each level the linear relaxation is solved, whose duals give a certified bound, then the integer
program unless the relaxation's optimum is integral or the best solution so far attains the bound.
The next levels hold the level at its optimum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from dlsched.errors import SolverDisagreement
from dlsched.results.objective import SOLVER_PRECISION, TOLERANCE, Bound, at_bound, relative_gap
from dlsched.results.result import Claim, Start, Status, Termination
from dlsched.run import Run, Stage
from dlsched.schema.envelope import Instance
from dlsched.schema.quantities import Number
from dlsched.schema.solution import Solution
from dlsched.solvers import highs
from dlsched.solvers.backend import Backend
from dlsched.solvers.certificate import (
    below_any_cost,
    claimed_bound,
    dual_bound,
    round_to_granularity,
)
from dlsched.solvers.earlier import Earlier
from dlsched.solvers.exact_levels import ExactLevels
from dlsched.solvers.fixing import fix_by_reduced_cost
from dlsched.solvers.iis import infeasibility_reason
from dlsched.solvers.outcome import Outcome, Vector
from dlsched.solvers.precision import (
    BEYOND_PRECISION,
    is_integral,
    precision_reason,
    undecided_gap,
    undecided_row,
)
from dlsched.solvers.standard_form import StandardForm

_COST_RATIO = 2.0**10
"""A level is solved again if fixing columns divides its largest cost by this ratio."""
_ROUNDS = 4
"""How often at most."""

T_contra = TypeVar("T_contra", bound=Instance, contravariant=True)


class ModelModule(Protocol[T_contra]):
    """The module ``model`` of a problem, or an object with the same functions."""

    def build(self, instance: T_contra, /) -> Any:
        """Return the Pyomo model, with one objective per level."""

    def read(self, instance: T_contra, model: Any, /) -> Solution:
        """Return the solution that the values of the model's variables describe."""

    def assign(self, instance: T_contra, model: Any, solution: Any, /) -> None:
        """Set every variable of the model to its value in a solution."""


@dataclass
class LevelSearch:
    """The state between the levels: the form with held levels, the incumbent, the bounds."""

    instance: Instance
    run: Run
    module: ModelModule[Any]
    model: Any
    form: StandardForm
    build_seconds: float
    backend: Backend = highs
    relaxations: bool = True
    earlier: Earlier | None = None
    status: Status = Status.OPTIMAL
    termination: Termination | None = None
    reason: str = ""
    message: str = ""
    start: Start | None = None
    incumbent: Vector | None = None
    optima: list[Number | float] = field(default_factory=list)
    bounds: list[list[Bound]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin from the run's start, if it has one."""
        self.duals: Vector = np.zeros(self.form.shape[0])
        self.known: tuple[Vector, Vector] | None = None
        self.begun: Solution | None = None
        read = partial(self.module.read, self.instance, self.model)
        self.exact = ExactLevels(self.instance, read, self.run.check)
        self.undecided = undecided_row(self.form, getattr(self.model, "ROW_SCALES", None))
        if self.run.start is not None:
            self.begin_from(self.run.start)

    def begin_from(self, solution: Solution) -> None:
        """Make a solution the incumbent."""
        self.begun = solution
        self.module.assign(self.instance, self.model, solution)
        self.incumbent = self.form.point()

    def claim(self) -> Claim:
        """Return the incumbent as a solution, and what is known about it."""
        solution = None
        if self.incumbent is not None:
            self.form.load(self.incumbent)
            solution = self.accepted(self.module.read(self.instance, self.model))
            self.optima = [self.final(level, value) for level, value in enumerate(self.optima)]
        return Claim(
            solution=solution,
            status=self.status,
            termination=self.termination,
            reason=self.reason,
            objective=self.optima if solution is not self.begun else None,
            bounds=self.bounds,
            solver_message=self.message,
            build_seconds=self.build_seconds,
            start=self.start,
        )

    def accepted(self, solution: Solution) -> Solution | None:
        """Return a solution, or the one that the search began from if the first is not feasible.

        The latter also if the search was ended early and has found nothing better. A solver's point
        may be infeasible by what it tolerates.
        """
        if self.run.check is None:
            return solution
        report = self.run.check(self.instance, solution)
        if report.feasible:
            optimal = self.status is Status.OPTIMAL
            if optimal or self.begun is None or report.objective is None:
                return solution
            begun = self.run.check(self.instance, self.begun).objective
            return self.begun if begun and begun.better_than(report.objective) else solution
        first = report.violations[0]
        reason = f"{self.run.solver}'s tolerances admit a point that is no solution"
        self.end(
            Status.NO_SOLUTION if self.begun is None else Status.FEASIBLE,
            Termination.TOLERANCES,
            f"{reason}: {first.where}: {first.message}",
        )
        return self.begun

    def final(self, level: int, optimum: Number | float) -> Number | float:
        """Return the incumbent's value of a solved level.

        It may be better than the value that is held: within a gap, a later level can improve it.
        """
        better = min if self.form.sign(level) == 1 else max
        return better(optimum, self.value(level))

    def value(self, level: int) -> Number | float:
        """Return the incumbent's value of a level, exactly if it has a granularity."""
        assert self.incumbent is not None
        return self.exact.value(self.form, level, self.incumbent)

    def solve(self, depth: int) -> None:
        """Solve the first levels in turn until one is not proved optimal."""
        levels = len(self.form.costs)
        for level in range(depth):
            held = self.incumbent
            outcome = self.solve_level(level)
            self.message = outcome.message
            if outcome.values is not None:
                known = self.known  # from solve_level, unless it has solved the level again
                if known is None or known[0] is not outcome.values:
                    known = outcome.values, self.canonical(level, outcome.values)
                self.incumbent = known[1]
            worse = None
            if level and self.incumbent is not None:
                worse = self.exact.worse_before(self.form, self.optima, self.incumbent)
            if worse is not None:
                self.incumbent = held
                reason = f"{self.run.solver}'s tolerances admit points that are worse at {worse}"
                self.end(Status.FEASIBLE, Termination.TOLERANCES, reason)
                return
            if outcome.status is not Status.OPTIMAL:
                self.stop(outcome, level, depth)
                return
            # Only an optimum is claimed: an early incumbent's auxiliary variables may be slack.
            assert self.incumbent is not None
            self.optima.append(self.value(level))
            gap = self.gap(level, self.optima[-1])
            if self.undecided and not self.certainly(level):
                self.hold_back(level, Termination.TOLERANCES)
                return
            if gap > self.run.gap + TOLERANCE:
                reason = f"{self.run.solver}'s tolerances leave a gap of {gap:.3g}"
                self.end(Status.FEASIBLE, Termination.TOLERANCES, reason)
                return
            if not self.run.gap:
                gap = undecided_gap(self.optima[-1], self.form.granularities[level], gap)
                self.reason = precision_reason(self.form.level_names[level], gap) or self.reason
            if level + 1 < levels:
                self.hold(level, self.optima[-1])
        if depth < levels:
            reason = f"only {depth} of {levels} levels asked for"
            self.end(Status.FEASIBLE, Termination.LEVELS_DONE, reason)

    def end(self, status: Status, termination: Termination, reason: str) -> None:
        """State how the search ended."""
        self.status = status
        self.termination = termination
        self.reason = reason

    def certainly(self, level: int) -> bool:
        """Whether the incumbent attains a bound of a level that was re-checked exactly."""
        assert self.incumbent is not None
        value = self.value(level)
        certified = [bound for bound in self.bounds[level] if bound.kind == "certified"]
        if not isinstance(value, float):
            return any(value == bound.value for bound in certified)
        return any(at_bound(value, bound) for bound in certified)

    def hold_back(self, level: int, termination: Termination) -> None:
        """State neither an optimum nor the solver's bound: it cannot decide all rows."""
        status = Status.NO_SOLUTION if self.incumbent is None else Status.FEASIBLE
        self.end(status, termination, f"{BEYOND_PRECISION}: constraint {self.undecided}")
        self.bounds[level] = [bound for bound in self.bounds[level] if bound.kind != "claimed"]

    def stop(self, outcome: Outcome, level: int, depth: int) -> None:
        """Set status and reason for a level that was not proved optimal."""
        self.status = outcome.status
        self.termination = outcome.termination
        if self.undecided:
            infeasible = self.status is Status.INFEASIBLE
            self.hold_back(level, Termination.TOLERANCES if infeasible else outcome.termination)
            return
        if self.status is Status.INFEASIBLE and level == 0:
            if self.incumbent is not None:
                raise SolverDisagreement(
                    f"{self.run.solver} calls the model infeasible; the checker accepts the start"
                )
            self.reason = infeasibility_reason(self.form, self.run)
            return
        if self.status is Status.INFEASIBLE:
            self.termination = Termination.TOLERANCES  # the held levels have a solution
        if self.status is not Status.UNBOUNDED and self.incumbent is not None:
            self.status = Status.FEASIBLE
        if depth > 1:
            self.reason = f"{self.termination.sentence} at level {level + 1} of {depth}"

    def canonical(self, level: int, values: Vector) -> Vector:
        """Return the point of the solution that is read from a point, unless its level is worse.

        The two differ in auxiliary variables whose cost is within the solver's tolerances.
        """
        rounded = np.where(self.form.integer, np.rint(values), values)
        self.form.load(rounded)
        solution = self.module.read(self.instance, self.model)
        self.module.assign(self.instance, self.model, solution)
        point = self.form.point()
        if point is None:
            return rounded
        value = self.form.value(level, point)
        other = self.form.value(level, rounded)
        loss = self.form.sign(level) * (value - other)
        worse = loss > SOLVER_PRECISION * max(abs(value), abs(other))
        return rounded if worse else point

    def solve_level(self, level: int) -> Outcome:
        """Solve a level; again without columns that no optimum uses, if these cost far more.

        A solver's tolerances are relative to the largest cost, so differences between values far
        below it are lost. Each time, reduced costs at the first solution show which columns can be
        fixed, and the tolerances are then relative to the largest cost that is left.
        """
        whole = self.form
        levels = len(whole.costs)
        detail = f"with {self.run.solver}, {whole.size}"
        if levels > 1:
            detail = f"{whole.level_names[level]}, level {level + 1} of {levels}, {detail}"
        self.run.announce(Stage.SEARCHING, detail)
        outcome = self.solve_once(level)
        for _ in range(_ROUNDS):
            if outcome.status is not Status.OPTIMAL or outcome.values is None:
                break
            point = outcome.values
            if point is not self.incumbent:  # which is canonical
                point = self.canonical(level, point)
            value = whole.value(level, point)
            self.known = (outcome.values, point) if self.form is whole else None
            if self.gap(level, value) <= SOLVER_PRECISION:
                break
            before = np.abs(self.form.costs[level]).max()
            self.form = fix_by_reduced_cost(self.form, level, value, self.duals)
            if before < _COST_RATIO * np.abs(self.form.costs[level]).max():
                break
            first_bounds = self.bounds.pop()
            again = self.solve_once(level)
            if again.status is not Status.OPTIMAL:  # a limit: the first outcome stands
                self.bounds[level] = first_bounds
                break
            outcome = again
        self.form = whole
        return outcome

    def gap(self, level: int, value: Number | float) -> float:
        """Return the smallest gap of a value to a bound of its level."""
        gaps = [relative_gap(value, bound.value) for bound in self.bounds[level]]
        return min(gaps, default=1.0)

    def solve_once(self, level: int) -> Outcome:
        """Solve the relaxation, then the integer program unless the relaxation decides."""
        known = self.earlier.bounds_of(self.form, self.optima) if self.earlier else []
        self.bounds.append(known)
        self.duals = np.zeros(self.form.shape[0])
        outcome = self.attained(level) if known else None
        relaxed = None
        if outcome is None:
            relaxed = self.relax(level) if self.relaxations else None
            outcome = relaxed or self.attained(level)
        outcome = outcome or self.backend.solve(self.form, level, self.run, start=self.incumbent)
        start = outcome.start
        if relaxed is not None:
            start = Start(False, f"{relaxed.termination.sentence} before the search began")
        if outcome.bound is not None:
            self.claim_bound(level, outcome)
        if level == 0 and self.run.start is not None:
            self.start = start
        return outcome

    def relax(self, level: int) -> Outcome | None:
        """Solve the linear relaxation with HiGHS and certify its bound.

        Its outcome is returned if it decides the level: if it is infeasible, if its optimum is
        integral and the run's solver is HiGHS, or if a limit is reached.
        """
        form = self.form
        earlier = self.earlier or Earlier()
        basis = earlier.basis_of(form, level)
        first = self.earlier is not None and earlier.shape is None
        outcome = highs.solve(form, level, self.run, relax=True, basis=basis, keep_basis=first)
        if outcome.basis is not None:
            earlier.bases[level] = outcome.basis
        optimal = outcome.status is Status.OPTIMAL
        how = "bounds of the variables"
        if outcome.duals is not None:
            how = "dual vector of the LP"
            self.duals = outcome.duals
        certified = dual_bound(form, level, self.duals)
        if certified is not None:
            if form.offsets[level] == 0 and below_any_cost(form, level, certified):
                certified = min(certified, 0)
            value = round_to_granularity(certified, form.granularities[level], form.senses[level])
            self.bounds[level].append(Bound(value, "certified", how))
        if outcome.status is Status.INFEASIBLE:
            return outcome
        if optimal and outcome.values is not None and self.run.start is None:
            integral = is_integral(form, level, outcome.values)
            return outcome if integral and outcome.solver == self.run.solver else None
        stop = self.run.stop_reason()
        return Outcome(outcome.solver, stop, outcome.message) if stop and not optimal else None

    def attained(self, level: int) -> Outcome | None:
        """Return the incumbent as the level's outcome if it is within the gap of its bounds.

        Not if another solver is named, which is then to find the optimum itself.
        """
        if self.incumbent is None or self.backend is not highs:
            return None
        rounded = self.gap(level, self.form.value(level, self.incumbent))
        near = rounded <= self.run.gap + SOLVER_PRECISION
        if not near or self.gap(level, self.value(level)) > self.run.gap:
            return None
        start = Start(True, "its value is within the gap of the bound")
        return Outcome(self.run.solver, Termination.PROVED, "", values=self.incumbent, start=start)

    def claim_bound(self, level: int, outcome: Outcome) -> None:
        """Add the solver's bound, weakened by the tolerances that it rests on.

        No relative error is left of an optimum of 0: without a granularity, what is far less than
        any cost is 0, too, if the solution's value is.
        """
        assert outcome.bound is not None
        value = claimed_bound(self.form, level, outcome.bound)
        stepless = not self.form.granularities[level]
        if stepless and outcome.values is not None and outcome.status is Status.OPTIMAL:
            nothing = self.form.value(level, outcome.values) == 0
            value = 0 if nothing and abs(float(value)) <= self.least(level) else value
        self.bounds[level].append(Bound(value, "claimed", self.run.solver))

    def least(self, level: int) -> float:
        """Return what a level's values cannot be told from 0 below: far less than any cost."""
        costs = np.abs(self.form.costs[level])
        return SOLVER_PRECISION * float(costs[costs > 0].min()) if costs.any() else 0.0

    def hold(self, level: int, value: Number | float) -> None:
        """Add a row that keeps a solved level at its optimum."""
        if self.form.costs[level].any():  # a constant level needs no row
            # A row has one tolerance for all costs, so columns that alone cost more are fixed.
            fixed = fix_by_reduced_cost(self.form, level, float(value), self.duals)
            self.form = fixed.held(level, value)

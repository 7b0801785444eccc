"""One level of a lexicographic optimization, with the levels before it held.

The linear relaxation is solved first, whose duals give a certified bound, then the integer program
unless the relaxation's optimum is integral or the best solution so far attains the bound.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from dlsched.results.objective import SOLVER_PRECISION, Bound, relative_gap
from dlsched.results.result import Start, Status, Termination
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
from dlsched.solvers.fixing import fix_by_reduced_cost
from dlsched.solvers.outcome import Outcome, Vector
from dlsched.solvers.precision import (
    ExactLevels,
    is_integral,
    undecided_level,
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
class SingleLevel:
    """The form with held levels, the incumbent and the bounds, and how one level is solved."""

    instance: Instance
    run: Run
    module: ModelModule[Any]
    model: Any
    form: StandardForm
    build_seconds: float
    backend: Backend = highs
    relaxations: bool = True
    earlier: Earlier | None = None
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
        row = undecided_row(self.form, getattr(self.model, "ROW_SCALES", None))
        self.undecided = f"constraint {row}" if row else undecided_level(self.form)
        if self.run.start is not None:
            self.begin_from(self.run.start)

    def begin_from(self, solution: Solution) -> None:
        """Make a solution the incumbent."""
        self.begun = solution
        self.module.assign(self.instance, self.model, solution)
        self.incumbent = self.form.point()

    def value(self, level: int) -> Number | float:
        """Return the incumbent's value of a level, exactly if it has a granularity."""
        assert self.incumbent is not None
        return self.exact.value(self.form, level, self.incumbent)

    def gap(self, level: int, value: Number | float) -> float:
        """Return the smallest gap of a value to a bound of its level."""
        gaps = [relative_gap(value, bound.value) for bound in self.bounds[level]]
        return min(gaps, default=1.0)

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
            exactly = self.exact.value(whole, level, point)
            weakened = [self.of_whole(level, bound, exactly) for bound in self.bounds[level]]
            certified = [bound for bound in first_bounds if bound.kind == "certified"]
            self.bounds[level] = [*certified, *weakened]
            outcome = again
        self.form = whole
        return outcome

    def of_whole(self, level: int, bound: Bound, value: Number | float) -> Bound:
        """Return a bound of all points, where the form had columns fixed that `value` excludes.

        Points with other values of these columns are worse than `value`; no other point is better
        than the bound.
        """
        weaker = min if self.form.sign(level) == 1 else max
        return bound._replace(value=weaker(bound.value, value))

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

"""Levels of a variant whose problem's model only estimates one of its own levels.

Placement's cost is no linear expression: its model states an estimate from below, which is refined
at placements. The levels are solved one after the other. For the estimated one the problem's own
method refines until the bound is the cost, with the levels before it held as rows. Later ones hold
the cost by the row that its estimate is at most the optimum: a solution of a larger cost satisfies
it only where the estimate is not exact, so the estimate is refined there, and the level is solved
again. A solution that the estimate is exact at, and that breaks a limit by less than a solver's
tolerances, is excluded.
"""

from fractions import Fraction
from typing import Any

from dlsched.results.objective import Bound, Objective
from dlsched.results.objective import Level as ObjectiveLevel
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.schema import Number
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution
from dlsched.solvers.levels import relax_first_level, solve_levels
from dlsched.variants.changed_model import Change
from dlsched.variants.names import add_beside
from dlsched.variants.problem import ChangedProblem
from dlsched.variants.rows import row_scale, state_row

TIE = Fraction(1, 10**11)
"""Estimated levels whose values differ by a smaller part are equal: the checker's own error."""
_MOST_ROUNDS = 300
"""Solutions at which the estimate is refined, or which are excluded, for one level."""


class EstimatedLevels:
    """The state between the levels: the values that are held, the best solution, the bounds.

    The problem's module ``exact`` has ``refinable(instance, run, adapt, accept)``: its method for
    models that `adapt` changes, which keeps only solutions that `accept` admits. Of that,
    ``model_with(adapt)`` is the model with the present estimate, changed; ``refine(solution)``
    makes the estimate exact there, and returns whether it was not; ``cut_off(solution)`` excludes
    one; ``search()`` and ``relaxation()`` are claims on the estimated level alone.
    """

    def __init__(self, problem: ChangedProblem, instance: Instance, run: Run) -> None:
        self.problem = problem
        self.instance = instance
        self.run = run
        self.estimated = problem.estimated
        exact = problem.base.module("exact")
        self.refinable = exact.refinable(instance, run, self._alone, self._accepted)
        self.held: list[Number] = []
        self.best = run.start
        self.bounds: list[list[Bound]] = []
        self.change: Change | None = None

    @property
    def level(self) -> ObjectiveLevel:
        """The level that is solved."""
        return self.problem.levels[len(self.held)]

    def bound(self) -> Claim:
        """Return the bound of the first level."""
        if self.level.name in self.estimated:
            claim: Claim = self.refinable.relaxation()
            return claim
        return relax_first_level(self.instance, self.run, self)

    def solve(self) -> Claim:
        """Solve the levels in their order."""
        for level in self.problem.levels:
            claim = (
                self.refinable.search() if level.name in self.estimated else self._solve_linear()
            )
            self.bounds.append(list(claim.bounds[0]) if claim.bounds else [])
            if claim.status is Status.INFEASIBLE and not self.held:
                return claim
            value = self._value(claim.solution)
            if value is None or claim.status is not Status.OPTIMAL:
                return self._claim(claim)
            self.best = claim.solution
            if level.name in self.estimated:
                self.refinable.refine(claim.solution)
            self.held.append(value)
        return self._claim(Claim(status=Status.OPTIMAL))

    def _claim(self, last: Claim) -> Claim:
        """Return the best solution; what the last level's claim says where it is not proved."""
        proved = len(self.held) == len(self.problem.levels)
        if not proved and self._value(last.solution) is not None:
            self.best = last.solution
        status = Status.NO_SOLUTION if self.best is None else Status.FEASIBLE
        return Claim(
            solution=self.best,
            status=Status.OPTIMAL if proved else status,
            termination=None if proved else last.termination or Termination.UNDECIDED,
            reason="" if proved else f"{last.reason or 'a gap is left'} at level {self.level.name}",
            bounds=self.bounds,
        )

    def _solve_linear(self) -> Claim:
        """Solve a level that the model states, until its solution keeps the estimated ones."""
        claim = Claim(status=Status.NO_SOLUTION)
        for _ in range(_MOST_ROUNDS):
            part = self.run.nested(gap=self.run.gap)
            part.start = self.best
            claim = solve_levels(self.instance, part, self)
            if claim.solution is None or self._accepted(claim.solution):
                return claim
            if self.run.stop_reason():
                break
            if not self.refinable.refine(claim.solution):
                self.refinable.cut_off(claim.solution)
        return Claim(
            status=Status.NO_SOLUTION,
            termination=self.run.stop_reason() or Termination.TOLERANCES,
            reason="solutions were found that break a limit by less than the solver's tolerances",
            bounds=claim.bounds,
        )

    def _value(self, solution: Any) -> Number | None:
        """Return a solution's value of the level that is solved, if it keeps those before."""
        objective = self._objective(solution)
        return None if objective is None else objective[len(self.held)]

    def _accepted(self, solution: Any) -> bool:
        """Whether a solution fits the variant and keeps the levels before."""
        return self._objective(solution) is not None

    def _objective(self, solution: Any) -> Objective | None:
        if not isinstance(solution, Solution):
            return None
        report = self.problem.check(self.instance, solution)
        if not report.feasible or report.objective is None:
            return None
        for (level, value), held in zip(report.objective.pairs(), self.held, strict=False):
            near = abs(Fraction(value) - Fraction(held)) <= TIE * abs(Fraction(held))
            if not (near if level.name in self.estimated else value == held):
                return None
        return report.objective

    def _alone(self, model: Any) -> Change:
        """Change a model: the variant's rows, the levels before held, only this one to solve."""
        import pyomo.core as pyo

        change = self.problem.model.adapt(self.instance)(model)
        held_levels = pyo.ConstraintList()
        add_beside(model, "held_levels", held_levels)
        for level, value in zip(self.problem.levels, self.held, strict=False):
            expression = model.component(level.name).expr
            row = self._held_row(level, expression, value)
            added = state_row(model, held_levels, row)
            if added is not None:
                model.ROW_SCALES[added.name] = row_scale(added)
        for level in self.problem.levels:
            if level.name != self.level.name:
                model.del_component(level.name)
        self.change = change
        return change

    def _held_row(self, level: ObjectiveLevel, expression: Any, value: Number) -> Any:
        exact = Fraction(value)
        if level.name in self.estimated:
            size = float(exact) or 1.0
            return expression / size <= (1.0 + 2 * float(TIE) if exact else 0.0)
        return expression <= float(exact) if level.sense == "min" else expression >= float(exact)

    def build(self, instance: Instance) -> Any:
        """Return the model of the level that is solved; for `solve_levels`."""
        return self.refinable.model_with(self._alone)

    def read(self, instance: Instance, model: Any) -> Solution:
        """Return the solution of a model's values."""
        return self.problem.model.read(instance, model)

    def assign(self, instance: Instance, model: Any, solution: Solution) -> None:
        """Give the model that was built last a solution's values."""
        assert self.change is not None
        self.problem.model.set_values(instance, self.change, solution)

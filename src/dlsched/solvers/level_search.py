"""The search of a lexicographic optimization: one level after the other, with bounds for each.

Each level is solved as `single_level` says, and held at its optimum for the next ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from dlsched.errors import SolverDisagreement
from dlsched.results.objective import TOLERANCE, at_bound, relative_gap
from dlsched.results.result import Claim, Report, Status, Termination
from dlsched.schema.quantities import Number
from dlsched.schema.solution import Solution
from dlsched.solvers.fixing import fix_by_reduced_cost
from dlsched.solvers.iis import infeasibility_reason
from dlsched.solvers.outcome import Outcome
from dlsched.solvers.precision import BEYOND_PRECISION, precision_reason, undecided_gap
from dlsched.solvers.single_level import SingleLevel


@dataclass
class LevelSearch(SingleLevel):
    """All levels in turn; how the search ended."""

    status: Status = Status.OPTIMAL
    termination: Termination | None = None
    reason: str = ""
    message: str = ""

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
            if self.undecided and self.beyond(report):
                self.hold_back(len(self.optima) - 1, Termination.TOLERANCES)
                self.optima = []
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

    def beyond(self, report: Report) -> bool:
        """Whether the checker finds other values of the solved levels than the solver."""
        found = report.objective or ()
        return any(
            relative_gap(value, optimum) > TOLERANCE
            for value, optimum in zip(found, self.optima, strict=False)
        )

    def final(self, level: int, optimum: Number | float) -> Number | float:
        """Return the incumbent's value of a solved level.

        It may be better than the value that is held: within a gap, a later level can improve it.
        """
        better = min if self.form.sign(level) == 1 else max
        return better(optimum, self.value(level))

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
        self.end(status, termination, f"{BEYOND_PRECISION}: {self.undecided}")
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
            self.termination = None
            self.reason = infeasibility_reason(self.form, self.run)
            return
        if self.status is Status.INFEASIBLE:
            self.termination = Termination.TOLERANCES  # the held levels have a solution
        if self.status is not Status.UNBOUNDED and self.incumbent is not None:
            self.status = Status.FEASIBLE
        if depth > 1:
            self.reason = f"{self.termination.sentence} at level {level + 1} of {depth}"

    def hold(self, level: int, value: Number | float) -> None:
        """Add a row that keeps a solved level at its optimum."""
        if self.form.costs[level].any():  # a constant level needs no row
            # A row has one tolerance for all costs, so columns that alone cost more are fixed.
            fixed = fix_by_reduced_cost(self.form, level, float(value), self.duals)
            self.form = fixed.held(level, value)

"""Lexicographic optimization of a problem's model, level by level, and the bound of its first.

Each level is solved as `single_level` says, and held at its optimum for the next ones.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from dlsched.errors import OptionError, SolverDisagreement
from dlsched.results.objective import TOLERANCE, at_bound, relative_gap
from dlsched.results.result import Claim, Report, Status, Termination
from dlsched.run import Run, Stage
from dlsched.schema.quantities import Number
from dlsched.schema.solution import Solution
from dlsched.solvers.backend import find_backend
from dlsched.solvers.earlier import Earlier
from dlsched.solvers.fixing import fix_by_reduced_cost
from dlsched.solvers.iis import infeasibility_reason
from dlsched.solvers.outcome import Outcome
from dlsched.solvers.overhead import no_collection
from dlsched.solvers.precision import BEYOND_PRECISION, precision_reason, undecided_gap
from dlsched.solvers.single_level import ModelModule, SingleLevel, T_contra
from dlsched.solvers.standard_form import compile_model

SOLVER_LIBRARIES = ("highspy", "scipy.sparse", "pyomo.core", "pyomo.repn.plugins.standard_form")
"""What a method that solves a model preloads; importing it takes a quarter of a second.

`pyomo.environ` would be twice as much: it loads the interfaces of all solvers.
"""


def solve_levels(
    instance: T_contra,
    run: Run,
    model: ModelModule[T_contra],
    depth: int | None = None,
    *,
    relaxations: bool = True,
    first: Solution | None = None,
    earlier: Earlier | None = None,
) -> Claim:
    """Solve an instance's model lexicographically.

    Parameters
    ----------
    instance, run, model
        What to solve, the limits, and the problem's ``model`` module.
    depth
        Number of levels to solve; all by default.
    relaxations
        Whether linear relaxations are solved first, for certified bounds. Not where the model is a
        part of the instance's, as a bound on its schedules alone would not be one on all.
    first
        A feasible solution of a heuristic, from which the search begins where the run has no start.
    earlier
        What is known of the same model with fewer rows; filled here if nothing is known.

    Raises
    ------
    OptionError, UnknownName, SolverMissing
        If there are fewer levels, the solver lacks a limit of the run, or is not installed.
    SolverDisagreement
        If the model is infeasible although there is a feasible start.
    """
    backend = find_backend(run.solver)
    backend.validate_limits(run)  # before the model is built
    known = first if run.known is None else run.known
    search = _build(instance, run, model)
    if isinstance(search, Claim):
        return search
    if known is not None and run.start is None:
        search.begin_from(known)
    levels = len(search.form.costs)
    if depth is not None and not (isinstance(depth, int) and 1 <= depth <= levels):
        raise OptionError(f"levels={depth} must be from 1 to {levels}")
    search.backend, search.relaxations = backend, relaxations
    if not relaxations:
        search.exact.check = None  # it knows the whole schedule's values only
    search.earlier = earlier
    shape = search.form.shape
    search.solve(levels if depth is None else depth)
    if earlier is not None and earlier.shape is None:
        earlier.shape, earlier.optima, earlier.bounds = shape, search.optima, search.bounds
    return search.claim()


def relax_first_level(instance: T_contra, run: Run, model: ModelModule[T_contra]) -> Claim:
    """Return the bound of level 1 from the duals of the linear relaxation, re-checked exactly."""
    search = _build(instance, run, model)
    if isinstance(search, Claim):
        return search
    run.announce(Stage.SEARCHING, f"the linear relaxation, {search.form.size}")
    search.bounds.append([])
    outcome = search.relax(0)
    claim = Claim(
        status=Status.NO_SOLUTION,
        termination=Termination.BOUND_ONLY,
        bounds=search.bounds,
        build_seconds=search.build_seconds,
    )
    if outcome is not None and outcome.status is not Status.OPTIMAL:
        return replace(claim, status=outcome.status, termination=outcome.termination)
    return claim


def _build(instance: T_contra, run: Run, model: ModelModule[T_contra]) -> LevelSearch | Claim:
    """Build and compile the model; a claim if a constraint without variables is violated."""
    from pyomo.common.errors import InfeasibleConstraintException

    run.announce(Stage.BUILDING, f"the model of {instance.name}")
    began = time.perf_counter()
    try:
        with no_collection():
            pyomo_model = model.build(instance)
            form = compile_model(pyomo_model)
    except InfeasibleConstraintException as error:
        return Claim(None, Status.INFEASIBLE, str(error), termination=Termination.INFEASIBLE)
    return LevelSearch(instance, run, model, pyomo_model, form, time.perf_counter() - began)


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

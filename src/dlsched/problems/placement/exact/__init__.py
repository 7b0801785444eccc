"""The exact method for placement: integer programs that estimate the cost, refined until exact."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from dlsched.problems.placement import model
from dlsched.problems.placement.definition.check import TOLERANCE as CHECK_TOLERANCE
from dlsched.problems.placement.definition.check import check, rounding_margin
from dlsched.problems.placement.definition.schema import Instance, Solution
from dlsched.problems.placement.heuristics import (
    Schedules,
    anneal,
    initial_state,
    long_schedules,
    solution_of,
)
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.cost_rows import Whole
from dlsched.problems.placement.programs.indivisible_bounds import gpu_bound, storage_bound, whole
from dlsched.problems.placement.programs.piecewise_estimate import Estimate
from dlsched.problems.placement.programs.rounding import below
from dlsched.problems.placement.structures.arrays import arrays, homes_of
from dlsched.problems.placement.structures.small import few_tables, very_few_tables
from dlsched.problems.placement.structures.state import state_of
from dlsched.registry.own import method
from dlsched.results.objective import SOLVER_PRECISION, TOLERANCE, Bound
from dlsched.results.result import Claim, Point, Start, Status, Termination
from dlsched.run import Run, Stage
from dlsched.schema import Number
from dlsched.solvers import highs
from dlsched.solvers.backend import find_backend
from dlsched.solvers.certificate import dual_bound
from dlsched.solvers.garbage import no_collection
from dlsched.solvers.iis import infeasibility_reason
from dlsched.solvers.levels import SOLVER_LIBRARIES
from dlsched.solvers.outcome import Outcome
from dlsched.solvers.standard_form import StandardForm, compile_model

LIBRARIES = (
    ".heuristics.local_search",
    ".programs.least_squares_bound",
    ".programs.cell_bound",
    *SOLVER_LIBRARIES,
)
"""What `milp` preloads."""
TANGENT_ROUNDS = 12
_LEAST_INCREASE = 1e-3
"""A round of tangents that raises the relaxation by less, relatively, is the last."""
_CLOSED = 3 * SOLVER_PRECISION
"""Relative gap at which a bound in floating point equals a cost."""
_REDUCED_COST = 1e-7
"""A solver's tolerance on reduced costs, in the unit that it sees."""
_FAST_NONZEROS = 20_000
"""Entries of a matrix for which the exact bound from duals takes less than a second."""
_LARGE_NONZEROS = 20_000
"""Entries of a matrix from which interior point is faster for the relaxation than simplex."""
_WITHOUT_SUB_PROGRAMS = 40
"""Up to this many tables HiGHS seeks no placements in smaller integer programs and does not
restart, which take two fifths of its time at 12 to 24 tables. With more tables the tree rarely
ends, and they find better placements."""
_FEW_TRIALS = 100
"""Trials of annealing for each of few tables, where a proof follows soon."""
_MOST_EXCLUDED = 100
"""Placements that are excluded one by one before the search ends with the gap that is left."""


@method("placement", kind="exact", preload=LIBRARIES, small=very_few_tables)
def milp(instance: Instance, run: Run) -> Claim:
    """Integer programs that estimate the cost from below, refined at each placement found.

    Exact because each program's bound is a bound on the cost, and each placement found gets points
    at which the next program is exact; there are finitely many. It stops when the bound equals the
    cost of the best placement, or with the gap that is left. It starts from the placement of
    `annealing`, which may take all of the limit; from a few trials of it where tables are few and
    there is no limit.
    """
    return Refinement(instance, run).search()


def refinable(
    instance: Instance, run: Run, adapt: Callable[[Any], object], accept: Callable[[Any], bool]
) -> Refinement:
    """Return the search of `milp` for a variant: `adapt` adds its rows to each program.

    A placement that `accept` refuses is no answer, but the estimate is refined at it all the same.
    """
    return Refinement(instance, run, adapt, accept)


def refined(instance: Instance) -> Any:
    """Return the Pyomo model with the estimate with which `milp` proves the optimum."""
    refinement = Refinement(instance, Run())
    refinement.search()
    return model.build(instance, refinement.estimate, whole=refinement.whole)


def _rounded_cost(form: StandardForm) -> float:
    """Return how much of a program's cost may be missed by a solver that rounds reduced costs.

    Columns whose costs are below its tolerance cost nothing to it, whatever their values.
    """
    unit, costs, _ = form.conditioned(0)
    costs = np.abs(costs)
    small = (costs > 0) & (costs <= _REDUCED_COST)
    missed = costs[small] @ (form.upper - form.lower)[small]
    return float(unit) * (_REDUCED_COST + float(missed))


class Refinement:
    """The state between the rounds: the estimate, the best placement, the bounds."""

    def __init__(
        self,
        instance: Instance,
        run: Run,
        adapt: Callable[[Any], object] | None = None,
        accept: Callable[[Any], bool] | None = None,
    ) -> None:
        self.instance, self.run, self.adapt = instance, run, adapt
        self.accept = accept
        self.backend = find_backend(run.solver)
        self.data = arrays(instance)
        self.best: Solution | None = None
        self.cost = float("inf")
        self.exact_cost: Number | None = None
        self.indivisible, self.all_parts = 0.0, False
        self.whole: Whole | None = None
        self.dual: float | None = None
        self.relaxed: StandardForm | None = None  # of which `dual` is the bound
        self.relaxed_model: Any = None  # the form's variables know their names only as long as it
        self.claimed = 0.0
        self.excluded: list[Solution] = []
        self.built: tuple[Any, StandardForm] | None = None
        self.rounded_cost = 0.0  # of the last program
        self.build_seconds = 0.0
        self.message = ""
        self.no_dual = "the relaxation was not solved"

    @cached_property
    def shares(self) -> Shares:
        """The model's coefficients."""
        return Shares(self.instance)

    @cached_property
    def estimate(self) -> Estimate:
        """The estimate of the cost, at first a coarse one."""
        return Estimate.coarse(self.data, self.shares)

    @property
    def bound(self) -> float:
        """The strongest bound, certified or claimed."""
        return max(self.indivisible, self.dual or 0.0, self.claimed)

    def search(self) -> Claim:
        """Run to a proof or a limit."""
        self.backend.validate_limits(self.run)
        self.start()
        return self.prove()

    def model_with(self, adapt: Callable[[Any], object]) -> Any:
        """Return the Pyomo model with the present estimate and what is excluded, changed."""
        self.whole = self.whole or whole(self.shares, self.run)
        built = model.build(self.instance, self.estimate, self.excluded, self.data, self.whole)
        adapt(built)
        return built

    def cut_off(self, solution: Solution) -> None:
        """Exclude a placement from the programs to come."""
        self.excluded.append(solution)
        self.built = None

    def relaxation(self) -> Claim:
        """Return the bounds of the relaxation."""
        self.relax()
        return self.claim(Status.NO_SOLUTION, Termination.BOUND_ONLY)

    def prove(self) -> Claim:
        """Run to a proof or a limit, from the best placement so far."""
        self.relax()
        claim = None
        while claim is None:
            stop = self.run.stop_reason()
            claim = self.claim(Status.FEASIBLE, stop) if stop else self.solve_round()
        return claim

    def solve_round(self) -> Claim | None:
        """Solve one program, refine the estimate at its placement; return a claim at the end."""
        built, form = self.build()
        outcome = self.solve(built, form)
        self.message = outcome.message
        if outcome.status is Status.INFEASIBLE:
            if self.best is None:
                return self.infeasible(form)
            self.claimed = self.cost  # only excluded placements are left
            return self.claim(Status.OPTIMAL)
        refined, found = False, None
        if outcome.values is not None:
            form.load(outcome.values)
            found = model.read(self.instance, built)
            self.offer(found)
            refined = self.refine(found)
        if outcome.bound is not None:
            bound = self.lowered(outcome.bound)
            if refined and bound > self.cost * (1 + _CLOSED):
                return None  # an error of the solver's tolerances; the next program is more exact
            # No excluded placement is better than the best one.
            self.claimed = max(self.claimed, min(bound, self.cost))
        self.record()
        if self.closed(max(_CLOSED, self.run.gap)):
            return self.claim(Status.OPTIMAL)
        if outcome.status is not Status.OPTIMAL:
            return self.claim(Status.FEASIBLE, outcome.termination)
        return None if refined or found is None else self.exclude(found)

    def exclude(self, solution: Solution) -> Claim | None:
        """Exclude a placement from the next programs; a claim if there are too many.

        The estimate is exact at the placement, but the solver's tolerances undercut it; or the
        placement breaks a limit by less than these. Its cost is known.
        """
        if len(self.excluded) == _MOST_EXCLUDED:
            return self.claim(
                Status.OPTIMAL if self.closed(TOLERANCE) else Status.FEASIBLE,
                Termination.TOLERANCES,
                f"the solver's tolerances leave a gap after {_MOST_EXCLUDED} exclusions",
            )
        self.excluded.append(solution)
        self.built = None
        return None

    def infeasible(self, form: StandardForm) -> Claim:
        """Return that there is no placement, and why."""
        reason = infeasibility_reason(form, self.run)
        if self.excluded:  # every one of them breaks a limit
            reason = "every placement breaks a limit, some by less than the solver's tolerances"
        return Claim(status=Status.INFEASIBLE, reason=reason, build_seconds=self.build_seconds)

    def start(self) -> None:
        """Keep the best of the start and of the heuristics' placements, else that of annealing."""
        found = [*self.run.found]
        if isinstance(self.run.start, Solution):
            found.append(self.run.start)
        if not self.run.found:
            found.append(self.annealed())
        for solution in found:
            if isinstance(solution, Solution):
                self.offer(solution)
        if not self.run.stop_reason():
            self.refine(self.best or self.annealed())

    def annealed(self) -> Solution:
        """Return a placement by annealing, with few trials if tables are few."""
        self.run.announce(Stage.SEARCHING, "a placement by annealing")
        schedules = long_schedules(self.data)
        if few_tables(self.instance):
            schedules = Schedules(1, _FEW_TRIALS * len(self.data.size))
        state = initial_state(self.instance, self.data, self.run)
        return solution_of(self.instance, anneal(self.data, state, self.part(), *schedules))

    def part(self, seconds: float = math.inf) -> Run:
        """Return a run for a part of the search, whose progress is reported with what is known."""
        part = self.run.nested(seconds, self.run.gap)
        part.log = self.run.log
        part.on_progress = self.report
        return part

    def report(self, point: Point) -> None:
        """Report that a part of the search has made progress."""
        self.record(0.0 if point.bound is None else self.lowered(point.bound))

    def bound_parts(self, seconds: float = math.inf) -> None:
        """Find a bound from indivisible tables and jobs, unless that has been done to the end."""
        if self.all_parts:
            return
        self.run.announce(Stage.SEARCHING, "what indivisible tables and jobs leave")
        part = self.run.nested(seconds)
        bound = storage_bound(self.instance)
        if not self.run.stop_reason():
            bound += gpu_bound(self.shares, part)
        self.indivisible = below(bound)
        self.all_parts = part.stop_reason() is None
        self.record()

    def relax(self, rounds: int = TANGENT_ROUNDS) -> None:
        """Add tangents at the optimum of the linear relaxation while that raises it.

        The duals of the last round give the certified bound.
        """
        self.bound_parts()
        last, solved = 0.0, None
        for _ in range(rounds):
            if self.run.stop_reason():
                break
            built, form = self.build()
            self.run.announce(Stage.SEARCHING, f"the linear relaxation, {form.size}")
            large = form.A.nnz > _LARGE_NONZEROS
            if large:
                outcome = highs.interior_point(form, 0, self.run)
            else:
                outcome = highs.solve(form, 0, self.run, relax=True)
            if outcome.duals is not None:
                solved = built, form, outcome.duals
            else:
                self.no_dual = f"the relaxation ended with {outcome.termination.sentence}"
            reached = outcome.objective if large else outcome.bound
            if outcome.values is None or reached is None:
                break
            form.load(outcome.values)
            new_points = self.add_tangents(built)
            if not new_points or reached <= last * (1 + _LEAST_INCREASE):
                break
            last = reached
        if solved is not None:
            built, form, duals = solved
            stop = self.run.stop_reason()
            if stop and form.A.nnz > _FAST_NONZEROS:
                self.no_dual = stop.sentence
                return
            bound = dual_bound(form, 0, duals)
            if bound is None:
                self.no_dual = "the relaxation's duals bound nothing"
            else:
                certified = float(bound) * (1 - CHECK_TOLERANCE) - rounding_margin(self.instance)
                self.dual, self.relaxed, self.relaxed_model = max(0.0, certified), form, built

    def add_tangents(self, built: Any) -> bool:
        """Add tangents at the point of the model's variables; return whether any is new."""
        new = self.estimate.add_tangents(*model.differences(built))
        if new:
            self.built = None
        return new

    def build(self) -> tuple[Any, StandardForm]:
        """Build and compile the model with the present estimate, unless that has been done."""
        if self.built is not None:
            return self.built
        self.run.announce(Stage.BUILDING, f"the model of {self.instance.name}")
        began = time.perf_counter()
        self.whole = self.whole or whole(self.shares, self.run)
        with no_collection():
            built = model.build(self.instance, self.estimate, self.excluded, self.data, self.whole)
            if self.adapt is not None:
                self.adapt(built)
            self.built = built, compile_model(built)
        self.build_seconds += time.perf_counter() - began
        return self.built

    def solve(self, built: Any, form: StandardForm) -> Outcome:
        """Solve one program, from the best placement unless that is excluded."""
        point = None
        if self.best is not None and self.best.home not in [s.home for s in self.excluded]:
            model.assign(self.instance, built, self.best)
            point = form.point()
        self.run.announce(Stage.SEARCHING, f"with {self.run.solver}, {form.size}")
        many = len(self.data.size) > _WITHOUT_SUB_PROGRAMS
        self.rounded_cost = _rounded_cost(form)
        return self.backend.solve(form, 0, self.part(), start=point, sub_programs=many)

    def lowered(self, bound: float) -> float:
        """Return a solver's bound on a program less the solver's tolerances."""
        return bound - SOLVER_PRECISION * abs(bound) - self.rounded_cost

    def offer(self, solution: Solution) -> None:
        """Keep a placement if it is the best."""
        report = (self.run.check or check)(self.instance, solution)
        if not report.feasible or report.objective is None:
            return
        if self.accept is not None and not self.accept(solution):
            return
        cost = report.objective.cost
        if self.exact_cost is None or cost < self.exact_cost:
            self.best, self.exact_cost, self.cost = solution, cost, float(cost)
            self.record()

    def refine(self, solution: Solution) -> bool:
        """Make the estimate exact at a placement; return whether this added a point."""
        state = state_of(self.data, homes_of(self.instance, solution))
        refined = self.estimate.refine(self.data, state)
        if refined:
            self.built = None
        return refined

    def record(self, bound: float = 0.0) -> None:
        """Report progress, with the bound of a program that is not solved yet."""
        self.run.record(self.cost if self.best else None, max(self.bound, min(bound, self.cost)))

    def closed(self, gap: float) -> bool:
        """Whether the best placement is within a relative gap of the bound."""
        return self.best is not None and self.cost - self.bound <= gap * self.cost

    def claim(
        self, status: Status, termination: Termination | None = None, reason: str = ""
    ) -> Claim:
        """Return the best placement and the bounds."""
        message, tree = self.message, f"{self.run.solver}'s tree"
        bounds = [Bound(self.indivisible, "certified", "whole tables and jobs")]
        if self.dual is not None:
            bounds.append(Bound(self.dual, "certified", "duals of the relaxation"))
        else:
            message = f"{message}; no certificate from the relaxation: {self.no_dual}".lstrip("; ")
        if self.exact_cost is not None and self.bound >= self.cost:
            bounds.append(Bound(self.exact_cost, "claimed", tree))
        elif self.claimed:
            bounds.append(Bound(self.claimed, "claimed", tree))
        return Claim(
            solution=self.best,
            status=status if self.best else Status.NO_SOLUTION,
            termination=termination,
            reason=reason,
            bounds=[bounds],
            solver_message=message,
            build_seconds=self.build_seconds,
            start=Start(True, "the search began from it") if self.run.start else None,
        )

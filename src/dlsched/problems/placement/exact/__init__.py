"""The exact method for placement: integer programs that estimate the cost, refined until exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dlsched.problems.placement import few_tables, model
from dlsched.problems.placement.definition.schema import Instance, Solution
from dlsched.problems.placement.exact.estimated_program import EstimatedProgram
from dlsched.problems.placement.heuristics import initial_state, solution_of
from dlsched.problems.placement.heuristics.annealing import Schedules, anneal, schedules
from dlsched.problems.placement.programs.tunables import TUNABLES
from dlsched.proofs.forms.limit import Unbuilt
from dlsched.registry.own import method
from dlsched.results.objective import SOLVER_PRECISION, TOLERANCE, Bound
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run, Stage
from dlsched.solvers.iis import infeasibility_reason
from dlsched.solvers.levels import SOLVER_LIBRARIES
from dlsched.solvers.standard_form import StandardForm

_CLOSED = 3 * SOLVER_PRECISION
"""Relative gap at which a bound in floating point equals a cost."""


@method("placement", kind="exact", preload=SOLVER_LIBRARIES)
def refinement(instance: Instance, run: Run) -> Claim:
    """Integer programs that estimate the cost from below, refined at each placement found.

    Exact because each program's bound is a bound on the cost, and each placement found gets points
    at which the next program is exact; there are finitely many. It stops when the bound equals the
    cost of the best placement, or with the gap that is left. It starts from the placements of
    heuristics where a time limit has a part for them, else from trials of annealing, a few where
    tables are few.
    """
    return Refinement(instance, run).search()


def refinable(
    instance: Instance, run: Run, adapt: Callable[[Any], object], accept: Callable[[Any], bool]
) -> Refinement:
    """Return the search of `refinement` for a variant: `adapt` adds its rows to each program.

    A placement that `accept` refuses is no answer, but the estimate is refined at it all the same.
    """
    return Refinement(instance, run, adapt, accept)


def refined(instance: Instance) -> Any:
    """Return the Pyomo model with the estimate with which `refinement` proves the optimum."""
    refinement = Refinement(instance, Run())
    refinement.search()
    return model.build(instance, refinement.estimate, whole=refinement.whole)


class Refinement(EstimatedProgram):
    """The rounds: the best placement, and the program that is refined at what each finds."""

    def search(self) -> Claim:
        """Run to a proof or a limit."""
        self.backend.validate_limits(self.run)
        self.bound_parts(self.run.remaining() / 2)
        self.start()
        return self.prove()

    def relaxation(self) -> Claim:
        """Return the bounds of the relaxation."""
        self.relax()
        return self.claim(Status.NO_SOLUTION, Termination.BOUND_ONLY)

    def prove(self) -> Claim:
        """Run to a proof or a limit, from the best placement so far."""
        # Rows of a variant may be about other placements than those that spreading rows know.
        spreading = TUNABLES.spreading_rounds if self.adapt is None and self.many_tables else 0
        self.relax(spreading=spreading, spreading_part=TUNABLES.spreading_part)
        claim = None
        while claim is None:
            stop = self.run.stop_reason()
            try:
                claim = self.claim(Status.FEASIBLE, stop) if stop else self.solve_round()
            except Unbuilt:
                stop = self.run.stop_reason() or Termination.TIME_LIMIT
                claim = self.claim(Status.FEASIBLE, stop)
        return claim

    def solve_round(self) -> Claim | None:
        """Solve one program, refine the estimate at its placement; return a claim at the end."""
        built, form = self.build()
        outcome = self.solve(built, form)
        self.message = outcome.message
        if outcome.status is Status.INFEASIBLE:
            if self.incumbent.solution is None:
                return self.infeasible(form)
            self.claimed = self.cost  # only excluded placements are left
            return self.claim(Status.OPTIMAL)
        refined, found = False, None
        if outcome.values is not None:
            form.load(outcome.values)
            found = model.read(self.instance, built)
            self.incumbent.offer(found)
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
        if len(self.excluded) == TUNABLES.most_excluded:
            return self.claim(
                Status.OPTIMAL if self.closed(TOLERANCE) else Status.FEASIBLE,
                Termination.TOLERANCES,
                f"the solver's tolerances leave a gap after {TUNABLES.most_excluded} exclusions",
            )
        self.cut_off(solution)
        return None

    def infeasible(self, form: StandardForm) -> Claim:
        """Return that there is no placement, and why."""
        every = "every placement breaks a limit, some by less than the solver's tolerances"
        reason = every if self.excluded else infeasibility_reason(form, self.run)
        return Claim(status=Status.INFEASIBLE, reason=reason)

    def start(self) -> None:
        """Keep the best of the start and of the heuristics' placements, else that of annealing."""
        self.incumbent.begin(lambda: [self.annealed()], lambda solution: solution)
        if not self.run.stop_reason():
            self.refine(self.incumbent.solution or self.annealed())

    def annealed(self) -> Solution:
        """Return a placement by annealing, with few trials if tables are few."""
        self.run.announce(Stage.SEARCHING, "a placement by annealing")
        planned = schedules(self.data)
        if few_tables(self.instance):
            trials = TUNABLES.few_trials * len(self.data.size)
            planned = Schedules(TUNABLES.few_schedules, trials)
        state = initial_state(self.instance, self.data, self.run)
        return solution_of(self.instance, anneal(self.data, state, self.part(), *planned))

    def closed(self, gap: float) -> bool:
        """Whether the best placement is within a relative gap of the bound."""
        return self.incumbent.value is not None and self.cost - self.bound <= gap * self.cost

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
        best = self.incumbent
        if best.value is not None and self.bound >= self.cost:
            bounds.append(Bound(best.value, "claimed", tree))
        elif self.claimed:
            bounds.append(Bound(self.claimed, "claimed", tree))
        return Claim(
            solution=best.solution,
            status=status if best.solution else Status.NO_SOLUTION,
            termination=termination,
            reason=reason,
            bounds=[bounds],
            solver_message=message,
            start=best.start,
        )

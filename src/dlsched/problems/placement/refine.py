"""Solve, evaluate truly, make the estimate exact there, repeat."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyomo.environ as pyo

from dlsched.objective import SOLVER_PRECISION, TOLERANCE, Bound
from dlsched.problems.placement import model
from dlsched.problems.placement.arrays import arrays
from dlsched.problems.placement.bounds import gpu_bound, storage_bound
from dlsched.problems.placement.check import TOLERANCE as CHECKERS
from dlsched.problems.placement.check import check
from dlsched.problems.placement.estimate import Estimate
from dlsched.problems.placement.heuristics import annealed, climbed, start_of
from dlsched.problems.placement.schema import Instance, Solution
from dlsched.problems.placement.tally import state_of
from dlsched.result import Claim, Start, Status
from dlsched.run import Run
from dlsched.schema import Number
from dlsched.solvers import highs
from dlsched.solvers.backend import find_backend
from dlsched.solvers.certificate import dual_bound
from dlsched.solvers.iis import infeasibility_reason
from dlsched.solvers.outcome import Outcome
from dlsched.solvers.standard_form import StandardForm, compile_model

_ROUNDS_OF_TANGENTS = 12
_WORTH = 1e-3
"""A round of tangents that raises the relaxation by less, relatively, is the last."""
_CLOSE = 3 * SOLVER_PRECISION
"""Relative gap at which a bound in floating point meets a cost."""
_REDUCED_COST = 1e-7
"""A solver's tolerance on reduced costs, in the unit that it sees."""
_QUICK = 20_000
"""Entries of a matrix with which exact arithmetic takes less than a second."""
_EXCLUDED = 100
"""Placements that are excluded one by one before the search ends with the gap that is left."""
_ANNEALED = 0.1
"""Share of the time limit that the start may take."""


class Refinement:
    """The state between the rounds: the estimate, the best placement, the bounds."""

    def __init__(self, instance: Instance, run: Run) -> None:
        self.instance, self.run = instance, run
        self.backend = find_backend(run.solver)
        self.data = arrays(instance)
        self.estimate = Estimate.coarse(self.data)
        self.best: Solution | None = None
        self.cost = float("inf")
        self.exact: Number | None = None  # the same, exactly
        self.whole = storage_bound(self.data) + gpu_bound(self.data)
        self.dual: float | None = None
        self.claimed = 0.0
        self.excluded: list[Solution] = []
        self.build_seconds = 0.0
        self.message = ""
        self.missing = "the relaxation was not solved"

    @property
    def bound(self) -> float:
        """The strongest bound, of whichever kind."""
        return max(self.whole, self.dual or 0.0, self.claimed)

    def search(self) -> Claim:
        """Run to a proof or a limit."""
        self.backend.validate_limits(self.run)
        self.start()
        self.relax()
        while True:
            stop = self.run.stop_reason()
            if stop:
                return self.claim(Status.FEASIBLE, stop)
            built, form = self.build()
            outcome = self.solve(built, form)
            self.message = outcome.message
            if outcome.status is Status.INFEASIBLE:
                if self.best is None:
                    return self.infeasible(form)
                self.claimed = self.cost  # nothing is left besides the excluded placements
                return self.claim(Status.OPTIMAL, "proved optimal")
            fresh, found = False, None
            if outcome.values is not None:
                form.load(outcome.values)
                found = model.read(self.instance, built)
                fresh = self.offer(found)
            if outcome.bound is not None:
                unit = float(form.conditioned(0)[0])
                off = SOLVER_PRECISION * abs(outcome.bound) + _REDUCED_COST * unit
                bound = outcome.bound - off
                if fresh and bound > self.cost * (1 + _CLOSE):
                    continue  # tolerances on costs far above the optimum: the next one is finer
                # No excluded placement is better than the best one.
                self.claimed = max(self.claimed, min(bound, self.cost))
            self.record()
            if self.closed():
                return self.claim(Status.OPTIMAL, "proved optimal")
            if outcome.status is not Status.OPTIMAL:
                return self.claim(Status.FEASIBLE, outcome.termination.sentence)
            if not fresh and found is not None:
                # The estimate is exact here, but HiGHS uses its tolerances to undercut it; or the
                # placement breaks a limit by less than these. Its cost is known, so go on without.
                if len(self.excluded) == _EXCLUDED:
                    return self.claim(*self.ended())
                self.excluded.append(found)

    def infeasible(self, form: StandardForm) -> Claim:
        """Return that there is no placement, and why."""
        reason = infeasibility_reason(form, self.run)
        if self.excluded:  # every one of them breaks a limit
            reason = "every placement breaks a limit, some by less than the solver's tolerances"
        return Claim(
            status=Status.INFEASIBLE,
            reason=reason,
            build_seconds=self.build_seconds,
        )

    def start(self) -> None:
        """Anneal for a first placement; points at it are worth having at once."""
        if self.run.start is not None:
            assert isinstance(self.run.start, Solution)
            self.offer(self.run.start)
            return
        limit = self.run.remaining()
        part = self.run.nested(_ANNEALED * limit)
        state = climbed(self.data, start_of(self.instance, self.data, part), part, None)
        if len(self.data.size) and len(self.data.capacity) > 1:
            trials = int(np.clip(300 * len(self.data.size), 3_000, 3_000_000))
            state = annealed(self.data, state, part, 1, trials)
        self.offer_state(state)

    def relax(self) -> None:
        """Add tangents at the optimum of the linear relaxation while that raises it.

        The duals of the last round give the certified bound.
        """
        last, multipliers = 0.0, None
        for _ in range(_ROUNDS_OF_TANGENTS):
            if self.run.stop_reason():
                break
            built, form = self.build()
            outcome = highs.solve(form, 0, self.run, relax=True)
            if outcome.duals is not None:
                multipliers = form, outcome.duals
            else:
                self.missing = f"the relaxation ended with {outcome.termination.sentence}"
            if outcome.values is None or outcome.bound is None:
                break
            form.load(outcome.values)
            changed = self.estimate.refine_at(
                {key: float(pyo.value(off)) for key, off in built.off.items()},
                {r: float(pyo.value(off)) for r, off in built.bytes_off.items()},
            )
            if not changed or outcome.bound <= last * (1 + _WORTH):
                break
            last = outcome.bound
        if multipliers is not None:
            stopped = self.run.stop_reason()
            if stopped and multipliers[0].A.nnz > _QUICK:
                self.missing = stopped
                return
            bound = dual_bound(multipliers[0], 0, multipliers[1])
            if bound is None:
                self.missing = "the relaxation's duals bound nothing"
            else:
                self.dual = max(0.0, float(bound) * (1 - CHECKERS))

    def build(self) -> tuple[Any, StandardForm]:
        """Build and compile the model with the estimate as it is."""
        began = time.perf_counter()
        built = model.build(self.instance, self.estimate, self.excluded, self.data)
        form = compile_model(built)
        self.build_seconds += time.perf_counter() - began
        return built, form

    def solve(self, built: Any, form: StandardForm) -> Outcome:
        """Solve one program."""
        point = None
        if self.best is not None and self.best.home not in [s.home for s in self.excluded]:
            model.assign(self.instance, built, self.best)
            point = form.point()
        return self.backend.solve(form, 0, self.run, start=point, quiet=True)

    def offer(self, solution: Solution) -> bool:
        """Evaluate a placement truly and refine there; return whether this changed the estimate."""
        index = self.instance.region_index
        home = [index[solution.home[table.id]] for table in self.instance.tables]
        return self.offer_state(state_of(self.data, home))

    def offer_state(self, state: Any) -> bool:
        """Take a state's placement if it is the best, and refine the estimate there."""
        regions = [region.id for region in self.instance.regions]
        home = {t.id: regions[r] for t, r in zip(self.instance.tables, state.home, strict=True)}
        solution = Solution(
            home=home,
        )
        report = check(self.instance, solution)
        if report.feasible and report.objective and float(report.objective.cost) < self.cost:
            self.best, self.exact = solution, report.objective.cost
            self.cost = float(report.objective.cost)
            self.record()
        return self.estimate.refine(self.data, state)

    def record(self) -> None:
        """Report progress."""
        self.run.record(self.cost if self.best else None, self.bound)

    def closed(self) -> bool:
        """Whether the bound meets the best placement."""
        allowed = max(_CLOSE, self.run.gap) * self.cost
        return self.best is not None and self.cost - self.bound <= allowed

    def ended(self) -> tuple[Status, str]:
        """Return what a search has proved whose bound stays below the best placement."""
        near = self.best is not None and self.cost - self.bound <= TOLERANCE * self.cost
        how = f"the gap left is within the solver's tolerances after {_EXCLUDED} exclusions"
        return (Status.OPTIMAL if near else Status.FEASIBLE), how

    def claim(self, status: Status, reason: str) -> Claim:
        """Return what is known."""
        start = None
        if self.run.start is not None:
            start = Start(True, "the search began from it")
        message = self.message
        bounds = [Bound(self.whole, "certified", "whole tables and jobs")]
        if self.dual is not None:
            bounds.append(Bound(self.dual, "certified", "duals of the relaxation"))
        else:
            message = f"{message}; no certificate from the relaxation: {self.missing}".lstrip("; ")
        if self.exact is not None and self.bound >= self.cost:
            bounds.append(Bound(self.exact, "claimed", f"{self.run.solver}'s tree"))
        elif self.claimed:
            bounds.append(Bound(self.claimed, "claimed", f"{self.run.solver}'s tree"))
        if self.best is None:
            status = Status.NO_SOLUTION
        return Claim(
            solution=self.best,
            status=status,
            reason=reason,
            bounds=[bounds],
            solver_message=message,
            build_seconds=self.build_seconds,
            start=start,
        )

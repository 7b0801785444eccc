"""The program that estimates the cost from below: its points, its relaxation, its solution."""

import math
import operator
import time
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dlsched.problems.placement import model
from dlsched.problems.placement.definition.check import TOLERANCE as CHECK_TOLERANCE
from dlsched.problems.placement.definition.check import check, rounding_margin
from dlsched.problems.placement.definition.schema import Instance, Solution
from dlsched.problems.placement.exact.spreading_rounds import solve_relaxation, spread
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.cost_rows import Whole
from dlsched.problems.placement.programs.indivisible_bounds import indivisible_cost, whole
from dlsched.problems.placement.programs.piecewise_estimate import Estimate
from dlsched.problems.placement.programs.rounding import below
from dlsched.problems.placement.programs.tunables import PRECISION, TUNABLES
from dlsched.problems.placement.structures.arrays import arrays, homes_of
from dlsched.problems.placement.structures.state import state_of
from dlsched.proofs.forms.limit import Unbuilt, poll, until
from dlsched.results.objective import SOLVER_PRECISION
from dlsched.results.result import Point
from dlsched.run import Run, Stage
from dlsched.schema import Number
from dlsched.solvers.backend import find_backend
from dlsched.solvers.certificate import dual_bound
from dlsched.solvers.incumbent import Incumbent
from dlsched.solvers.outcome import Outcome, Vector
from dlsched.solvers.overhead import no_collection
from dlsched.solvers.standard_form import StandardForm, compile_model


def _rounded_cost(form: StandardForm) -> float:
    """Return how much of a program's cost may be missed by a solver that rounds reduced costs.

    Columns whose costs are below its tolerance cost nothing to it, whatever their values.
    """
    unit, costs, _ = form.conditioned(0)
    costs = np.abs(costs)
    small = (costs > 0) & (costs <= PRECISION.reduced_cost)
    missed = costs[small] @ (form.upper - form.lower)[small]
    return float(unit) * (PRECISION.reduced_cost + float(missed))


class _Relaxed(NamedTuple):
    """An optimum of the relaxation: the Pyomo model, its form, and values and duals of the form."""

    built: Any
    form: StandardForm
    values: Vector | None
    duals: Vector


class EstimatedProgram:
    """The program with the estimate so far, the placements excluded from it, and its bounds."""

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
        self.incumbent: Incumbent[Solution, Number] = Incumbent(run, self.worth, operator.lt)
        self.indivisible, self.all_parts = 0.0, False
        self.whole: Whole | None = None
        self.dual: float | None = None
        self.relaxed: StandardForm | None = None  # of which `dual` is the bound
        self.relaxed_model: Any = None  # the form's variables know their names only as long as it
        self.claimed = 0.0
        self.excluded: list[Solution] = []
        self.built: dict[Fraction, tuple[Any, StandardForm]] = {}  # by the part left out
        self.rounded_cost = 0.0  # of the last program
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
    def many_tables(self) -> bool:
        """Whether the tree of the integer program rarely ends."""
        return len(self.data.size) > TUNABLES.proved_tables

    @property
    def cost(self) -> float:
        """The cost of the best placement, infinite without one."""
        return math.inf if self.incumbent.value is None else float(self.incumbent.value)

    def worth(self, solution: Solution) -> Number | None:
        """Return a placement's cost; ``None`` if it is not feasible, or not accepted."""
        report = (self.run.check or check)(self.instance, solution)
        if not report.feasible or report.objective is None:
            return None
        accepted = self.accept is None or self.accept(solution)
        return report.objective.cost if accepted else None

    @property
    def bound(self) -> float:
        """The strongest bound, certified or claimed."""
        return max(self.indivisible, self.dual or 0.0, self.claimed)

    def bound_parts(self, seconds: float = math.inf) -> None:
        """Find a bound from indivisible tables and jobs, unless that has been done to the end."""
        if self.all_parts:
            return
        self.run.announce(Stage.SEARCHING, "what indivisible tables and jobs leave")
        part = self.run.nested(seconds)
        self.whole = whole(self.shares, part)
        self.indivisible = below(indivisible_cost(self.shares, self.whole))
        self.all_parts = part.stop_reason() is None
        self.record()

    def relax(
        self,
        spreading: int = 0,
        spreading_part: float = 1.0,
    ) -> None:
        """Add tangents, then spreading rows, at the optimum of the relaxation while that raises it.

        The duals of the last round give the certified bound.

        Parameters
        ----------
        spreading
            Solutions of the relaxation at most with spreading rows.
        spreading_part
            Of what is left of a limit, for spreading rows.
        """
        self.bound_parts()
        rounds = TUNABLES.tangent_rounds
        accuracy = None
        if spreading and self.many_tables:  # rounds of spreading rows have tangents, too
            rounds = 1
            accuracy = TUNABLES.accuracies[-1]
        solved = self._relax_with_tangents(rounds, accuracy)
        if solved is None:
            return
        self.certify(solved.built, solved.form, solved.duals)
        if spreading and solved.values is not None:
            part = self.run.nested(spreading_part * self.run.remaining())
            spread_form = spread(solved.form, solved.values, self.shares, part, spreading)
            if spread_form is not None:
                self.certify(solved.built, *spread_form)

    def _relax_with_tangents(self, rounds: int, accuracy: float | None) -> _Relaxed | None:
        """Solve the relaxation, and add tangents at its optimum, while that raises it.

        Returns
        -------
        _Relaxed
            The last optimum with duals; ``None`` if there is none, and `no_dual` says why.
        """
        solved = None
        last = 0.0
        # A variant's rows may be about what is left out.
        light = TUNABLES.light_reads if self.many_tables and self.adapt is None else Fraction(0)
        while rounds and not self.run.stop_reason():
            rounds -= 1
            try:
                built, form = self.build(light)
            except Unbuilt as error:
                self.no_dual = str(error)
                break
            self.run.announce(Stage.SEARCHING, f"the linear relaxation, {form.size}")
            outcome = solve_relaxation(form, self.run, accuracy)
            if outcome.duals is not None:
                solved = _Relaxed(built, form, outcome.values, outcome.duals)
            else:
                self.no_dual = f"the relaxation ended with {outcome.termination.sentence}"
            reached = outcome.objective if outcome.bound is None else outcome.bound
            if outcome.values is None or reached is None:
                break
            form.load(outcome.values)
            if not self.add_tangents(built) or reached <= last * (1 + TUNABLES.least_increase):
                break
            last = reached
        return solved

    def certify(self, built: Any, form: StandardForm, duals: Vector) -> None:
        """Keep the bound that duals give, and the form, if it is the strongest one so far."""
        stop = self.run.stop_reason()
        if stop and form.A.nnz > TUNABLES.certified:
            self.no_dual = stop.sentence
            return
        bound = dual_bound(form, 0, duals)
        if bound is None:
            self.no_dual = "the relaxation's duals bound nothing"
            return
        certified = float(bound) * (1 - CHECK_TOLERANCE) - rounding_margin(self.instance)
        if self.dual is None or certified > self.dual:
            self.dual, self.relaxed, self.relaxed_model = max(0.0, certified), form, built
            self.record()

    def add_tangents(self, built: Any) -> bool:
        """Add tangents at the point of the model's variables; return whether any is new."""
        new = self.estimate.add_tangents(*model.differences(built))
        if new:
            self.built.clear()
        return new

    def refine(self, solution: Solution) -> bool:
        """Make the estimate exact at a placement; return whether this added a point."""
        state = state_of(self.data, homes_of(self.instance, solution))
        refined = self.estimate.refine(self.data, state)
        if refined:
            self.built.clear()
        return refined

    def model_with(
        self, adapt: Callable[[Any], object] | None, light: Fraction = Fraction(0)
    ) -> Any:
        """Return the Pyomo model with the present estimate and what is excluded, changed."""
        if self.whole is None:
            self.bound_parts()
        built = model.build(
            self.instance, self.estimate, self.excluded, self.data, self.whole, light
        )
        if adapt is not None:
            adapt(built)
        return built

    def cut_off(self, solution: Solution) -> None:
        """Exclude a placement from the programs to come."""
        self.excluded.append(solution)
        self.built.clear()

    def build(self, light: Fraction = Fraction(0)) -> tuple[Any, StandardForm]:
        """Build and compile the model with the present estimate, unless that has been done.

        Parameters
        ----------
        light
            Part of all bytes read that is left out; see `model.build`.

        Raises
        ------
        Unbuilt
            If a limit of the run strikes before, or is sure to.
        """
        if light in self.built:
            return self.built[light]
        self.run.announce(Stage.BUILDING, f"the model of {self.instance.name}")
        began = time.perf_counter()
        with no_collection(), until(self.run.stop_reason, "the model was built"):
            built = self.model_with(self.adapt, light)
            poll()
            if TUNABLES.compiling * (time.perf_counter() - began) > self.run.remaining():
                raise Unbuilt("time limit, before the model was built")
            self.built[light] = built, compile_model(built)
        return self.built[light]

    def solve(self, built: Any, form: StandardForm) -> Outcome:
        """Solve one program, from the best placement unless that is excluded."""
        point = None
        best = self.incumbent.solution
        if best is not None and best.home not in [s.home for s in self.excluded]:
            model.assign(self.instance, built, best)
            point = form.point()
        self.run.announce(Stage.SEARCHING, f"with {self.run.solver}, {form.size}")
        self.rounded_cost = _rounded_cost(form)
        return self.backend.solve(form, 0, self.part(), start=point, sub_programs=self.many_tables)

    def lowered(self, bound: float) -> float:
        """Return a solver's bound on a program less the solver's tolerances."""
        return bound - SOLVER_PRECISION * abs(bound) - self.rounded_cost

    def part(self, seconds: float = math.inf) -> Run:
        """Return a run for a part of the search, whose progress is reported with what is known."""
        part = self.run.nested(seconds, self.run.gap)
        part.log = self.run.log
        part.on_progress = self.report
        return part

    def report(self, point: Point) -> None:
        """Report that a part of the search has made progress."""
        self.record(0.0 if point.bound is None else self.lowered(point.bound))

    def record(self, bound: float = 0.0) -> None:
        """Report progress, with the bound of a program that is not solved yet."""
        self.incumbent.bound = max(self.bound, min(bound, self.cost))
        self.incumbent.record()

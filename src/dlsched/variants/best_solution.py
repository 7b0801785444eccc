"""The best solution of a search so far, and the model of a variant whose points are solutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched.results.objective import Objective
from dlsched.run import Run, Stage
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution
from dlsched.solvers.garbage import no_collection
from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import StandardForm, compile_model
from dlsched.variants.changed_model import Change
from dlsched.variants.evaluation import describe
from dlsched.variants.neighbourhoods import Mask

if TYPE_CHECKING:
    from dlsched.variants.problem import VariantProblem


class BestSolution:
    """The best solution that was offered, and the changed model that has it as a point."""

    def __init__(self, instance: Instance, run: Run, owner: VariantProblem) -> None:
        self.instance, self.run, self.owner = instance, run, owner
        self.best: Solution | None = None
        self.objective: Objective | None = None
        self.violated = ""
        self.change: Change | None = None
        self._refinement: Any = None

    def offer(self, solution: Any) -> bool:
        """Check a solution; keep it if it is the best, and return whether it is."""
        if not isinstance(solution, Solution):
            return False
        report = self.owner.check(self.instance, solution)
        if not report.feasible or report.objective is None:
            if report.violations and not self.violated:
                self.violated = describe(report.violations)
            return False
        if self.objective is not None and not report.objective.better_than(self.objective):
            return False
        self.best, self.objective = solution, report.objective
        self.run.record(float(report.objective[0]), None)
        return True

    def program(self) -> tuple[Any, StandardForm]:
        """Return the changed model and its compiled form; of placement with the last estimate."""
        if self.owner.refined:
            return self._refined().build()  # type: ignore[no-any-return]
        if self.change is None:
            self.run.announce(Stage.BUILDING, f"the model of {self.instance.name}")
            with no_collection():
                self.change = self.owner.model.change(self.instance)
                self._form = compile_model(self.change.model)
        return self.change.model, self._form

    def _refined(self) -> Any:
        """Return the problem's own refinement of its estimate, with the variant's rows."""
        if self._refinement is None:
            adapt = self.owner.model.adapt(self.instance)

            def keep(model: Any) -> None:
                self.change = adapt(model)

            def accept(solution: Any) -> bool:
                return self.owner.check(self.instance, solution).feasible

            exact = self.owner.base.module("exact")
            run = self.run.nested()
            run.check = None  # `accept` knows the variant, whose levels may be others
            self._refinement = exact.refinable(self.instance, run, keep, accept)
        return self._refinement

    def point(self, model: Any, form: StandardForm, solution: Solution) -> Vector:
        """Return the point of a solution; added variables without a value are at a bound."""
        if self.owner.refined:
            assert self.change is not None
            self.owner.model.set_values(self.instance, self.change, solution)
        else:
            self.owner.model.assign(self.instance, model, solution)
        values = [v.value for v in form.variables]
        near = np.clip(np.zeros(len(values)), form.lower, form.upper)
        return np.array(
            [at if v is None else v for v, at in zip(values, near.tolist(), strict=True)],
            dtype=float,
        )

    def take(
        self, model: Any, form: StandardForm, point: Vector, free: Mask, values: Vector
    ) -> bool:
        """Offer the solution of a point with other values of the free columns."""
        changed = point.copy()
        changed[free] = values
        form.load(changed)
        solution = self.owner.model.read(self.instance, model)
        better = self.offer(solution)
        if self.owner.refined:
            self._refined().refine(solution)
        return better

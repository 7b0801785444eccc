"""The exact values of a point's levels: from whole numbers where costs are, else by the checker."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

from dlsched.results.objective import Objective
from dlsched.results.result import Report
from dlsched.schema.quantities import Number, simplify
from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import StandardForm

Check: TypeAlias = Callable[[Any, Any], Report]
"""A problem's checker."""


@dataclass
class ExactLevels:
    """The levels of the points of one model, as exactly as they can be had.

    Attributes
    ----------
    check
        The checker of the solutions that `read` returns of the variables' values; ``None`` where it
        does not say what the model's levels are.
    """

    instance: Any
    read: Callable[[], Any]
    check: Check | None
    _last: tuple[Vector | None, Objective | None] = field(default=(None, None), init=False)

    def value(self, form: StandardForm, level: int, point: Vector) -> Number | float:
        """Return a point's value of a level, exactly if the level has a granularity.

        Where doubles do not hold costs in units of it, the checker sums them.
        """
        value = form.value(level, point)
        granularity = form.granularities[level]
        if form.counted(level):
            return simplify(round(Fraction(value) / granularity) * granularity)
        objective = self._checked(form, point) if granularity else None
        return objective.as_dict().get(form.level_names[level], value) if objective else value

    def _checked(self, form: StandardForm, point: Vector) -> Objective | None:
        """Return a point's objective by the checker; ``None`` if it is not feasible."""
        if self.check is None:
            return None
        known, objective = self._last
        if known is not point:
            form.load(point)
            report = self.check(self.instance, self.read())
            objective = report.objective if report.feasible else None
            self._last = point, objective
        return objective

    def worse_before(
        self, form: StandardForm, optima: Sequence[Number | float], point: Vector
    ) -> str | None:
        """Return the name of a level that is held at its optimum and at which a point is worse.

        The row that holds it has a solver's tolerance.
        """
        for level, optimum in enumerate(optima):
            value = self.value(form, level, point)
            exact = not isinstance(value, float) and not isinstance(optimum, float)
            if exact and form.sign(level) * (value - optimum) > 0:
                return form.level_names[level]
        return None

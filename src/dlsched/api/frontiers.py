"""The frontier of two levels: every nondominated point, each proved to be one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dlsched.api.loading import InstanceLike, load
from dlsched.api.solving import solve
from dlsched.errors import OptionError
from dlsched.results.objective import Objective
from dlsched.results.result import Status
from dlsched.schema.envelope import Instance
from dlsched.variants import Level, VariantLike, VariantProblem, variant_of
from dlsched.variants.definition import extended
from dlsched.variants.exact_values import coefficients, exact, exact_coefficients
from dlsched.variants.names import add_beside
from dlsched.variants.owner import changed_problem_of
from dlsched.variants.rows import state_row, step_of

if TYPE_CHECKING:
    import pandas

_STEP = Fraction(1, 10**5)
"""Where a level's values have no common step, the next point is better by this part at least."""
_FINEST = Fraction(1, 10**9)
"""A common step that is a smaller part of a value is none: solvers cannot tell the two apart."""
_LEAST = Fraction(1, 10**9)
"""The least value of which that part is taken, or else the least cost of a variable."""


def _beyond(objective: Objective, levels: Sequence[str | Level]) -> Callable[[Any, Any], None]:
    """Return a function that adds a row: the second level is better than in an objective."""
    level, value = levels[1], float(objective[1])
    minimized = objective.levels[1].sense == "min"

    def limit(m: Any, instance: Any) -> None:
        import pyomo.core as pyo

        expression = m.component(level).expr if isinstance(level, str) else level.expr(m, instance)
        least = [abs(c) for c in exact_coefficients(expression)[0].values() if c]
        size = max(abs(exact(value)), min(least, default=_LEAST), _LEAST)
        step = step_of(expression)
        if step < _FINEST * size:
            step = _STEP * size
        end = float(exact(value) + (-step if minimized else step))
        limits = pyo.ConstraintList()
        add_beside(m, "level_limits", limits)
        state_row(m, limits, expression <= end if minimized else expression >= end)

    return limit


def frontier(
    instance: InstanceLike,
    levels: tuple[str | Level, str | Level],
    *,
    variant: VariantLike = None,
    **solve_options: Any,
) -> pandas.DataFrame:
    """Return every nondominated point of two levels, each proved to be one.

    Parameters
    ----------
    levels
        Names of two of the problem's levels, or levels of one's own.
    variant
        A change of the problem; its own levels are not looked at.

    Returns
    -------
    pandas.DataFrame
        Columns named as the levels, from the best value of the first to the best of the second;
        ``status`` of each point, which a limit may leave unproved. Where the values of a level have
        no common step of a billionth of them at least, points that differ by less than 1e-5 of them
        are one. Where a search ends without a point and without a proof that there is none, the
        last row has only its status.
    """
    import pandas
    from pyomo.core import Objective

    if len(levels) != 2:
        raise OptionError(f"a frontier has two levels, not {len(levels)}")
    inst, variant = load(instance), variant_of(variant)
    pair = list(levels)
    first = changed_problem_of(inst, extended(inst, variant, "both", levels=pair))
    # The limit is on the level with fewer values: it takes them one after the other.
    one, other = (
        (_may_limit(first, inst, o.expr), step_of(o.expr))
        for o in first.model.build(inst).component_objects(ctype=Objective)
    )
    turned = one > other
    order = pair[::-1] if turned else pair
    rows: list[dict[str, Any]] = []
    unfinished = False
    add: Callable[[Any, Any], None] | None = None
    while True:
        changed = extended(inst, variant, f"point-{len(rows) + 1}", add, levels=order)
        result = solve(inst, variant=changed, **solve_options)
        if result.objective is None:
            unfinished = result.status is not Status.INFEASIBLE
            break
        rows.append(result.objective.map(float).as_dict() | {"status": str(result.status)})
        if result.status is not Status.OPTIMAL:
            break
        add = _beyond(result.objective, order)
    names = [level if isinstance(level, str) else level.name for level in pair]
    rows = rows[::-1] if turned else rows
    rows += [{"status": str(result.status)}] if unfinished else []
    return pandas.DataFrame(rows, columns=[*names, "status"])


def _may_limit(owner: VariantProblem, instance: Instance, expression: Any) -> bool:
    """Whether a row may name all variables of a level: of some of a problem's it may not."""
    named = getattr(owner.base.module("model"), "NAMEABLE", None)
    own = {id(variable) for variable in owner.model.change(instance).variables}
    return named is None or all(
        id(v) in own or v.parent_component().local_name in named
        for v, _ in coefficients(expression)
    )

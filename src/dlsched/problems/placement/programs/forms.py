"""The form for proofs: the model with the points that a proof states, in integers.

It has no rows for what indivisible tables and jobs leave at least, since a search finds that.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dlsched.problems.placement import model
from dlsched.problems.placement.definition.schema import Instance
from dlsched.problems.placement.programs.attainable_demands import Gaps, attainable
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.cost_rows import reads
from dlsched.problems.placement.programs.piecewise_estimate import Estimate
from dlsched.proofs.forms.compiled import form_of
from dlsched.proofs.forms.form import Form
from dlsched.proofs.forms.parameters import require_keys, wholes
from dlsched.solvers.standard_form import StandardForm, compile_model

POINT_BITS = 40
"""Points of parameters are shares in multiples of two to minus this."""
_BITS = 44
"""Squares are sums of many terms, and nine digits of their weighted sum are proved."""
_NARROWEST = Fraction(1, 10**8)
"""As of `Estimate`: nine digits of the cost do not see it, and a solver mostly does."""
_KEYS = ("squares", "stored", "steps")

Points = Mapping[tuple[int, ...], list[Fraction]]


def estimate(instance: Instance, parameters: Mapping[str, Any]) -> Form:
    """Return the program of an estimate of the cost from below, valid whatever the parameters are.

    Parameters
    ----------
    parameters
        Lists of positions and then points, in multiples of two to minus `POINT_BITS`. ``squares``:
        region, type, priority, and shares of the demand over which the square has a chord, or at
        which it has a tangent; ``stored``: region, and shares of all bytes at which it has a
        tangent; ``steps``: region, type, and shares of the type's demand from which the sigmoid has
        a step.
    """
    built = _built(instance, parameters)
    return _form(instance, built, compile_model(built))


def named_estimate(
    instance: Instance, parameters: Mapping[str, Any]
) -> tuple[Form, Mapping[str, Mapping[Any, int]]]:
    """Return the same program for variants, and the columns of what these may name.

    What is near is then stated in both directions.
    """
    built = _built(instance, parameters)
    model.complete(built, instance)
    compiled = compile_model(built)
    columns = model.columns_by_name(compiled)
    return _form(instance, built, compiled), {name: columns[name] for name in model.NAMEABLE}


FORMS: dict[str, Callable[[Instance, Mapping[str, Any]], Form]] = {"estimate": estimate}
NAMED_FORMS = {"estimate": named_estimate}
"""The forms for proofs of variants, with the columns of the variables that these may name."""


def _form(instance: Instance, built: Any, compiled: StandardForm) -> Form:
    """Return the form of the model, in which no placement has traffic below 0.

    The model has a constant less what is read locally. Rounded apart from each other they may be
    below 0 in total; so shares are rounded down, and the constant is their sum.
    """
    form = form_of("estimate", compiled, _BITS)
    [goal] = form.goals
    columns = {id(variable): j for j, variable in enumerate(compiled.variables)}
    weight = Fraction(instance.weights.traffic) / goal.unit
    parts = [(math.floor(weight * share), local) for share, local in reads(built, Shares(instance))]
    costs = {columns[id(variable)]: -part for part, local in parts for variable in local}
    constant = sum(part for part, _ in parts)
    return replace(form, goals=[replace(goal, costs={**goal.costs, **costs}, offset=constant)])


def _built(instance: Instance, parameters: Mapping[str, Any]) -> Any:
    """Return the model with the points of some parameters."""
    require_keys("estimate", parameters, (), _KEYS)
    squares, stored, steps = (
        _points(parameters.get(name, []), positions)
        for name, positions in zip(_KEYS, (3, 1, 2), strict=True)
    )
    shares = Shares(instance)
    points = Estimate(narrowest=_NARROWEST)
    demands = attainable(shares)
    second = instance.version == "v2"
    for r, supply in enumerate(shares.supply):
        for k, p in shares.demand:
            key = (r, k, p)
            if (k, p) in demands:
                points.gaps[key] = Gaps(demands[k, p], float(supply[k]))
            points.shares[key] = [float(point - supply[k]) for point in squares.get(key, [])]
        for k in range(len(instance.kinds)):
            points.steps[r, k] = list(map(float, steps.get((r, k), []))) if second else []
        if second and instance.total_size and instance.total_capacity:
            points.bytes[r] = [float(point - shares.capacity[r]) for point in stored.get((r,), [])]
    return model.build(instance, points)


def _points(rows: Any, positions: int) -> Points:
    """Return the points by position; those beyond 0 and 1 are refused."""
    by_position: dict[tuple[int, ...], list[Fraction]] = {}
    for row in rows if isinstance(rows, list) else [rows]:
        if not wholes(row):
            raise ValueError("the form estimate needs lists of integers")
        points = {Fraction(v, 2**POINT_BITS) for v in row[positions:]}
        if any(not 0 <= point <= 1 for point in points):
            raise ValueError("a point of the form estimate is not between 0 and 1")
        by_position[tuple(row[:positions])] = sorted(points)
    return by_position

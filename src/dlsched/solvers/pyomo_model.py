"""A standard form as a Pyomo model, for Pyomo's solvers and writers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import INF, StandardForm


def pyomo_model(
    form: StandardForm,
    level: int,
    start: Vector | None = None,
    *,
    conditioned: bool = True,
    minimize: bool = False,
) -> Any:
    """Return a Pyomo model of one level.

    Parameters
    ----------
    form, level
        The rows and columns; index of the level to optimize.
    start
        Initial values of the variables; the values nearest to 0 by default.
    conditioned
        Whether the objective is in the unit of `StandardForm.conditioned`, or in its own.
    minimize
        Whether the negative of an objective that is maximized is minimized. Pyomo takes the bounds
        that CBC states of a maximization with the wrong sign.

    Returns
    -------
    pyomo.environ.ConcreteModel
        With ``x[column]``, ``rows[row]`` and ``objective``. Rows without variables are left out.
    """
    import pyomo.core as pyo
    from pyomo.core.expr import LinearExpression

    def linear(columns: NDArray[Any], weights: Vector, constant: float = 0.0) -> Any:
        variables = [x[j] for j in columns.tolist()]
        return LinearExpression(
            constant=constant, linear_coefs=weights.tolist(), linear_vars=variables
        )

    bounds = _intervals(form.lower, form.upper)
    point = np.clip(0.0, form.lower, form.upper) if start is None else start
    m = pyo.ConcreteModel()
    m.x = pyo.Var(
        range(len(bounds)),
        bounds=lambda _, j: bounds[j],
        domain=lambda _, j: pyo.Integers if form.integer[j] else pyo.Reals,
        initialize=point.tolist(),
    )
    x = list(m.x.values())
    m.rows = pyo.Constraint(range(form.shape[0]))
    rows = form.A.tocsr()
    for i, (low, high) in enumerate(_intervals(form.row_lower, form.row_upper)):
        entries = slice(rows.indptr[i], rows.indptr[i + 1])
        if rows.indices[entries].size:  # some solvers refuse a row without variables
            body = linear(rows.indices[entries], rows.data[entries])
            m.rows.add(i, body == low if low == high else (low, body, high))
    costs = form.costs[level]
    offset = form.offsets[level]
    if conditioned:
        _, costs, offset = form.conditioned(level)
    if minimize:
        costs, offset = form.sign(level) * costs, form.sign(level) * offset
    paid = np.flatnonzero(costs)
    sense = pyo.minimize if minimize or form.sign(level) == 1 else pyo.maximize
    m.objective = pyo.Objective(expr=linear(paid, costs[paid], offset), sense=sense)
    return m


def _intervals(lower: Vector, upper: Vector) -> list[tuple[float | None, float | None]]:
    """Return pairs of limits, ``None`` for none."""
    lows = [low if low > -INF else None for low in lower.tolist()]
    highs = [high if high < INF else None for high in upper.tolist()]
    return list(zip(lows, highs, strict=True))

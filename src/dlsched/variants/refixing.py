"""The same changed model with other variables fixed: what many decisions are tried with."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dlsched.solvers.row_scale import RowScale
from dlsched.solvers.standard_form import COMPILED, StandardForm, compile_model
from dlsched.variants.changed_model import FIXED, Change, fix_variables
from dlsched.variants.definition import Variant
from dlsched.variants.exact_values import coefficients
from dlsched.variants.names import Names, named_later
from dlsched.variants.rows import row_scale

_UNFIXED = "UNFIXED"
"""Attribute of a model: what of it does not depend on what is fixed."""


def may_refix(variant: Variant, other: Change) -> bool:
    """Whether a model has what the variant fixes, also of variables that are there once named."""
    later = tuple(f"{name}[" for name in named_later(other.model))
    return not any(name.startswith(later) for name in variant.fix if later)


def refix(variant: Variant, other: Change) -> Change:
    """Return a change of the same model with other variables fixed, which replace those before."""
    model = other.model
    if model.component(FIXED) is not None:
        model.del_component(FIXED)
    before = [row for row in other.constraints if row.parent_component() is not None]
    rows = [row for row in before if row.parent_component().local_name != FIXED]
    if not hasattr(model, _UNFIXED):
        setattr(model, _UNFIXED, _unfixed(model))
    unfixed: _Unfixed = getattr(model, _UNFIXED)
    fix_variables(variant, model, unfixed.names)
    component = model.component(FIXED)
    fixed = list(component.values()) if component is not None else []
    scales = {row.name: row_scale(row) for row in fixed}
    model.ROW_SCALES = unfixed.scales | scales
    setattr(model, COMPILED, unfixed.with_rows(fixed, scales))
    return replace(other, constraints=rows + fixed)


class _Unfixed(NamedTuple):
    """What of a model is the same whatever is fixed, so that many decisions are tried quickly.

    ``form`` is the model compiled, or ``None`` if it cannot be; ``columns`` are those of the
    variables, by their ids.
    """

    form: StandardForm | None
    columns: dict[int, int]
    names: Names
    scales: dict[str, RowScale]

    def with_rows(self, rows: list[Any], scales: dict[str, RowScale]) -> StandardForm | None:
        """Return the compiled model with rows that fix variables; None if it is to be compiled."""
        from scipy import sparse

        if self.form is None:
            return None
        form = self.form
        indices, values, limits = [], [], []
        for row in rows:
            [(variable, _)] = coefficients(row.body)
            if id(variable) not in self.columns:
                return None
            scale = scales[row.name]
            indices.append(self.columns[id(variable)])
            unit = 1.0 if form.units is None else form.units[self.columns[id(variable)]]
            values.append(scale.coefficient(variable) * unit)
            limits.append(scale.limit(0))
        shape = (len(rows), form.shape[1])
        added = sparse.csc_array((values, (range(len(rows)), indices)), shape=shape)
        return replace(
            form,
            A=sparse.csc_array(sparse.vstack([form.A, added], format="csc")),
            row_lower=np.append(form.row_lower, limits),
            row_upper=np.append(form.row_upper, limits),
            constraints=[*form.constraints, *rows],
        )


def _unfixed(model: Any) -> _Unfixed:
    """Compile a model without what is fixed."""
    from pyomo.common.errors import InfeasibleConstraintException

    setattr(model, COMPILED, None)
    form: StandardForm | None = None
    with suppress(InfeasibleConstraintException):  # which its solution says
        form = compile_model(model)
    columns = {id(v): j for j, v in enumerate(form.variables)} if form is not None else {}
    scales = {n: s for n, s in model.ROW_SCALES.items() if not n.startswith(f"{FIXED}[")}
    return _Unfixed(form, columns, Names(model), scales)

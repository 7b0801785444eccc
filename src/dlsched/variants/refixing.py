"""The same changed model with other variables fixed: what many decisions are tried with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dlsched.solvers.row_scale import RowScale
from dlsched.solvers.standard_form import COMPILED, StandardForm, compile_model
from dlsched.variants.changed_model import FIXED, Change, fix_variables
from dlsched.variants.definition import Variant
from dlsched.variants.names import Names, named_later
from dlsched.variants.rows import row_scale


class _Unfixed(NamedTuple):
    """What of a model is the same whatever is fixed; no form if it cannot be compiled.

    It is the model's attribute ``UNFIXED``.
    """

    form: StandardForm | None
    names: Names
    scales: dict[str, RowScale]


def refix(variant: Variant, other: Change) -> Change | None:
    """Return a change of the same model with other variables fixed, which replace those before.

    ``None`` if the variant fixes variables that are there only once they are named.
    """
    model = other.model
    if any(name.partition("[")[0] in named_later(model) for name in variant.fix):
        return None
    if model.component(FIXED) is not None:
        model.del_component(FIXED)
    parents = (getattr(row.parent_component(), "local_name", FIXED) for row in other.constraints)
    rows = [r for r, parent in zip(other.constraints, parents, strict=True) if parent != FIXED]
    if not hasattr(model, "UNFIXED"):
        model.UNFIXED = _unfixed(model)
    unfixed: _Unfixed = model.UNFIXED
    fix_variables(variant, model, unfixed.names)
    fixed = list(model.component(FIXED).values()) if variant.fix else []
    scales = {row.name: row_scale(row) for row in fixed}
    model.ROW_SCALES = unfixed.scales | scales
    setattr(model, COMPILED, unfixed.form and _with_rows(unfixed.form, fixed, scales))
    return replace(other, constraints=rows + fixed)


def _unfixed(model: Any) -> _Unfixed:
    """Compile a model without what is fixed."""
    from pyomo.common.errors import InfeasibleConstraintException

    setattr(model, COMPILED, None)
    form: StandardForm | None = None
    with suppress(InfeasibleConstraintException):  # which its solution says
        form = compile_model(model)
    scales = {n: s for n, s in model.ROW_SCALES.items() if not n.startswith(f"{FIXED}[")}
    return _Unfixed(form, Names(model), scales)


def _with_rows(
    form: StandardForm, rows: Sequence[Any], scales: Mapping[str, RowScale]
) -> StandardForm | None:
    """Return a form with rows that fix variables; None if the model is to be compiled anew."""
    from scipy import sparse

    columns = {id(variable): j for j, variable in enumerate(form.variables)}
    added = sparse.lil_array((len(rows), form.shape[1]))
    limits = []
    for i, row in enumerate(rows):
        scale = scales[row.name]
        [(key, coefficient)] = scale.row.terms.items()
        if key not in columns:
            return None
        unit = 1.0 if form.units is None else form.units[columns[key]]
        added[i, columns[key]] = float(coefficient * scale.factor) * unit
        limits.append(scale.limit(0))
    return replace(
        form,
        A=sparse.csc_array(sparse.vstack([form.A, added], format="csc")),
        row_lower=np.append(form.row_lower, limits),
        row_upper=np.append(form.row_upper, limits),
        constraints=[*form.constraints, *rows],
    )

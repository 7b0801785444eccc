"""Forms of models and drafts: rounding is outward, and close."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proof_cases import checked, satisfies
from scipy import sparse

from dlsched.doctor import StandardForm
from dlsched.proofs.forms.compiled import form_of
from dlsched.proofs.forms.draft import Draft
from drawing import draws

EXACT = st.one_of(
    st.integers(-6, 6).map(Fraction),
    st.fractions(-5, 5, max_denominator=7),
    st.decimals(-4, 4, places=3).map(Fraction),
    st.fractions(-5, 5, max_denominator=9).map(lambda v: v * 10**7),
)


@given(st.data())
@settings(checked, max_examples=draws(80))
def test_rounding_is_outward(data: st.DataObject) -> None:
    """A point that satisfies the exact rows satisfies the form; its level is no less."""
    columns = data.draw(st.integers(1, 3))
    x = [data.draw(st.integers(-3, 3)) for _ in range(columns)]
    lower = [v - data.draw(st.integers(0, 3)) for v in x]
    upper = [v + data.draw(st.integers(0, 3)) for v in x]
    row = [data.draw(EXACT) for _ in range(columns)]
    cost = [data.draw(EXACT) for _ in range(columns)]
    offset, value = data.draw(EXACT), sum(a * v for a, v in zip(row, x, strict=True))
    sides = data.draw(st.sampled_from([(1, 0), (0, 1), (1, 1)]))  # tight where a side is 1
    sense = data.draw(st.sampled_from(["min", "max"]))
    compiled = StandardForm(
        A=sparse.csc_array(np.array([row], dtype=float)),
        row_lower=np.array([float(value) if sides[0] else -np.inf]),
        row_upper=np.array([float(value) if sides[1] else np.inf]),
        lower=np.array(lower, dtype=float),
        upper=np.array(upper, dtype=float),
        integer=np.ones(columns, dtype=bool),
        costs=(np.array(cost, dtype=float),),
        offsets=(float(offset),),
        senses=(sense,),
        granularities=(Fraction(0),),
    )
    form = form_of("drawn", compiled)
    assert all(satisfies(row, x) for row in form.rows)
    goal = form.goals[0]
    stated = goal.unit * (sum(c * x[j] for j, c in goal.costs.items()) + goal.offset)
    level = goal.sign * (sum(c * v for c, v in zip(cost, x, strict=True)) + offset)
    assert stated == level if goal.exact else stated <= level
    assert float(level - stated) <= 1e-8 * (1 + max(map(abs, [*cost, offset])))


def test_columns_need_bounds() -> None:
    """A column without a finite bound has no bound from multipliers, and is refused."""
    compiled = StandardForm.of(
        sparse.csc_array(np.ones((1, 1))), np.ones(1), np.ones(1), np.array([np.inf]), np.ones(1),
        sense="min",
    )  # fmt: skip
    with pytest.raises(ValueError, match="every column needs finite bounds"):
        form_of("unbounded", compiled)
    named = replace(compiled, variables=[SimpleNamespace(name="most")])
    with pytest.raises(ValueError, match="most needs finite bounds"):
        form_of("unbounded", named)


EXACT_OR_SMALL = st.one_of(
    st.integers(-6, 6).map(Fraction),
    st.fractions(-5, 5, max_denominator=7),
    st.fractions(-5, 5, max_denominator=9).map(lambda v: v * 10**7),
    st.fractions(-5, 5, max_denominator=9).map(lambda v: v / 10**7),
)


@given(st.data())
@settings(derandomize=True, deadline=None, max_examples=draws(100))
def test_rounding_of_drafts_is_outward(data: st.DataObject) -> None:
    """A point on the exact rows satisfies the form's, and its level is no less, but for little."""
    columns = data.draw(st.integers(1, 3))
    x = [data.draw(st.fractions(0, 3, max_denominator=5)) for _ in range(columns)]
    row, costs = ([data.draw(EXACT_OR_SMALL) for _ in range(columns)] for _ in range(2))
    value = sum(a * v for a, v in zip(row, x, strict=True))
    draft = Draft()
    for v in x:
        draft.column(v)
    draft.at_most(dict(enumerate(row)), value)
    draft.at_least(dict(enumerate(row)), value)
    form = draft.form("drawn", "level", dict(enumerate(costs)))
    assert all(v <= upper for v, upper in zip(x, form.upper, strict=True))
    high, low = (sum(a * x[j] for j, a in r.coefficients.items()) for r in form.rows)
    assert high <= form.rows[0].high and low >= form.rows[1].low
    largest = max(map(abs, [*row, value]))
    assert (form.rows[0].high - high) / 2 ** form.rows[0].bits <= 20 * largest / 2**43
    goal = form.goals[0]
    stated = goal.unit * sum(c * x[j] for j, c in goal.costs.items())
    level = sum(c * v for c, v in zip(costs, x, strict=True))
    assert stated <= level and not goal.exact
    assert float(level - stated) == pytest.approx(0, abs=1e-11 * max(map(abs, [*costs, 1])))


def test_equations_stay_exact() -> None:
    """A sum of whole numbers that is equal to one is not widened."""
    draft = Draft()
    draft.column(1, integer=True)
    draft.equal({0: 3}, 3)
    (row,) = draft.rows
    assert row.low == row.high == row.coefficients[0] == 3 * 2**row.bits

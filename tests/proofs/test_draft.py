"""Drafts of forms: rounding is outward, and close."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.proofs.forms.draft import Draft

EXACT = st.one_of(
    st.integers(-6, 6).map(Fraction),
    st.fractions(-5, 5, max_denominator=7),
    st.fractions(-5, 5, max_denominator=9).map(lambda v: v * 10**7),
    st.fractions(-5, 5, max_denominator=9).map(lambda v: v / 10**7),
)


@given(st.data())
@settings(derandomize=True, deadline=None, max_examples=100)
def test_rounding_is_outward(data: st.DataObject) -> None:
    """A point on the exact rows satisfies the form's, and its level is no less, but for little."""
    columns = data.draw(st.integers(1, 3))
    x = [data.draw(st.fractions(0, 3, max_denominator=5)) for _ in range(columns)]
    row, costs = ([data.draw(EXACT) for _ in range(columns)] for _ in range(2))
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

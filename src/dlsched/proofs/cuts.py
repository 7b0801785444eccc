"""Cuts: rows derived from those of a form, which all its points with integer values satisfy.

Only integers: no solver, no floating point.

A cut names rows i and multipliers y_i in units of 1/q. Let s_i >= 0 be the distance of row i to the
side of it that the sign of y_i chooses: its high side if y_i > 0, else its low one. Let t_j >= 0 be
the distance of column j to one of its bounds. The sum of the rows times y is an equation

    sum over j of A_j t_j + sum over i of |y_i| s_i = B

with integer coefficients. Where column j is integer, so is t_j; where all columns of row i are, so
is s_i. If the sides of row i are equal, s_i is 0, and left out. With r = B mod q, mixed integer
rounding (Nemhauser and Wolsey 1990) gives

    sum over j of G_j t_j + sum over i of H_i s_i <= (q - r) (B div q).

The coefficient of an integer variable with coefficient a above is (q - r) (a div q) + max(0, (a mod
q) - r); of any other one, it is min(0, a).

To see that this holds, divide the equation by q. Let w be what its left side becomes when the terms
of variables that are not integers are left out, and every other coefficient is rounded: up where
a mod q is above r, else down. Let z be the sum of what was added by rounding up, and of the terms
with negative coefficients that were left out, negated. Then w is an integer, z >= 0, and
w - z <= B/q. The claim, divided by q - r, is w - z q / (q - r) <= B div q. That is obvious if
w <= B div q. Otherwise w >= (B div q) + 1, and by z >= w - B/q the left side is at most
(B - r w) / (q - r), which is at most (B - r - r (B div q)) / (q - r) = B div q.

Rounding down alone, a cut of Chvatal and Gomory, is the case in which no a mod q is above r.
Finally t and s are expressed by the columns again. If all columns of the row are integers, it is
divided by the greatest common divisor of its coefficients, and its right side is rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dlsched.proofs.forms.form import Form, Row
from dlsched.results.proof import Cut


class InvalidCut(ValueError):
    """A cut that cannot be derived so; the message says which one, and why."""


def with_cuts(form: Form, rows: Sequence[Row], cuts: Iterable[Cut]) -> list[Row]:
    """Return the rows and those of the cuts, each of which may use the cuts before it.

    Raises
    ------
    InvalidCut
        If a cut uses a column, a row or a side of a row that is not there.
    """
    extended = list(rows)
    for number, cut in enumerate(cuts):
        try:
            extended.append(row_of(form, extended, cut))
        except InvalidCut as error:
            raise InvalidCut(f"cut {number}: {error}") from None
    return extended


class Equation(NamedTuple):
    """The sum of a cut's rows: its coefficients before the columns are replaced by t, and B."""

    coefficients: dict[int, int]
    right: int


def equation(form: Form, rows: Sequence[Row], cut: Cut) -> Equation:
    """Return the sum of a cut's rows, times its multipliers.

    Raises
    ------
    InvalidCut
        If a row has no side for its multiplier.
    """
    right = 0
    coefficients = dict.fromkeys(cut.from_upper, 0)
    for i, y in cut.multipliers.items():
        right += y * side_of(rows[i], y > 0)
        for j, a in rows[i].coefficients.items():
            coefficients[j] = coefficients.get(j, 0) + y * a
    for j, a in coefficients.items():
        right -= a * (form.upper[j] if j in cut.from_upper else form.lower[j])
    return Equation(coefficients, right)


def row_of(form: Form, rows: Sequence[Row], cut: Cut) -> Row:
    """Return the row of a cut, as above.

    Raises
    ------
    InvalidCut
        If it uses a column, a row or a side of a row that is not there.
    """
    q = cut.denominator
    if q < 1 or not all(0 <= i < len(rows) for i in cut.multipliers):
        raise InvalidCut("its denominator or one of its rows is not there")
    if not all(0 <= j < len(form.lower) for j in cut.from_upper):
        raise InvalidCut("one of its columns is not there")
    coefficients, right = equation(form, rows, cut)
    quotient, r = divmod(right, q)

    def rounded(a: int, integer: bool) -> int:
        return (q - r) * (a // q) + max(0, a % q - r) if integer else min(0, a)

    high = (q - r) * quotient
    entries: dict[int, int] = {}
    for j, a in coefficients.items():
        if j in cut.from_upper:
            entries[j] = -rounded(-a, form.integer[j])
            high += entries[j] * form.upper[j]
        else:
            entries[j] = rounded(a, form.integer[j])
            high += entries[j] * form.lower[j]
    for i, y in cut.multipliers.items():
        row = rows[i]
        if row.low == row.high:
            continue
        weight = rounded(abs(y), form.whole(row.coefficients))
        weight = weight if y > 0 else -weight
        high -= weight * side_of(row, y > 0)
        for j, a in row.coefficients.items():
            entries[j] -= weight * a
    entries = {j: a for j, a in entries.items() if a}
    divisor = 1
    if entries and form.whole(entries):
        divisor = math.gcd(*entries.values())
    divided = {j: a // divisor for j, a in entries.items()}
    return Row(divided, None, high // divisor)


def side_of(row: Row, high: bool) -> int:
    """Return the high or the low side of a row; raise `InvalidCut` if it has none."""
    side = row.high if high else row.low
    if side is None:
        raise InvalidCut("one of its rows has no side for its multiplier")
    return side

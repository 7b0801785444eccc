"""Cuts as certificates state them: both sides of a split of an integer sum imply the row.

In the terms of `dlsched.proofs.cuts`, the sum is w. Where w <= B div q, the row is q - r times
that, as z is not negative; where w is larger, it is q times w - z <= B/q, less r times that. What
is added are distances to sides of rows and columns, which are not negative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from dlsched.proofs.cuts import Cut
from dlsched.proofs.forms.form import Form, Row


class Distance(NamedTuple):
    """That the distance to one side is not negative, and its multipliers on both sides."""

    what: Literal["column", "row"]
    number: int
    upper: bool
    below: int
    above: int


class Derivation(NamedTuple):
    """How a cut is derived.

    Attributes
    ----------
    split, at
        The integer sum's coefficients: it is at most `at`, or at least `at` + 1.
    below, above
        The multipliers of these two.
    distances
        What is added to them.
    row
        What follows from both.
    """

    split: Mapping[int, int]
    at: int
    below: int
    above: int
    distances: Sequence[Distance]
    row: Row


def derivation_of(form: Form, rows: Sequence[Row], cut: Cut) -> Derivation:
    """Return how a valid cut is derived from rows; divided and rounded, the row is the cut's."""
    q, sums = cut.denominator, dict.fromkeys(cut.from_upper, 0)
    total = 0
    for i, y in cut.multipliers.items():
        total += y * _side(rows[i], y > 0)
        for j, a in rows[i].coefficients.items():
            sums[j] = sums.get(j, 0) + y * a
    for j, a in sums.items():
        total -= a * (form.upper if j in cut.from_upper else form.lower)[j]
    k, r = divmod(total, q)
    split: dict[int, int] = {}
    entries: dict[int, int] = {}
    distances: list[Distance] = []
    at, high = k, (q - r) * k

    def add(what: Literal["column", "row"], number: int, upper: bool, a: int, fixed: bool) -> None:
        """Add a distance that the equation has with a coefficient; a fixed one is 0."""
        nonlocal at, high
        coefficients = rows[number].coefficients if what == "row" else {number: 1}
        side = _side(rows[number], upper) if what == "row" else _bound(form, number, upper)
        times, below, above = 0, max(0, -a), max(0, a)
        if fixed:
            below, above = 0, a
        elif all(form.integer[j] for j in coefficients):
            times, rest = divmod(a, q)
            times, below, above = (times + 1, q - rest, 0) if rest > r else (times, 0, rest)
        distances.append(Distance(what, number, upper, below, above))
        sign = -1 if upper else 1
        at += sign * times * side
        weight = (q - r) * times - below
        high += sign * weight * side
        for j, c in coefficients.items():
            split[j] = split.get(j, 0) + sign * times * c
            entries[j] = entries.get(j, 0) + sign * weight * c

    for j, a in sums.items():
        upper = j in cut.from_upper
        add("column", j, upper, -a if upper else a, False)
    for i, y in cut.multipliers.items():
        add("row", i, y > 0, abs(y), rows[i].low == rows[i].high)
    return Derivation(
        {j: c for j, c in split.items() if c},
        at,
        q - r,
        r,
        distances,
        Row({j: a for j, a in entries.items() if a}, None, high),
    )


def lines_of(
    derived: Derivation, row: Row, constraints: Sequence[int], start: int
) -> Sequence[str]:
    """Return the lines of a certificate that derive a cut; the last one is its row.

    Parameters
    ----------
    row
        The cut's row: what is derived, divided and rounded.
    constraints
        For each of the distances, the constraint that states the side.
    start
        The number of the first of these lines.
    """
    known, split = f"L {derived.row.high} {sparse(derived.row.coefficients)}", sparse(derived.split)

    def implied(assumption: int, weight: int, multipliers: Sequence[int]) -> str:
        terms = [f"{c} {y}" for c, y in zip(constraints, multipliers, strict=True) if y]
        terms += [f"{assumption} {weight}"] if weight else []
        return " ".join([f"{known} {{ lin {len(terms)}", *terms, "} -1"])

    signs = [1 if d.upper else -1 for d in derived.distances]
    below = [sign * d.below for sign, d in zip(signs, derived.distances, strict=True)]
    above = [sign * d.above for sign, d in zip(signs, derived.distances, strict=True)]
    lines = [
        f"L {derived.at} {split} {{ asm }} -1",
        implied(start, derived.below, below),
        f"G {derived.at + 1} {split} {{ asm }} -1",
        implied(start + 2, -derived.above, above),
        f"{known} {{ uns {start + 1} {start} {start + 3} {start + 2} }} -1",
    ]
    divisors = {a // row.coefficients[j] for j, a in derived.row.coefficients.items()} - {1}
    for divisor in divisors:
        reason = f"{{ rnd 1 {start + 4} {Fraction(1, divisor)} }} -1"
        lines.append(f"L {row.high} {sparse(row.coefficients)} {reason}")
    return lines


def sparse(coefficients: Mapping[int, int]) -> str:
    """Return coefficients as a certificate has them: their number, then columns and values."""
    entries = [f"{j} {a}" for j, a in sorted(coefficients.items()) if a]
    return " ".join([str(len(entries)), *entries])


def _bound(form: Form, column: int, upper: bool) -> int:
    return form.upper[column] if upper else form.lower[column]


def _side(row: Row, upper: bool) -> int:
    side = row.high if upper else row.low
    if side is None:
        raise ValueError("one of its rows has no side for its multiplier")
    return side

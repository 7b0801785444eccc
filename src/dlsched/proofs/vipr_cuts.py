"""Cuts as certificates state them: both sides of a split of an integer sum imply the row.

In the terms of `dlsched.proofs.cuts`, the sum is w. Where w <= B div q, the row is q - r times
that, as z is not negative; where w is larger, it is q times w - z <= B/q, less r times that. What
is added are distances to sides of rows and columns, which are not negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from dlsched.proofs.cuts import equation, side_of
from dlsched.proofs.forms.form import Form, Row
from dlsched.results.proof import Cut


class Distance(NamedTuple):
    """That the distance to a side of a row or column is not negative.

    ``below`` and ``above`` are its multipliers where the integer sum is small, and where it is
    large.
    """

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


class _Term(NamedTuple):
    """A distance to a side, with its coefficient in the equation; a fixed one is 0."""

    what: Literal["column", "row"]
    number: int
    upper: bool
    side: int
    coefficients: Mapping[int, int]
    factor: int
    fixed: bool = False


def _terms(
    form: Form, rows: Sequence[Row], cut: Cut, coefficients: Mapping[int, int]
) -> Iterator[_Term]:
    """Yield the terms of a cut's equation: the columns' distances, then the rows'."""
    for j, a in coefficients.items():
        if j in cut.from_upper:
            yield _Term("column", j, True, form.upper[j], {j: 1}, -a)
        else:
            yield _Term("column", j, False, form.lower[j], {j: 1}, a)
    for i, y in cut.multipliers.items():
        row = rows[i]
        side = side_of(row, y > 0)
        yield _Term("row", i, y > 0, side, row.coefficients, abs(y), row.low == row.high)


def derivation_of(form: Form, rows: Sequence[Row], cut: Cut) -> Derivation:
    """Return how a valid cut is derived from rows; divided and rounded, the row is the cut's."""
    q = cut.denominator
    coefficients, right = equation(form, rows, cut)
    at, r = divmod(right, q)
    high = (q - r) * at
    split: dict[int, int] = {}
    entries: dict[int, int] = {}
    distances: list[Distance] = []
    for term in _terms(form, rows, cut, coefficients):
        times = 0
        below = max(0, -term.factor)
        above = max(0, term.factor)
        if not term.fixed and form.whole(term.coefficients):
            times, above = divmod(term.factor, q)
            below = 0
            if above > r:
                times += 1
                below, above = q - above, 0
        distances.append(Distance(term.what, term.number, term.upper, below, above))
        sign = -1 if term.upper else 1
        weight = sign * ((q - r) * times - below)
        at += sign * times * term.side
        high += weight * term.side
        for j, c in term.coefficients.items():
            split[j] = split.get(j, 0) + sign * times * c
            entries[j] = entries.get(j, 0) + weight * c
    row = Row(_nonzero(entries), None, high)
    return Derivation(_nonzero(split), at, q - r, r, distances, row)


def _nonzero(coefficients: Mapping[int, int]) -> dict[int, int]:
    return {j: a for j, a in coefficients.items() if a}


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
    split = sparse(derived.split)
    known = f"L {derived.row.high} {sparse(derived.row.coefficients)}"

    def implied(assumption: int, weight: int, multipliers: Sequence[int]) -> str:
        terms = [
            f"{constraint} {y if distance.upper else -y}"
            for constraint, distance, y in zip(
                constraints, derived.distances, multipliers, strict=True
            )
            if y
        ]
        terms += [f"{assumption} {weight}"] if weight else []
        return " ".join([f"{known} {{ lin {len(terms)}", *terms, "} -1"])

    lines = [
        f"L {derived.at} {split} {{ asm }} -1",
        implied(start, derived.below, [d.below for d in derived.distances]),
        f"G {derived.at + 1} {split} {{ asm }} -1",
        implied(start + 2, -derived.above, [d.above for d in derived.distances]),
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

"""Trees of a branch and bound whose leaves have integer multipliers, and their check.

Only integers: no solver, no floating point.

For multipliers y of the rows, every x within the columns' bounds that satisfies the rows has

    2**bits (c x)  >=  sum over i of y_i (low_i if y_i > 0, else high_i)
                     + sum over j of the least (2**bits c_j - sum over i of y_i a_ij) x_j,

so the right side is a bound, whatever y is. With c = 0, a right side above 0 proves that there is
no such x.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from dlsched.proofs.forms.form import Form, Row
from dlsched.proofs.forms.parameters import MOST_BITS
from dlsched.results.proof import Leaf, Node


class _Bounds(NamedTuple):
    """Bounds that a column gets."""

    column: int
    lower: int
    upper: int


class InvalidTree(ValueError):
    """A tree that does not prove what it should; the message says where it fails."""


def bound(
    rows: Sequence[Row],
    costs: Mapping[int, int],
    leaf: Leaf,
    lower: Sequence[int],
    upper: Sequence[int],
) -> int | None:
    """Return the right side above of a leaf; None if a multiplier has no side of its row."""
    reduced = {} if leaf.empty else {j: c << leaf.bits for j, c in costs.items()}
    total = 0
    for i, y in leaf.multipliers.items():
        row = rows[i]
        side = row.low if y > 0 else row.high
        if side is None:
            return None
        total += y * side
        for j, a in row.coefficients.items():
            reduced[j] = reduced.get(j, 0) - y * a
    for j, d in reduced.items():
        end = lower[j] if d > 0 else upper[j]
        total += d * end
    return total


def proves(
    rows: Sequence[Row],
    costs: Mapping[int, int],
    leaf: Leaf,
    lower: Sequence[int],
    upper: Sequence[int],
    target: Fraction,
    strict: bool,
) -> bool:
    """Whether a leaf proves that ``costs`` is at least the target; more than it, if `strict`."""
    value = bound(rows, costs, leaf, lower, upper)
    if value is None:
        return False
    if leaf.empty:
        return value > 0
    needed = target * (1 << leaf.bits)
    return value > needed if strict else value >= needed


def check_tree(
    form: Form,
    rows: Sequence[Row],
    costs: Mapping[int, int],
    nodes: Iterable[Node],
    target: Fraction,
    strict: bool,
) -> int:
    """Check that no point of the form is better than a target; return the number of leaves.

    Parameters
    ----------
    form, rows, costs
        The columns; the rows, those of earlier levels included; what is minimized.
    nodes
        The tree in preorder.
    target, strict
        Every leaf has to be at least this, or more than it.

    Raises
    ------
    InvalidTree
        If a leaf proves less, a split is not one of an integer column within its bounds, or nodes
        are missing or left over.
    """
    lower = list(form.lower)
    upper = list(form.upper)
    number = -1
    leaves = 0
    # What to do, the last first: check a node, or set a column's bounds.
    stack: list[_Bounds | None] = [None]
    remaining = iter(nodes)
    while stack:
        entry = stack.pop()
        if entry is not None:
            lower[entry.column] = entry.lower
            upper[entry.column] = entry.upper
            continue
        number += 1
        node = next(remaining, None)
        if node is None:
            raise InvalidTree(f"the tree ends before node {number}")
        if isinstance(node, Leaf):
            leaves += 1
            known = all(0 <= i < len(rows) for i in node.multipliers)
            if not known or not 0 <= node.bits <= MOST_BITS:
                raise InvalidTree(f"node {number}: no multipliers of this form")
            if not proves(rows, costs, node, lower, upper, target, strict):
                raise InvalidTree(f"node {number}: its multipliers do not prove the target")
            continue
        j = node.column
        at = node.at
        if not (0 <= j < len(lower) and form.integer[j] and lower[j] <= at < upper[j]):
            raise InvalidTree(f"node {number}: column {j} cannot be split at {at}")
        stack += [
            _Bounds(j, lower[j], upper[j]),  # as they were, after both children
            None,
            _Bounds(j, at + 1, upper[j]),
            None,
            _Bounds(j, lower[j], at),
        ]
    if next(remaining, None) is not None:
        raise InvalidTree(f"there are more nodes than the tree has, from {number + 1} on")
    return leaves

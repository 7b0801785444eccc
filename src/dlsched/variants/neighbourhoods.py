"""Neighbourhoods of a solution by a model's index sets and rows, as smaller programs.

A neighbourhood leaves some integer columns free and holds the others at their values. Which ones
are free is drawn: those that some entries of an index set have in their indices, or that stand in
some rows. Columns of families beside the one that is held are free as well, as the rows decide what
they are; or they are held too, but for those that stand in a short row with a free one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import StandardForm

_SHORT = 60
"""Rows with more columns say little of any two of them."""
_MOST_GROUPS = 20_000
"""Index sets with more entries, and families of as many rows, are not drawn from."""
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Family:
    """A way to draw neighbourhoods.

    Attributes
    ----------
    groups
        Columns by entry of an index set, or by row of a family of rows.
    held
        The columns that may be held at their values; all others are always free.
    spread
        How often columns that share a short row with free ones become free as well.
    """

    name: str
    groups: Sequence[NDArray[np.int64]]
    held: Mask
    spread: int

    def free(self, chosen: Sequence[int], form: StandardForm) -> Mask:
        """Return which columns are free if some groups are chosen."""
        free = np.zeros(form.shape[1], dtype=bool)
        for group in chosen:
            free[self.groups[group]] = True
        for _ in range(self.spread):
            free |= beside(form, free)
        return free | ~self.held


def beside(form: StandardForm, columns: Mask) -> Mask:
    """Return which columns stand in a short row with one of these."""
    pattern = abs(form.A).sign().tocsr()
    short = np.diff(pattern.indptr) <= _SHORT
    rows = (pattern @ columns.astype(float) > 0) & short
    found: Mask = pattern.T @ rows.astype(float) > 0
    return found


def families(form: StandardForm, nameable: Sequence[str]) -> list[Family]:
    """Return the ways to draw neighbourhoods for a model, in a fixed order.

    Parameters
    ----------
    nameable
        The families of integer variables that solutions determine; one is held at a time, or all.
    """
    names = [v.parent_component().local_name for v in form.variables]
    whole = form.integer
    of_family = {
        name: np.array([n == name for n in names], dtype=bool) & whole for name in nameable
    }
    everything = np.logical_or.reduce([*of_family.values(), np.zeros(len(names), dtype=bool)])
    found = []
    for name, held in of_family.items():
        for label, groups in _by_index(form, held):
            found.append(Family(f"{name} by {label}", groups, held, 0))
            if len(of_family) > 1:
                found.append(Family(f"all by {label} of {name}", groups, everything, 2))
    for label, groups in _by_row(form, everything):
        found.append(Family(f"rows {label}", groups, everything, 1))
    return [family for family in found if 1 < len(family.groups) <= _MOST_GROUPS]


def _by_index(form: StandardForm, columns: Mask) -> list[tuple[str, list[NDArray[np.int64]]]]:
    """Return the columns by entry, for each position of their indices."""
    by_position: dict[int, dict[Hashable, list[int]]] = defaultdict(lambda: defaultdict(list))
    for j in np.flatnonzero(columns).tolist():
        index = form.variables[j].index()
        entries = index if isinstance(index, tuple) else (index,)
        for position, entry in enumerate(entries):
            by_position[position][entry].append(j)
    return [
        (f"index {position + 1}", [np.array(group) for group in groups.values()])
        for position, groups in by_position.items()
    ]


def _by_row(form: StandardForm, columns: Mask) -> list[tuple[str, list[NDArray[np.int64]]]]:
    """Return the columns by row, for each family of rows."""
    by_family: dict[str, list[NDArray[np.int64]]] = defaultdict(list)
    matrix = form.A.tocsr()
    for i, constraint in enumerate(form.constraints):
        if isinstance(constraint, str):
            continue
        entries = matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]]
        group = entries[columns[entries]]
        if len(group):
            by_family[constraint.parent_component().local_name].append(group.astype(np.int64))
    return list(by_family.items())


def restricted(form: StandardForm, point: Vector, free: Mask) -> StandardForm:
    """Return the program of the free columns, with the others at their values."""
    fixed = np.where(free, 0.0, point)
    constant = form.A @ fixed
    columns = np.flatnonzero(free)
    matrix = form.A[:, columns].tocsr()
    rows = np.flatnonzero(np.diff(matrix.indptr) > 0)
    return replace(
        form,
        A=matrix[rows].tocsc(),
        row_lower=form.row_lower[rows] - constant[rows],
        row_upper=form.row_upper[rows] - constant[rows],
        lower=form.lower[columns],
        upper=form.upper[columns],
        integer=form.integer[columns],
        costs=tuple(costs[columns] for costs in form.costs),
        offsets=tuple(
            offset + float(costs @ fixed)
            for costs, offset in zip(form.costs, form.offsets, strict=True)
        ),
        variables=[form.variables[j] for j in columns.tolist()],
        constraints=[form.constraints[i] for i in rows.tolist()],
    )

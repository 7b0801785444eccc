"""Search for sums that a tree had better split: from the rows of the simplex tableau.

Where an integer column of the relaxation's point is fractional, its row of the tableau is rounded
to a sum that is fractional at the point, too (Karamanov and Cornuéjols, "Branching on general
disjunctions", 2011). Sums are kept if one side of their split is closed at once: they cost a tree
one leaf. The other side then holds, and the next ones are found at its point.
"""

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from dlsched.proofs.forms.form import Form
from dlsched.proofs.levels import Aim
from dlsched.proofs.relaxation import Solved
from dlsched.proofs.search import ColumnBounds, TreeSearch
from dlsched.proofs.sums import with_sums
from dlsched.results.proof import Node, Split, Sum
from dlsched.run import Run
from dlsched.solvers.outcome import Vector

_ROUNDS = 25
_WORTHWHILE = 0.5
"""Sums are used if what holds of them closes this part of the distance to the target: with fewer of
them, trees were measured to grow as often as to shrink."""
_TRIED = 30
"""The most sums that are tried in a round: those that are the furthest from being whole."""
_COLUMNS = 100
"""The most rows of the tableau in a round, those of the most fractional columns."""
_TIMES = (1, 2, 3)
"""Multiples of a row of the tableau that are rounded."""
_FRACTIONAL = 1e-3
_ROUNDING = 1e-7
_LARGEST = 10**6
"""A sum with a larger coefficient is left out."""


def useful_sums(form: Form, aim: Aim, run: Run) -> list[Sum]:
    """Return sums of which one side has no better point, where those before have the other.

    There are none if the bound with all of them is not much nearer to the target.
    """
    sums: list[Sum] = []
    ends: list[ColumnBounds] = []
    listed: list[Sum] = []
    values: list[float] = []
    search = TreeSearch(form, aim, run)
    for _ in range(_ROUNDS):
        solved = search.lp.solve()
        if solved is None:
            break
        values.append(solved.value)
        if _closed(search, solved):
            break
        distances = dict(_fractional_sums(search, solved, listed))
        best = heapq.nlargest(_TRIED, distances, key=distances.__getitem__)
        before = len(sums)
        listed = [*sums, *map(dict, best)]
        wider, rows = with_sums(form, aim.rows, listed)
        search = TreeSearch(wider, replace(aim, rows=rows), run)
        for bounds in ends:
            search.set_bounds(*bounds)
        for column, entries in enumerate(listed[before:], len(form.lower) + before):
            value = sum(a * float(solved.x[j]) for j, a in entries.items())
            side = _open_side(search, column, math.floor(value))
            if side is not None:
                sums.append(entries)
                ends.append(ColumnBounds(len(form.lower) + len(ends), *side))
        if len(sums) == before:
            break
    closed = values and values[-1] - values[0] >= _WORTHWHILE * (search.cutoff - values[0])
    return sums if closed else []


def only_split(
    form: Form, aim: Aim, sums: Sequence[Sum], nodes: Iterable[Node]
) -> tuple[list[Node], list[Sum]]:
    """Return a tree with those of its sums only that it splits, under new numbers.

    Without the others, leaves prove no less: bounds of a sum follow from those of its columns.
    """
    nodes = list(nodes)
    columns, rows = len(form.lower), len(aim.rows)
    split = {node.column - columns for node in nodes if isinstance(node, Split)}
    numbers = {old: new for new, old in enumerate(sorted(k for k in split if k >= 0))}
    of_column = {columns + old: columns + new for old, new in numbers.items()}
    of_row = {rows + old: rows + new for old, new in numbers.items()}

    def renumbered(node: Node) -> Node:
        if isinstance(node, Split):
            return replace(node, column=of_column.get(node.column, node.column))
        kept = {i: y for i, y in node.multipliers.items() if i < rows or i in of_row}
        return replace(node, multipliers={of_row.get(i, i): y for i, y in kept.items()})

    return [renumbered(node) for node in nodes], [sums[old] for old in numbers]


def _closed(search: TreeSearch, solved: Solved | None) -> bool:
    return solved is not None and solved.value > search.cutoff + search.slack


def _open_side(search: TreeSearch, column: int, at: int) -> tuple[int, int] | None:
    """Set a column to the side of its split that is left if the other is closed, and return it."""
    low, high = search.lower[column], search.upper[column]
    sides = (low, at), (at + 1, high)
    for tried, other in (sides, sides[::-1]):
        search.set_bounds(column, *tried)
        if _closed(search, search.lp.solve()):
            search.set_bounds(column, *other)
            return other
    search.set_bounds(column, low, high)
    return None


def _fractional_sums(
    search: TreeSearch, solved: Solved, listed: Sequence[Sum]
) -> Iterator[tuple[tuple[tuple[int, int], ...], float]]:
    """Yield sums that are fractional at a point, as items, and their distances from being whole.

    A row of the tableau is about columns and rows that are at one of their sides. It is multiplied,
    and the coefficients of how far they are from these are rounded: up if their fractions are above
    that of the right side, which is then all that is fractional.
    """
    n = len(solved.x) - len(listed)
    lp = search.lp
    at_high = lp.program.at_upper()
    column_signs, row_signs = (np.where(high, -1, 1) for high in at_high)
    equal = np.array([row.low == row.high for row in search.aim.rows], dtype=bool)
    whole = abs(lp.matrix) @ (~search.integer).astype(float) == 0
    off = np.abs(solved.x - np.rint(solved.x)) * search.integer
    order = np.argsort(-off, kind="stable")[:_COLUMNS]
    for column, row in lp.tableau([int(j) for j in order if off[j] > _FRACTIONAL]):
        for times in _TIMES:
            part = times * float(solved.x[column]) % 1
            if not _FRACTIONAL < part < 1 - _FRACTIONAL:
                continue
            y = times * row
            less = np.where(equal, np.rint(y), -row_signs * _rounded(-row_signs * y, part))
            entries = (np.where(whole, y - less, y) * lp.scales) @ lp.matrix
            entries = column_signs * _rounded(column_signs * entries, part)
            entries[~search.integer] = 0
            for factor, known in zip(entries[n:].tolist(), listed, strict=True):
                for j, a in known.items() if factor else ():
                    entries[j] += factor * a
            entries = entries[:n]
            columns = np.flatnonzero(entries)
            value = float(entries @ solved.x[:n])
            distance = abs(value - round(value))
            if distance > _FRACTIONAL and np.abs(entries).max() <= _LARGEST:
                items = zip(columns.tolist(), map(int, entries[columns]), strict=True)
                yield tuple(items), distance / float(np.linalg.norm(entries))


def _rounded(coefficients: Vector, part: float) -> Vector:
    """Return whole numbers: what is above one by more than a part of it becomes the next one."""
    return np.ceil(coefficients - part - _ROUNDING)

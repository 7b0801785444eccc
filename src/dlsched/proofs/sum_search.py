"""Search for sums that a tree had better split: from the rows of the simplex tableau.

Where an integer column of the relaxation's point is fractional, its row of the tableau is rounded
to a sum that is fractional at the point, too (Karamanov and Cornuéjols, "Branching on general
disjunctions", 2011). Sums are kept if one side of their split is closed at once: they cost a tree
one leaf. The other side then holds, and the next ones are found at its point.
"""

from __future__ import annotations

import heapq
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

_ROUNDS = 25
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
    """Return sums of which one side has no better point, where those before have the other."""
    sums: list[Sum] = []
    ends: list[ColumnBounds] = []
    listed: list[Sum] = []
    search = TreeSearch(form, aim, run)
    for _ in range(_ROUNDS):
        solved = search.lp.solve()
        if solved is None or _closed(search, solved):
            break
        found = {tuple(entries.items()): (score, entries)
                 for score, entries in _fractional_sums(search, solved, listed)}  # fmt: skip
        best = heapq.nlargest(_TRIED, found.values(), key=lambda pair: pair[0])
        before = len(sums)
        listed = [*sums, *(entries for _, entries in best)]
        wider, rows = with_sums(form, aim.rows, listed)
        search = TreeSearch(wider, replace(aim, rows=rows), run)
        for bounds in ends:
            search.set_bounds(*bounds)
        for column, entries in enumerate(listed[before:], len(form.lower) + before):
            side = _open_side(search, column, _value(entries, solved))
            if side is not None:
                sums.append(entries)
                ends.append(ColumnBounds(len(form.lower) + len(ends), *side))
        if len(sums) == before:
            break
    return sums


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


def _value(entries: Sum, solved: Solved) -> float:
    return sum(a * float(solved.x[j]) for j, a in entries.items())


def _open_side(search: TreeSearch, column: int, value: float) -> tuple[int, int] | None:
    """Return the bounds that a column gets if a side of its split is closed; else None."""
    low, high = search.lower[column], search.upper[column]
    at = int(np.floor(value))
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
) -> Iterator[tuple[float, Sum]]:
    """Yield sums that are fractional at a point, each with its distance from being whole.

    Distances, to sides of rows and columns, are whole too, and 0 at the point. What they have in
    the tableau is rounded down up to the fraction of the row, and up beyond it.
    """
    n = len(solved.x) - len(listed)
    lp = search.lp
    high_columns, high_rows = lp.program.at_upper()
    rows = search.aim.rows
    equal = np.array([row.low == row.high for row in rows], dtype=bool)
    whole = np.array([search.form.whole(row.coefficients) for row in rows], dtype=bool)
    off = np.abs(solved.x - np.rint(solved.x)) * search.integer
    order = np.argsort(-off, kind="stable")[:_COLUMNS]
    for column, row in lp.tableau([int(j) for j in order if off[j] > _FRACTIONAL]):
        for times in _TIMES:
            part = times * float(solved.x[column]) % 1
            y = times * row
            up = np.ceil(np.where(high_rows, y, -y) - part - _ROUNDING)
            less = np.where(equal, np.rint(y), np.where(high_rows, up, -up))
            entries = (np.where(whole, y - less, y) * lp.scales) @ lp.matrix
            entries = np.where(
                high_columns,
                np.floor(entries + part + _ROUNDING),
                np.ceil(entries - part - _ROUNDING),
            )
            entries[~search.integer] = 0
            for factor, known in zip(entries[n:].tolist(), listed, strict=True):
                for j, a in known.items() if factor else ():
                    entries[j] += factor * a
            entries = entries[:n]
            columns = np.flatnonzero(entries)
            value = float(entries @ solved.x[:n])
            distance = abs(value - round(value))
            if distance > _FRACTIONAL and np.abs(entries).max() <= _LARGEST:
                chosen = dict(zip(columns.tolist(), map(int, entries[columns]), strict=True))
                yield distance / float(np.linalg.norm(entries)), chosen

"""Cells: what (2) counts of one GPU type and one priority, as arrays for the bounds.

The items of a cell are groups of jobs that always run in the same region. A training group with
several tables may run nowhere; then its bytes count as traffic, which the cell charges as the
item's penalty. Every other group must run in some region.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.solvers.arrays import Floats, Ints


class Cell(NamedTuple):
    """One GPU type and priority: n items, their tables, R regions.

    The cost of a cell is the sum over regions of the squared difference between the items' shares
    there and `target`, plus the penalties of the items without a region.
    """

    share: Floats
    """By item: its share in the demand of the cell, above 0."""
    penalty: Floats
    """By item: traffic if it has no region; infinite for one that must have.

    Items are in descending order of penalty by share.
    """
    voting: Ints
    """By item: whether it may run where only some of its tables are."""
    first: Ints
    """Where each item's tables begin in `tables`, and their end."""
    tables: Ints
    """Tables of the items, as positions in `names`."""
    names: Ints
    """Positions in the instance of the tables that the items read, ascending."""
    groups: Ints
    """By item: its group of jobs."""
    order: Ints
    """Items in the order in which a search decides them."""
    target: Floats
    """By region: the share of the supply."""
    alike: Ints
    """By region: the first one with exactly the same target."""


class Item(NamedTuple):
    """A group of jobs in a cell, in exact numbers; see `Cell`."""

    share: Fraction
    penalty: Fraction
    """Also that of a group which must have a region."""
    group: int


_LARGEST_PENALTY = 2
"""The squares of no placement are more, so a larger penalty would be as good."""


def weights_of(shares: Shares) -> dict[tuple[int, int], Fraction]:
    """Return the cost of squares of 1 by type and priority, with the sigmoid at 1/2; none of 0."""
    largest, weights = shares.priority_weight
    heaviest = shares.instance.weights.gpu * largest / 2
    if not heaviest:
        return {}
    return {(k, p): heaviest * weights[p] for k, p in sorted(shares.demand) if weights[p]}


def cells_of(shares: Shares) -> dict[tuple[int, int], Cell]:
    """Return the cells by type and priority, those of weight 0 left out.

    A group that is in several cells has a part of its bytes in each, so that the cells' costs,
    times their weights, may be added.
    """
    weights = weights_of(shares)
    weighted = [Fraction(0)] * len(shares.groups)
    for key, weight in weights.items():
        for g, part in shares.demand[key].items():
            weighted[g] += weight * part
    bytes_ = traffic_of(shares)
    cells = {}
    for key in weights:
        penalty = {g: bytes_[g] * part / weighted[g] for g, part in shares.demand[key].items()}
        cells[key] = _cell(shares, key[0], _items(shares.demand[key], penalty))
    return cells


def whole_cells_of(shares: Shares) -> dict[tuple[int, int], tuple[Cell, list[Item]]]:
    """Return the cells, with their exact items, where a group has all of its bytes in each."""
    bytes_ = traffic_of(shares)
    cells = {}
    for key, weight in weights_of(shares).items():
        penalty = {g: bytes_[g] / weight for g in shares.demand[key]}
        items = _items(shares.demand[key], penalty)
        cells[key] = _cell(shares, key[0], items), items
    return cells


def traffic_of(shares: Shares) -> list[Fraction]:
    """Return by group the cost of all bytes that it reads."""
    weight = Fraction(shares.instance.weights.traffic)
    return [weight * sum(row.values(), Fraction(0)) for row in shares.read]


def _items(parts: Mapping[int, Fraction], penalty: Mapping[int, Fraction]) -> list[Item]:
    most = Fraction(_LARGEST_PENALTY)
    return [Item(part, min(most, penalty[g]), g) for g, part in parts.items()]


def _cell(shares: Shares, k: int, items: list[Item]) -> Cell:
    def order(item: Item) -> tuple[bool, Fraction, int]:
        return not shares.groups[item.group].must_run, -item.penalty / item.share, item.group

    items = sorted(items, key=order)
    groups = [shares.groups[item.group] for item in items]
    share = np.array([float(item.share) for item in items])
    penalty = np.array([float(item.penalty) for item in items])
    penalty[[group.must_run for group in groups]] = math.inf
    tables = [np.array(group.tables, dtype=np.int64) for group in groups]
    names = np.unique(np.concatenate(tables))
    supply = [row[k] for row in shares.supply]
    # An item that is cheap to leave out decides little, however large it is.
    decisive = np.minimum(share, penalty / (2 * max(map(float, supply))))
    return Cell(
        share=share,
        penalty=penalty,
        voting=np.array([not group.together for group in groups], dtype=np.int64),
        first=np.cumsum([0, *map(len, tables)], dtype=np.int64),
        tables=np.searchsorted(names, np.concatenate(tables)).astype(np.int64),
        names=names,
        groups=np.array([item.group for item in items], dtype=np.int64),
        order=np.argsort(-decisive, kind="stable").astype(np.int64),
        target=np.array([float(part) for part in supply]),
        alike=np.array([supply.index(part) for part in supply], dtype=np.int64),
    )


def unplaced(cell: Cell) -> Any:
    """Return homes for a search in which no table has one yet."""
    return np.full(len(cell.names), -1, dtype=np.int64)

"""Cells: what (2) counts of one GPU type and one priority, as arrays for the bounds.

The items of a cell are groups of jobs that always run in the same region. A training group with
several tables may run nowhere; then its bytes count as traffic, which the cell charges as the
item's penalty. Every other group must run in some region.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dlsched.compilation import Floats, Ints, Real
from dlsched.problems.placement.shares import Shares


class Cell(NamedTuple):
    """One GPU type and priority: n items, their tables, R regions.

    The cost of a cell is `weight` times the sum over regions of the squared difference between the
    items' shares there and `target`, plus the penalties of the items without a region.
    """

    share: Floats
    """By item: its share in the demand of the cell, above 0."""
    penalty: Floats
    """By item: traffic, weight included, if it has no region; infinite for one that must have.

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
    weight: Real


def cells_of(shares: Shares, split: bool = True) -> dict[tuple[int, int], Cell]:
    """Return the cells by type and priority, those of weight 0 left out.

    Parameters
    ----------
    split
        Whether a group that is in several cells has a part of its bytes in each, so that the cells'
        costs may be added. Otherwise each has all of them, up to twice the cell's weight, which is
        more than the squares of any placement.
    """
    largest, weights = shares.priority_weight
    heaviest = Fraction(shares.instance.weights.gpu) * largest / 2
    weight = {key: heaviest * weights[key[1]] for key in sorted(shares.demand)}
    weighted = [Fraction(0)] * len(shares.groups)
    for key, row in shares.demand.items():
        for g, part in row.items():
            weighted[g] += weight[key] * part
    bytes_ = traffic_of(shares)
    found = {}
    for key, squares in weight.items():
        if not float(squares):
            continue
        rows: list[tuple[Fraction, Fraction, int]] = []
        for g, part in shares.demand[key].items():
            share = squares * part / weighted[g]
            penalty = bytes_[g] * share if split else min(bytes_[g], 2 * squares)
            rows.append((part, penalty, g))
        found[key] = _cell(shares, key[0], squares, rows)
    return found


def traffic_of(shares: Shares) -> list[Fraction]:
    """Return by group the cost of all bytes that it reads."""
    weight = Fraction(shares.instance.weights.traffic)
    return [weight * sum(row.values(), Fraction(0)) for row in shares.read]


def _cell(
    shares: Shares, k: int, weight: Fraction, rows: list[tuple[Fraction, Fraction, int]]
) -> Cell:
    def must(g: int) -> bool:
        ml, at, _ = shares.groups[g]
        return not ml or len(at) == 1

    rows.sort(key=lambda row: (not must(row[2]), -row[1] / row[0], row[2]))
    share = np.array([float(part) for part, _, _ in rows])
    penalty = np.array([math.inf if must(g) else float(cost) for _, cost, g in rows])
    tables = [shares.groups[g][1] for _, _, g in rows]
    names = np.unique(np.concatenate([np.array(at, dtype=np.int64) for at in tables]))
    supply = [row[k] for row in shares.supply]
    # An item that is cheap to leave out decides little, however large it is.
    decisive = np.minimum(share, penalty / (2 * float(weight) * max(map(float, supply))))
    return Cell(
        share=share,
        penalty=penalty,
        voting=np.array([not shares.groups[g][0] for _, _, g in rows], dtype=np.int64),
        first=np.cumsum([0, *map(len, tables)], dtype=np.int64),
        tables=np.searchsorted(names, np.concatenate(tables)).astype(np.int64),
        names=names,
        groups=np.array([g for _, _, g in rows], dtype=np.int64),
        order=np.argsort(-decisive, kind="stable").astype(np.int64),
        target=np.array([float(part) for part in supply]),
        alike=np.array([supply.index(part) for part in supply], dtype=np.int64),
        weight=float(weight),
    )


def unplaced(cell: Cell) -> Any:
    """Return homes for a search in which no table has one yet."""
    return np.full(len(cell.names), -1, dtype=np.int64)

"""Cells: what (2) counts of one GPU type and one priority, as arrays for the bounds.

The items of a cell are groups of jobs that always run in the same region. A training group with
several tables may run nowhere; then its bytes count as traffic, which the cell charges as the
item's penalty. Every other group must run in some region.
"""

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
    order: Ints
    """Items in the order in which a search decides them."""
    target: Floats
    """By region: the share of the supply."""
    alike: Ints
    """By region: the first one with exactly the same target."""


_LARGEST_PENALTY = Fraction(2)
"""The squares of no placement are more, so a larger penalty would be as good."""


def weights_of(shares: Shares) -> dict[tuple[int, int], Fraction]:
    """Return the cost of squares of 1 by type and priority, with the sigmoid at 1/2; none of 0."""
    largest, weights = shares.priority_weight
    heaviest = shares.instance.weights.gpu * largest / 2
    if not heaviest:
        return {}
    return {(k, p): heaviest * weights[p] for k, p in sorted(shares.demand) if weights[p]}


def penalties_of(shares: Shares) -> dict[tuple[int, int], dict[int, Fraction]]:
    """Return by type and priority, and group, its bytes' cost in units of the cell's weight.

    A group that is in several cells has a part of its bytes in each, so that the cells' costs,
    times their weights, may be added. Cells of weight 0 are left out.
    """
    weights = weights_of(shares)
    weighted = [Fraction(0)] * len(shares.groups)
    for key, weight in weights.items():
        for g, part in shares.demand[key].items():
            weighted[g] += weight * part
    cost = traffic_of(shares)
    return {
        key: {
            g: min(_LARGEST_PENALTY, cost[g] * part / weighted[g])
            for g, part in shares.demand[key].items()
        }
        for key in weights
    }


def cells_of(shares: Shares) -> dict[tuple[int, int], Cell]:
    """Return the cells by type and priority, those of weight 0 left out."""
    return {key: _cell(shares, key, penalty) for key, penalty in penalties_of(shares).items()}


def traffic_of(shares: Shares) -> list[Fraction]:
    """Return by group the cost of all bytes that it reads."""
    weight = Fraction(shares.instance.weights.traffic)
    return [weight * sum(row.values(), Fraction(0)) for row in shares.read]


def _cell(shares: Shares, key: tuple[int, int], penalties: Mapping[int, Fraction]) -> Cell:
    demand = shares.demand[key]

    def order(g: int) -> tuple[bool, Fraction, int]:
        return not shares.groups[g].must_run, -penalties[g] / demand[g], g

    items = sorted(demand, key=order)
    groups = [shares.groups[g] for g in items]
    share = np.array([float(demand[g]) for g in items])
    penalty = np.array([float(penalties[g]) for g in items])
    penalty[[group.must_run for group in groups]] = math.inf
    tables = [np.array(group.tables, dtype=np.int64) for group in groups]
    names = np.unique(np.concatenate(tables))
    supply = [row[key[0]] for row in shares.supply]
    # An item that is cheap to leave out decides little, however large it is.
    decisive = np.minimum(share, penalty / (2 * max(map(float, supply))))
    return Cell(
        share=share,
        penalty=penalty,
        voting=np.array([not group.together for group in groups], dtype=np.int64),
        first=np.cumsum([0, *map(len, tables)], dtype=np.int64),
        tables=np.searchsorted(names, np.concatenate(tables)).astype(np.int64),
        names=names,
        order=np.argsort(-decisive, kind="stable").astype(np.int64),
        target=np.array([float(part) for part in supply]),
        alike=np.array([supply.index(part) for part in supply], dtype=np.int64),
    )


def unplaced(cell: Cell) -> Any:
    """Return homes for a search in which no table has one yet."""
    return np.full(len(cell.names), -1, dtype=np.int64)

"""The search for prices: column generation, first with slots merged into periods.

With one price for all slots of a period the master has few rows, and few passes bring its bound
near the best that such prices have. Halved periods begin with these prices and all columns, so that
few passes are left to do with many rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dlsched.problems.utility.programs.lagrangian import Dual
from dlsched.problems.utility.programs.master import Columns, Master
from dlsched.problems.utility.structures.gangs import Gangs, Indices, Stopped, Vector
from dlsched.run import Run

_SMOOTHING = 0.5
"""Weight of the best prices in an average with the master's (Wentges 1997)."""
_FIRST = 12
"""Periods of equal, and of growing, length in the first master."""
_MOST_ROWS = 1_000
"""With more rows the master's simplex takes longer than its prices are worth."""
_MANY = 0.8
"""With more periods, as a share of the slots, none are merged."""
_LEAST = 1e-12
"""Averages of prices that fall to 0 end there, where they are below this; utilities are up to 1."""
_COARSE = 1e-3
"""Where the master's optimum and the bound are this near, merged slots are done."""
_FINE = 1e-7
"""The same for single slots."""


def refinements(gangs: Gangs) -> Iterator[Indices]:
    """Yield the first slots of periods, and the end; each time the periods are halved.

    The first ones are cut at equal distances, and at equal ratios, as prices fall fastest early.
    """
    slots = gangs.instance.slots
    equal = np.linspace(0, slots, _FIRST + 1)
    cuts = np.unique(np.append(equal, np.geomspace(1, slots, _FIRST)).round().astype(np.int64))
    most = max(len(cuts), (_MOST_ROWS - len(gangs.workers)) // len(gangs.sets) + 1)
    while len(cuts) <= min(most, int(_MANY * slots)):
        yield cuts
        cuts = np.union1d(cuts, (cuts[1:] + cuts[:-1]) // 2)
    if slots < most:
        yield np.arange(slots + 1)


def generate(
    dual: Dual, columns: Columns, run: Run, cuts: Indices, prices: Vector
) -> tuple[Vector, bool]:
    """Return better prices of periods, and whether the search for these has ended.

    Columns are added. Bounds of prices are compared with work rounded down, as the columns' is.

    Parameters
    ----------
    cuts
        The first slots of the periods, and the end.
    prices
        Slots x types, where the search begins.

    Raises
    ------
    Stopped
        If there is a reason to stop before the first prices.
    """
    lengths = np.diff(cuts)
    means = np.add.reduceat(prices, cuts[:-1], axis=0) / lengths[:, None]
    best_prices = np.repeat(means, lengths, axis=0)
    best = dual.price(best_prices, round_down=True)
    columns.add(best.rows)
    master = Master(columns, run, cuts)
    smoothing = _SMOOTHING
    close = _FINE if len(lengths) == len(prices) else _COARSE
    while not run.stop_reason():
        solved = master.solve()
        if solved is None:
            break
        value, masters_prices = solved
        if best.bound - value <= close * abs(value):
            return best_prices, True
        tried = masters_prices + smoothing * (best_prices - masters_prices)
        tried[tried < _LEAST] = 0.0
        try:
            priced = dual.price(tried, round_down=True)
        except Stopped:
            break
        better = priced.bound < best.bound
        if better:
            best_prices = tried
            best = priced
        if columns.add(priced.rows):
            smoothing = _SMOOTHING
            master.extend()
        elif smoothing and not better:
            smoothing = 0.0  # mispriced: continue at the master's own prices
        elif not better:
            return best_prices, True
    return best_prices, False

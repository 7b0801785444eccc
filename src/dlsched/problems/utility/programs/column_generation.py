"""The search for prices: column generation, first with slots merged into periods.

With one price for all slots of a period the master has few rows, and few passes bring its bound
near the best that such prices have. Halved periods begin with these prices and all columns, so that
few passes are left to do with many rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dlsched.problems.utility.programs.lagrangian import Dual
from dlsched.problems.utility.programs.master import Columns, ScheduleMaster
from dlsched.problems.utility.programs.tunables import TUNABLES
from dlsched.problems.utility.structures.gangs import Gangs, Indices, Levels, Stopped, Vector
from dlsched.run import Run
from dlsched.solvers.column_generation import generate

_LEAST = 1e-12
"""Averages of prices that fall to 0 end there, where they are below this; utilities are up to 1."""


def refinements(gangs: Gangs) -> Iterator[Indices]:
    """Yield the first slots of periods, and the end; each time the periods are halved.

    The first ones are cut at equal distances, and at equal ratios, as prices fall fastest early.
    """
    slots = gangs.instance.slots
    equal = np.linspace(0, slots, TUNABLES.periods + 1)
    growing = np.geomspace(1, slots, TUNABLES.periods)
    cuts = np.unique(np.append(equal, growing).round().astype(np.int64))
    most = max(len(cuts), (TUNABLES.most_rows - len(gangs.workers)) // len(gangs.sets) + 1)
    while len(cuts) <= min(most, int(TUNABLES.merged * slots)):
        yield cuts
        cuts = np.union1d(cuts, (cuts[1:] + cuts[:-1]) // 2)
    if slots < most:
        yield np.arange(slots + 1)


def prices_of_periods(
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
    best = np.repeat(means, lengths, axis=0)
    first = dual.price(best, round_down=True)
    master = ScheduleMaster(columns, run, cuts)
    master.add(first.rows)

    def price(prices: Vector) -> tuple[float, Levels] | None:
        try:
            priced = dual.price(prices, round_down=True)
        except Stopped:
            return None
        return priced.bound, priced.rows

    least, ended = first.bound, False
    close = TUNABLES.fine if len(lengths) == len(prices) else TUNABLES.coarse
    known = best, least
    for tried in generate(master, price, run, mixed=_mean, known=known, close=close):
        ended = tried.last
        if tried.bound < least:
            best, least = tried.prices, tried.bound
    return best, ended


def _mean(own: Vector, best: Vector, weight: float) -> Vector:
    """Return the prices between the master's own and the best, with this weight of the latter."""
    prices = own + weight * (best - own)
    prices[prices < _LEAST] = 0.0
    return prices

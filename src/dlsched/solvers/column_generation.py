"""Column generation, for all problems: prices from a restricted master, columns from pricing.

The prices that are tried lie between those of the best bound and the master's own, which vary
greatly from one solution to the next (Wentges 1997). Without a new column they move towards the
master's, until these themselves have none: then the master's optimum is the relaxation's.
"""

import math
from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple, Protocol, TypeVar

from dlsched.run import Run

P = TypeVar("P")
C = TypeVar("C")
P_co = TypeVar("P_co", covariant=True)
C_contra = TypeVar("C_contra", contravariant=True)

SMOOTHING = 0.5
"""Weight of the best bound's prices, next to the master's."""
_LEAST = 1 / 8
"""A smaller weight counts as none."""
CLOSE = 1e-9
"""Relative distance at which bound and optimum, both in floats, count as equal."""


class Master(Protocol[P_co, C_contra]):
    """A linear program over the columns known so far; its objective is maximized."""

    def solve(self) -> tuple[float, P_co] | None:
        """Return the optimum and its prices; ``None`` if a limit struck or the solver failed."""

    def add(self, columns: C_contra) -> object:
        """Add columns; return something true if one of them can improve the last optimum."""


class Round(NamedTuple, Generic[P]):
    """The prices of one round, the bound they prove, and whether nothing is left to generate."""

    prices: P
    bound: float
    last: bool


def generate(
    master: Master[P, C],
    price: Callable[[P], tuple[float, C] | None],
    run: Run,
    *,
    mixed: Callable[[P, P, float], P] | None = None,
    known: tuple[P, float] | None = None,
    close: float = CLOSE,
) -> Iterator[Round[P]]:
    """Yield the rounds of column generation; without a last one, a limit struck.

    Parameters
    ----------
    price
        The bound that prices prove, infinite if none, and columns; ``None`` if a limit struck.
    mixed
        ``mixed(own, best, weight)`` has this weight of the best bound's prices. Without it the
        master's own are tried.
    known
        Prices and their bound, to begin from.
    close
        Relative distance of the best bound and the master's optimum at which the search ends.
    """
    best_prices, best = known or (None, math.inf)
    weight = SMOOTHING if mixed else 0.0
    while not run.stop_reason():
        solved = master.solve()
        if solved is None:
            return
        optimum, prices = solved
        smoothed = False
        if mixed is not None and best_prices is not None and weight > 0:
            prices = mixed(prices, best_prices, weight)
            smoothed = True
        priced = price(prices)
        if priced is None:
            return
        bound, columns = priced
        if bound < best:
            best_prices, best = prices, bound
        helps = master.add(columns)
        last = best - optimum <= close * abs(optimum) or not (helps or smoothed)
        yield Round(prices, bound, last)
        if last:
            return
        less = weight / 2 if weight > _LEAST else 0.0
        weight = SMOOTHING if mixed and helps else less

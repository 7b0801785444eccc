"""Which forms to try for the proof of a level."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from dlsched.problems.interleaving.definition.check import evaluate
from dlsched.problems.interleaving.definition.schema import Instance, Solution
from dlsched.problems.interleaving.exact.group_columns import GroupSearch
from dlsched.problems.interleaving.programs.column_pool import GroupPool
from dlsched.problems.interleaving.programs.columns import Prices, ProfileClass
from dlsched.problems.interleaving.programs.tunables import TUNABLES
from dlsched.problems.interleaving.structures.group_counts import count_groups
from dlsched.problems.interleaving.structures.groups import REDUCED_ERROR
from dlsched.proofs.forms.form import FormChoice
from dlsched.run import Run

_BITS = 36


def choices(instance: Instance, solution: Solution, level: int, run: Run) -> Iterator[FormChoice]:
    """Yield the forms to try for a level, the most promising first."""
    target = Fraction(evaluate(instance, solution.groups)[0])
    return bound_choices(instance, solution, target, run)


def bound_choices(
    instance: Instance, solution: Solution, target: Fraction, run: Run
) -> Iterator[FormChoice]:
    """Yield the forms to try for a proof that no grouping is worth more than a target."""
    if count_groups(instance) > TUNABLES.few_groups:
        parameters = _prices(instance, solution, target, run)
        if parameters is not None:
            yield FormChoice("groups", parameters)
    yield FormChoice("model")


def _prices(
    instance: Instance, solution: Solution, target: Fraction, run: Run
) -> dict[str, Any] | None:
    """Return the prices of the relaxation; None if a limit struck."""
    pool = GroupPool(instance)
    search = GroupSearch(pool, run)
    search.incumbent.offer(search.own(solution))
    search.solve_relaxation(1.0)
    if search.prices is None:
        return None
    unit = 2.0**_BITS
    gpu = float(np.rint(search.prices.gpu * unit))
    prices = Prices(np.rint(search.prices.rows * unit), gpu)
    highest = [
        math.ceil(Fraction(value) * 2**_BITS + _rounding(pool, part, prices))
        for part, value in zip(pool.classes, search.highest.tolist(), strict=True)
    ]
    scaled = Prices(prices.rows / unit, prices.gpu / unit)
    missing = target - pool.lagrangian(scaled, np.array(highest) / unit)
    if missing > 0:
        # The form has nothing below a bound of the prices, so that this must not be below it.
        highest[0] += 1 + math.ceil(missing * 2**_BITS / pool.classes[0].fewest)
    return {
        "bits": _BITS,
        "prices": [int(v) for v in prices.rows],
        "gpu": int(prices.gpu),
        "highest": highest,
    }


def _rounding(pool: GroupPool, part: ProfileClass, prices: Prices) -> Fraction:
    """Return how far a reduced value in units may be above the one that the search has.

    Prices were rounded by half a unit; the form rounds what a group is worth up to a unit.
    """
    weight = part.profiles.weight * 2.0**_BITS
    price = float(np.abs(prices.rows[part.rows]).max())
    scale = weight + price + prices.gpu * part.gpus
    return 1 + Fraction(pool.largest + part.gpus, 2) + Fraction(2 * REDUCED_ERROR * scale)

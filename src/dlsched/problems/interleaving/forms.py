"""The form of groups, for proofs: all groups that matter at the proof's prices, no others.

Every grouping is worth the prices of its jobs and GPUs plus the reduced values of its groups. So
with a bound on groupings from the largest reduced value, a group whose reduced value is further
below the largest than the bound is above the target is in no grouping as good as that. One pricing
pass finds all others, in doubles with a margin for their rounding (`pool.Pool.bound`); their
efficiencies are then computed exactly.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dlsched.forms.form import Form, Goal, Row
from dlsched.forms.parameters import require_keys, whole, wholes
from dlsched.forms.restricted import Restricted
from dlsched.problems.interleaving.check import efficiency
from dlsched.problems.interleaving.groups import REDUCED_ERROR
from dlsched.problems.interleaving.offsets import best_offsets
from dlsched.problems.interleaving.pool import Groups, Pool, Prices
from dlsched.problems.interleaving.schema import Instance
from dlsched.problems.interleaving.tables import Query
from dlsched.run import Run
from dlsched.schema import Number

MOST_GROUPS = 100_000
"""A form with more is refused."""
BITS = 40
"""Efficiencies are rounded up to multiples of two to minus this."""
_FINEST, _HIGHEST = 500, 2**100
"""No sum of prices within these limits overflows or vanishes in doubles."""
_KEYS = ("prices", "gpu", "bits", "highest")


def groups(
    instance: Instance, parameters: Mapping[str, Any], level: int, targets: Sequence[Number]
) -> Form:
    """Return the set partitioning program over the groups that matter.

    Parameters
    ----------
    parameters
        ``prices``: of a job of each profile, and ``gpu``, of a GPU of the budget, in multiples of
        two to minus ``bits``; ``highest``: about the largest reduced value of each class, likewise.
    """
    require_keys("groups", parameters, _KEYS)
    given, bits = [parameters[key] for key in ("prices", "highest")], parameters["bits"]
    if not (whole(bits) and 0 <= bits <= _FINEST and whole(parameters["gpu"])):
        raise ValueError(f"bits and gpu must be integers, and bits from 0 to {_FINEST}")
    if not all(map(wholes, given)) or any(abs(v) > _HIGHEST for row in given for v in row):
        raise ValueError("prices and highest must be lists of integers up to 2**100")
    pool, unit = Pool(instance), 2.0**-bits
    stated, highest = ([unit * v for v in row] for row in given)
    gpu = unit * min(parameters["gpu"], _HIGHEST)
    if len(stated) != len(pool.profiles) or len(highest) != len(pool.classes) or gpu < 0:
        raise ValueError("the prices are not of this form's profiles")
    prices = Prices(np.array(stated), gpu)
    return _form(pool, _within(pool, prices, highest, Fraction(targets[0])))


FORMS = {"groups": Restricted(groups)}


def _within(pool: Pool, prices: Prices, stated: Sequence[float], target: Fraction) -> Groups:
    """Return all groups that are in groupings worth the target or more."""
    bound = pool.lagrangian(prices, np.array(stated))
    slack = max(0.0, float(bound - target)) * (1 + 1e-6)
    parts, found = [], []
    for c, one in enumerate(pool.classes):
        scale = one.weight + float(np.abs(prices.rows[one.rows]).max()) + prices.gpu * one.gpus
        margin = 4 * REDUCED_ERROR * scale
        threshold = stated[c] - slack - margin
        query = Query(threshold, MOST_GROUPS, MOST_GROUPS, listing=True)
        priced = pool.price(prices, query, Run(), [c])
        if priced is None or not priced.complete:
            raise ValueError(f"more than {MOST_GROUPS:,} groups matter at these prices")
        parts.append(priced.groups)
        found.append(float(priced.highest[c]))
        if found[c] > stated[c] + margin:
            raise ValueError("a group has a larger reduced value than is stated")
    return Groups.join(parts)


def _form(pool: Pool, found: Groups) -> Form:
    """Return the program: every profile's jobs are in groups, within the budget."""
    members = [[row for row in rows if row >= 0] for rows in found.members.tolist()]
    uses = [Counter(rows) for rows in members]
    jobs = pool.multiplicity.tolist()
    upper = [min(jobs[row] // often for row, often in use.items()) for use in uses]
    cells: list[dict[int, int]] = [{} for _ in pool.profiles]
    for i, use in enumerate(uses):
        for row, often in use.items():
            cells[row][i] = often
    rows = [Row(entries, count, count) for entries, count in zip(cells, jobs, strict=True)]
    for c, one in enumerate(pool.classes):
        own = {i: 1 for i in np.flatnonzero(found.class_of == c).tolist()}
        rows.append(Row(own, one.fewest, one.most))
    if pool.budget is not None:
        gpus = dict(enumerate(pool.gpus(found).tolist()))
        rows.append(Row(gpus, None, pool.budget))
    costs = {}
    for i, entries in enumerate(members):
        stages = [pool.profiles[row].stages for row in entries]
        worth = efficiency(stages, best_offsets(stages)) * pool.classes[found.class_of[i]].weight
        costs[i] = -math.ceil(worth * 2**BITS)
    goal = Goal("efficiency", -1, costs, 0, Fraction(1, 2**BITS), False)
    columns = len(members)
    return Form("groups", [0] * columns, upper, [True] * columns, rows, [goal])

"""The form for proofs: the program of kinds within the gap between prices' bound and the target."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dlsched.problems.configurations.definition.costs import UNIT
from dlsched.problems.configurations.definition.schema import Instance
from dlsched.problems.configurations.model import blocks
from dlsched.problems.configurations.programs.kinds import WAITS, KindProgram, Kinds
from dlsched.proofs.forms.form import Form, Goal, Row
from dlsched.proofs.forms.parameters import require_keys, wholes
from dlsched.proofs.forms.restricted import Restricted
from dlsched.schema import Number


def priced(
    instance: Instance, parameters: Mapping[str, Any], level: int, targets: Sequence[Number]
) -> Form:
    """Return the form of solutions that cost at most the target, in integers of 1e-9.

    Any prices from 0 are right: a choice whose cost above their bound exceeds the gap is in no
    solution with the target. ``prices`` has one for each type, in the file's order.
    """
    require_keys("prices", parameters, ["prices"])
    listed = parameters["prices"]
    if not wholes(listed) or len(listed) != len(instance.types) or min(listed, default=0) < 0:
        raise ValueError("the form prices needs a whole number from 0 for each type")
    prices = {kind.id: price for kind, price in zip(instance.types, listed, strict=True)}
    kinds = Kinds(instance)
    gap = Fraction(targets[0]) * UNIT - kinds.bound(prices)
    if gap < 0 or gap.denominator > 1:
        raise ValueError(f"no solution costs {targets[0]}")
    above = {
        key: units
        for key, units in KindProgram(kinds, prices, int(gap)).above.items()
        if units <= gap
    }
    column = {key: j for j, key in enumerate(above)}
    upper = [len(kinds.kinds[k].jobs) for k, _ in column]
    costs = {column[key]: units for key, units in above.items() if units}
    of_kind = defaultdict[int, dict[int, int]](dict)
    for (k, _), j in column.items():
        of_kind[k][j] = 1
    rows = [Row(row, upper[min(row)], upper[min(row)]) for row in of_kind.values()]
    for t, kind in enumerate(instance.types):
        there, idle = kind.nodes * kind.gpus_per_node, len(column) + t
        price = prices[kind.id]
        upper.append(min(there, int(gap) // price) if price else there)
        if price:
            costs[idle] = price
        used = {j: instance.by_id[c] for (_, c), j in column.items() if c != WAITS}
        mine = {j: one for j, one in used.items() if one.type == kind.id}
        rows.append(Row({j: one.gpus for j, one in mine.items()} | {idle: 1}, there, there))
        for b in blocks(kind)[1:]:
            each = {j: min(one.gpus, kind.gpus_per_node) // b for j, one in mine.items()}
            row = {j: mine[j].nodes * n for j, n in each.items() if n}
            rows.append(Row(row, None, kind.nodes * (kind.gpus_per_node // b)))
    kept = {j: -1 for (k, c), j in column.items() if c == kinds.kinds[k].present}
    running = sum(job.present is not None for job in instance.jobs)
    goals = [
        Goal("cost", 1, costs, kinds.bound(prices), Fraction(1, UNIT), True),
        Goal("moved", 1, kept, running, Fraction(1), True),
    ]
    count = len(upper)
    return Form("prices", [0] * count, upper, [True] * count, rows, goals)


FORMS = {"prices": Restricted(priced)}

"""The form for proofs: the program of kinds within the gap between prices' bound and the target."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dlsched.problems.configurations.definition.costs import UNIT
from dlsched.problems.configurations.definition.schema import Configuration, Gpu, Instance
from dlsched.problems.configurations.model import blocks, blocks_of
from dlsched.problems.configurations.programs.kinds import WAITS, KindProgram, Kinds
from dlsched.proofs.forms.form import Form, Goal, Restricted, Row
from dlsched.proofs.forms.parameters import require_keys, wholes
from dlsched.schema import Id, Number


def priced(
    instance: Instance, parameters: Mapping[str, Any], level: int, targets: Sequence[Number]
) -> Form:
    """Return the form of solutions that cost at most the target, in integers of 1e-9.

    Any prices from 0 are right: a choice whose cost above their bound exceeds the gap is in no
    solution with the target. ``prices`` has one for each type, in the file's order.
    """
    kinds = Kinds(instance)
    prices = _prices(instance, parameters)
    gap = Fraction(targets[0]) * UNIT - kinds.bound(prices)
    if gap < 0 or gap.denominator > 1:
        raise ValueError(f"no solution costs {targets[0]}")
    every = KindProgram(kinds, prices, int(gap)).above
    above = {key: units for key, units in every.items() if units <= gap}
    column = {key: j for j, key in enumerate(above)}
    upper = [len(kinds.kinds[k].jobs) for k, _ in above]
    costs = {column[key]: units for key, units in above.items() if units}
    rows = []
    for k, alike in enumerate(kinds.kinds):
        ones = {column[k, c]: 1 for c in alike.costs if (k, c) in column}
        rows.append(Row(ones, len(alike.jobs), len(alike.jobs)))
    for kind in instance.types:
        idle = len(upper)
        most = kinds.gpus[kind.id]
        price = prices[kind.id]
        if price:
            costs[idle] = price
            most = min(most, int(gap) // price)
        upper.append(most)
        used = {}
        for (_, c), j in column.items():
            if c != WAITS and instance.by_id[c].type == kind.id:
                used[j] = instance.by_id[c]
        rows += _rooms(kind, used, idle)
    kept = {j: -1 for (k, c), j in column.items() if c == kinds.kinds[k].present}
    running = sum(job.present is not None for job in instance.jobs)
    cost = Goal("cost", 1, costs, kinds.bound(prices), Fraction(1, UNIT), True)
    goals = [cost, Goal("moved", 1, kept, running, Fraction(1), True)]
    return Form("prices", [0] * len(upper), upper, [True] * len(upper), rows, goals)


def _prices(instance: Instance, parameters: Mapping[str, Any]) -> dict[Id, int]:
    """Return the price of a GPU of each type that a proof states."""
    require_keys("prices", parameters, ["prices"])
    listed = parameters["prices"]
    if not wholes(listed) or len(listed) != len(instance.types) or min(listed, default=0) < 0:
        raise ValueError("the form prices needs a whole number from 0 for each type")
    return dict(zip(instance.type_of, listed, strict=True))


def _rooms(kind: Gpu, used: Mapping[int, Configuration], idle: int) -> Iterator[Row]:
    """Yield that a type's nodes have the blocks that are used; each GPU is used or idle."""
    for b in blocks(kind):
        most = kind.nodes * (kind.gpus_per_node // b)
        cells = {j: blocks_of(kind, one, b) for j, one in used.items()}
        cells = {j: number for j, number in cells.items() if number}
        if b == 1:
            yield Row({**cells, idle: 1}, most, most)
        else:
            yield Row(cells, None, most)


FORMS = {"prices": Restricted(priced)}

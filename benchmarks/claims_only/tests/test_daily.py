"""The move quota of every day."""

from __future__ import annotations

from claims_only.daily import daily

import dlsched
from dlsched.problems.placement.definition.check import evaluate


def test_each_day_has_its_quota() -> None:
    """Every day moves at most the quota from the placement of the day before, and costs fall."""
    inst = dlsched.generate("placement", 3, tables=60, regions=4, jobs=90, move_share=0.05)
    size = {table.id: table.size for table in inst.tables}
    before = {table.id: table.home for table in inst.tables}
    costs = []
    for solution in daily(inst, 6):
        changed = sum(size[t] for t, r in solution.home.items() if r != before[t])
        assert changed <= inst.move_quota
        before = solution.home
        index = inst.region_index
        costs.append(evaluate(inst, {t: index[r] for t, r in solution.home.items()}).cost)
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]

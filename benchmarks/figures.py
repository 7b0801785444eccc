"""Cells of gaps, as several pages have them."""

from __future__ import annotations

import dlsched
from dlsched.results.result import Result
from dlsched.schema import Instance


def cell(gap: float | None) -> str:
    """Return a gap for a table: a percentage of three digits; 0 is exactly that."""
    if gap is None:
        return "-"
    return "0" if gap == 0 else f"{100 * float(gap):.3g} %"


def rule_gap(instance: Instance, rule: str, best: Result, level: int = 0) -> str:
    """Return the cell of a rule's gap to the best bound known; "stuck" if it has no solution."""
    answer = dlsched.solve(instance, rule)
    return "stuck" if answer.solution is None else cell(answer.gap_to(best.bound)[level])

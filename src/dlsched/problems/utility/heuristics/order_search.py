"""Search over the order in which jobs are inserted: one job is moved, and those after it. Compiled.

An order stands for the schedule in which every job is inserted in turn (`plan.insert`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dlsched.problems.utility.heuristics.partial_schedule import (
    EQUAL,
    Plan,
    below,
    copy,
    copy_rows,
    draw,
    insert,
    remove,
)
from dlsched.problems.utility.structures.insertion_arrays import Demands
from dlsched.solvers.compilation import entry, loop

_FARTHEST = 0.4
"""The most places by which a job is moved, as a share of the jobs."""


@loop
def _move(plan: Any, order: Any, moved: Any) -> int:
    """Write an order in which one job is elsewhere; return the first place that differs."""
    count = len(order)
    most = max(1, int(_FARTHEST * count))
    origin = below(plan.seed, count)
    shift = 1 + below(plan.seed, most)
    if draw(plan.seed) < 0.5:
        shift = -shift
    target = min(count - 1, max(0, origin + shift))
    copy(order, moved)
    step = 1 if target > origin else -1
    for i in range(origin, target, step):
        moved[i] = order[i + step]
    moved[target] = order[origin]
    return min(origin, target)


@entry(
    "void(Demands, Plan, int64[::1], int64, float64, float64[::1], int8[:, ::1])",
    records=(Demands, Plan),
)
def anneal_order(
    demands: Any, plan: Any, order: Any, rounds: int, temperature: float, totals: Any, kept: Any
) -> None:
    """Move a job in the order and insert those from there on again, for a number of rounds.

    Parameters
    ----------
    plan
        The schedule of `order`. Written.
    order
        The jobs in the order of insertion. Written.
    temperature, totals, kept
        As in `neighbourhood.anneal`.
    """
    slots = np.empty(plan.levels.shape[1], dtype=np.int64)
    levels, finish = np.empty_like(plan.levels), np.empty_like(plan.finish)
    free, moved = np.empty_like(plan.free), np.empty_like(order)
    for _ in range(rounds):
        first = _move(plan, order, moved)
        copy_rows(plan.levels, levels)
        copy(plan.finish, finish)
        copy_rows(plan.free, free)
        loss = 0.0
        for i in range(first, len(order)):
            j = order[i]
            if plan.finish[j] >= 0:
                loss += demands.value[j, plan.finish[j]]
                remove(demands, plan, j)
        for i in range(first, len(order)):
            loss -= insert(demands, plan, moved[i], 0, slots)
        if loss <= 0.0 or draw(plan.seed) < np.exp(-loss / temperature):
            copy(moved, order)
            totals[0] -= loss
            if totals[0] > totals[1] + EQUAL * abs(totals[1]):
                totals[1] = totals[0]
                copy_rows(plan.levels, kept)
        else:
            copy_rows(levels, plan.levels)
            copy(finish, plan.finish)
            copy_rows(free, plan.free)

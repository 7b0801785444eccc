"""The rule `counted`: priority by priority, one small integer program over blocks of machines.

The program is that of `classes`, which counts tasks instead of placing them. Per priority there is
one level, whose cost of a preempted job exceeds what can start at that priority, and the program is
left after a few nodes. Priorities at which everything starts and nobody is preempted need none.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from dlsched.problems.dispatch.batch import Search
from dlsched.problems.dispatch.disaggregate import place, point_of
from dlsched.problems.dispatch.schema import MOST_PRIORITIES, Instance, Solution
from dlsched.run import Run
from dlsched.schema import Number
from dlsched.solvers import highs
from dlsched.solvers.standard_form import StandardForm


def count(
    instance: Instance, run: Run, start: Solution, within: float, nodes: int, tries: int
) -> Solution:
    """Return the best solution found from a feasible one; see the method `counted`."""
    search = Search(instance, run, start)
    wanted = _wanted(search)
    held: list[float] = []
    for p in range(1, MOST_PRIORITIES + 1):
        lost, gained = 2 * p - 2, 2 * p - 1
        if search.value[lost] or search.value[gained] < wanted[p]:
            for _ in range(tries):
                if run.stop_reason():
                    return search.best
                program, form = search.hold(held)
                level = _both(form, lost, gained, float(wanted[p]) + 1)
                begin = point_of(program, search.best)
                limited = run.nested(gap=within)
                found = highs.solve(level, 0, limited, start=begin, quiet=True, nodes=nodes)
                if found.values is None:
                    break
                solution, failed, cuts = place(program, np.rint(found.values), False, run.nested())
                if solution is not None:
                    search.accept(solution)
                if solution is not None or not search.refine(failed, cuts):
                    break
        held += [float(search.value[lost]), float(search.value[gained])]
    return search.best


def _wanted(search: Search) -> list[Number]:
    """Return by priority the size of all workloads that some region has the data of."""
    total: list[Number] = [0] * (MOST_PRIORITIES + 1)
    for ranked in search.ranking:
        workload = search.instance.pending[ranked.position]
        if search.fleet.sites_of(workload):
            total[ranked.priority] += search.instance.size(workload)
    return total


def _both(form: StandardForm, lost: int, gained: int, weight: float) -> StandardForm:
    """Return a form with one level: what starts, less a weight for every job preempted."""
    costs = form.costs[gained] - weight * form.costs[lost]
    return replace(
        form, costs=(costs,), offsets=(0.0,), senses=("max",), granularities=(Fraction(0),)
    )

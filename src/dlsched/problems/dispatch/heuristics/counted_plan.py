"""The rule `counted`: priority by priority, one small integer program over blocks of machines.

The program is that of `classes`, which counts tasks instead of placing them. Per priority there is
one level, whose cost of a preempted job exceeds what can start at that priority, and the program is
left after a few nodes. Priorities at which everything starts and nobody is preempted need none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from dlsched.problems.dispatch.definition.schema import Instance, Solution
from dlsched.problems.dispatch.definition.workloads import MOST_PRIORITIES
from dlsched.problems.dispatch.heuristics.dispatcher import filled
from dlsched.problems.dispatch.programs.batch_search import BatchSearch, Best
from dlsched.problems.dispatch.programs.place_counts import place, point_of
from dlsched.results.result import Status
from dlsched.run import Run
from dlsched.schema import Number
from dlsched.solvers import highs
from dlsched.solvers.standard_form import StandardForm


@dataclass(frozen=True)
class Tunables:
    """Tunables of `counted`, chosen by hand."""

    within: float = 0.01
    """Relative distance of a program's incumbent to its bound at which it is left."""
    nodes: int = 10
    """Most nodes of a program's branch and bound."""
    tries: int = 4
    """Most programs for one priority: if counts have no places, the next one is stronger."""


TUNABLES = Tunables()


class Counted:
    """The search, priority by priority, from the best solution known."""

    def __init__(self, instance: Instance, run: Run, best: Best) -> None:
        self.search = BatchSearch(instance, run, best)
        self.run = run

    def solve(self) -> Solution:
        """Return the best solution found; what still fits is started where a program is left."""
        search, value = self.search, self.search.value
        wanted = _wanted(search)
        held: list[Number] = []
        proved = True
        for p in range(1, MOST_PRIORITIES + 1):
            lost, gained = 2 * p - 2, 2 * p - 1
            if value[lost] or value[gained] < wanted[p]:
                proved &= self.improve(held, lost, gained, float(wanted[p]) + 1)
                value = search.value
            held += [value[lost], value[gained]]
        if not proved:
            search.offer(filled(search.instance, search.solution))
        return search.solution

    def improve(self, held: Sequence[Number], lost: int, gained: int, weight: float) -> bool:
        """Solve one priority's program; return whether its optimum was reached and placed."""
        search = self.search
        both = partial(_both, lost=lost, gained=gained, weight=weight)
        search.relax(0, held, changed=both)
        for _ in range(TUNABLES.tries):
            if self.run.stop_reason():
                return False
            program, form = search.hold(held)
            outcome = highs.solve(
                both(form),
                0,
                self.run.nested(gap=TUNABLES.within),
                start=point_of(program, search.solution),
                quiet=True,
                nodes=TUNABLES.nodes,
            )
            if outcome.values is None:
                return False
            placement = place(program, np.rint(outcome.values), False, self.run.nested())
            if placement.solution is not None:
                search.offer(placement.solution)
                return outcome.status is Status.OPTIMAL
            if not search.refine(placement):
                return False
        return False


def _wanted(search: BatchSearch) -> list[Number]:
    """Return by priority the size of all workloads that some region has the data of."""
    total: list[Number] = [0] * (MOST_PRIORITIES + 1)
    for ranked in search.batch.ranking:
        workload = search.instance.pending[ranked.position]
        if search.instance.regions_of(workload):
            total[ranked.priority] += search.instance.size(workload)
    return total


def _both(form: StandardForm, lost: int, gained: int, weight: float) -> StandardForm:
    """Return a form with one level: what starts, less a weight for every job preempted."""
    costs = form.costs[gained] - weight * form.costs[lost]
    return replace(
        form, costs=(costs,), offsets=(0.0,), senses=("max",), granularities=(Fraction(0),)
    )

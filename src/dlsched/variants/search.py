"""A heuristic for any variant: neighbourhood search by integer programs.

It begins from the solutions of the heuristics that the problem's exact method begins from, which
know nothing of the variant. One that violates it is repaired: the violations of the added rows are
minimized over its neighbourhood, which grows until there are none. Then the whole model is solved
with few nodes, which often is enough. If it is not, a neighbourhood of the best
solution is drawn, and solved level by level, again and again: larger ones where the last was solved
to the end, up to the whole model. Every solution is checked before it is kept.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dlsched import registry
from dlsched.errors import OptionError
from dlsched.results.objective import SOLVER_PRECISION
from dlsched.results.result import Claim, Status
from dlsched.run import Run, Stage
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution
from dlsched.solvers import highs
from dlsched.solvers.standard_form import StandardForm
from dlsched.variants.best_solution import BestSolution
from dlsched.variants.neighbourhood_sizes import NeighbourhoodSizes
from dlsched.variants.neighbourhoods import Family, Mask, families, restricted
from dlsched.variants.repair import NODES, repair_any

if TYPE_CHECKING:
    from dlsched.variants.problem import VariantProblem

logger = logging.getLogger(__name__)

_SMALL = 400
"""With at most this many integer columns the first neighbourhood is the whole model."""
_FEW = 5
"""Nodes of the integer programs of a larger whole model, which comes first."""
_PART_OF_WHOLE = 0.15
"""Of the time limit, for each of these."""
_PART_OF_STARTS = 0.3
"""Of the time limit, for the problem's own heuristics."""
_PART_OF_NEIGHBOURHOOD = 0.04
"""Of the time limit, for one integer program, so that there are at least some tens of them."""
_PART_OF_ANY = 0.5
"""Of the neighbourhoods, with groups that need not follow each other in the index set."""


class Search(BestSolution):
    """The search: its starts, and neighbourhoods of the best solution."""

    def __init__(self, instance: Instance, run: Run, owner: VariantProblem) -> None:
        super().__init__(instance, run, owner)
        self.solved = False
        self.whole_solved = False
        self._known_families: tuple[StandardForm, list[Family]] | None = None

    def claim(self) -> Claim:
        """Search, and return the best solution."""
        starts = list(self.starts())
        if self.best is None:
            repair_any(self, starts)
        if self.best is not None:
            self.improve()
        if self.best is None:
            why = f"; the starts violate it: {self.violated}" if self.violated else ""
            stop = self.run.stop_reason()
            reason = f"no start could be repaired{why}"
            return Claim(status=Status.NO_SOLUTION, termination=stop, reason=reason)
        return Claim(
            solution=self.best,
            status=Status.FEASIBLE,
            termination=self.run.stop_reason(),
        )

    def starts(self) -> Iterator[Solution]:
        """Yield the solutions of the problem's heuristics, each offered."""
        if self.run.start is not None:
            self.offer(self.run.start)
            yield self.run.start
        base = self.owner.base
        methods = [base.method(start.name) for start in base.starts_for(self.instance)]
        limit = self.run.time_limit
        for number, method in enumerate(methods):
            if self.run.stop_reason():
                return
            seconds = float("inf")
            if limit is not None:
                left = limit * _PART_OF_STARTS - self.run.elapsed()
                if left <= 0 and number:
                    return
                seconds = max(left, 0.0) / (len(methods) - number)
            try:
                claim = registry.call(method, self.instance, self.run.nested(seconds), {})
            except OptionError:  # the heuristic is not for this instance
                continue
            found = claim.solution
            if isinstance(found, Solution) and base.check(self.instance, found).feasible:
                self.offer(found)
                yield found

    def _seconds(self, part: float) -> float:
        """Return the limit of one integer program, as a part of the run's."""
        limit = self.run.time_limit
        return float("inf") if limit is None else part * limit

    def improve(self) -> None:
        """Solve neighbourhoods of the best solution until none of them helps."""
        _, form = self.program()
        small = form.integer.sum() <= _SMALL
        if small or not self.owner.refined:
            self.run.announce(Stage.SEARCHING, "the whole model, with few nodes")
            nodes, part = (NODES, _PART_OF_NEIGHBOURHOOD) if small else (_FEW, _PART_OF_WHOLE)
            while self.solve_part(None, nodes, part) and small:
                pass
            if self.whole_solved:
                return
        self._solve_where_relaxation_is()
        self.run.announce(Stage.SEARCHING, "neighbourhoods by index sets and rows")
        progress = NeighbourhoodSizes()
        while not self.whole_solved and not self.run.stop_reason():
            known = self._families()  # anew where the model has been refined
            for family in known:
                if family.name not in progress.columns:
                    progress.columns[family.name] = int(self._neighbourhood(family, progress).sum())
            chosen = progress.next_of(known)
            if chosen is None:
                return
            free = self._neighbourhood(chosen, progress)
            better = self.solve_part(free)
            progress.note(chosen, int(free.sum()), better, self.solved)

    def _solve_where_relaxation_is(self) -> None:
        """Solve the columns that the relaxation or the best solution uses, while that helps."""
        better = not self.run.stop_reason()
        while better:
            model, form = self.program()
            relaxed = highs.solve(
                form, 0, self.run.nested(self._seconds(_PART_OF_WHOLE)), relax=True
            )
            if relaxed.values is None or self.best is None:
                return
            used = [relaxed.values, self.point(model, form, self.best)]
            free = ~form.integer
            for values in used:
                free |= np.abs(values - form.lower) > SOLVER_PRECISION
            better = self.solve_part(free, NODES, _PART_OF_WHOLE) and not self.run.stop_reason()

    def _neighbourhood(self, family: Family, progress: NeighbourhoodSizes) -> Mask:
        """Draw the free columns of a neighbourhood of the size that is to be tried."""
        chosen = self._draw(len(family.groups), progress.size_of(family))
        return family.free(chosen, self.program()[1])

    def _draw(self, groups: int, count: int) -> list[int]:
        """Return some of the groups: any, or such as follow each other, as slots do."""
        if self.run.rng.random() < _PART_OF_ANY:
            chosen: list[int] = self.run.rng.choice(groups, count, replace=False).tolist()
            return chosen
        first = int(self.run.rng.integers(groups))
        return [(first + k) % groups for k in range(count)]

    def _families(self) -> list[Family]:
        model, form = self.program()
        if self._known_families is None or self._known_families[0] is not form:
            self._known_families = form, families(form, self.owner.model.nameable(model))
        return self._known_families[1]

    def solve_part(
        self, chosen: Mask | None, nodes: int = NODES, share: float = _PART_OF_NEIGHBOURHOOD
    ) -> bool:
        """Solve a neighbourhood of the best solution; return whether a better one was found.

        Parameters
        ----------
        chosen
            The columns that are free; all by default.
        nodes, share
            Limits of each of its programs: nodes, and a part of the run's time limit.
        """
        assert self.best is not None
        model, form = self.program()
        free = np.ones(form.shape[1], dtype=bool) if chosen is None else chosen
        point = self.point(model, form, self.best)
        if not free.any():
            return False
        part = restricted(form, point, free)
        values = point[free]
        solved = True
        for level in range(len(part.costs)):
            if self.run.stop_reason():
                break
            if not part.costs[level].any():
                continue
            run = self.run.nested(self._seconds(share))
            outcome = highs.solve(part, level, run, quiet=True, start=values, nodes=nodes)
            solved = solved and outcome.status is Status.OPTIMAL
            if outcome.values is None:
                break
            before, after = part.value(level, values), part.value(level, outcome.values)
            gain = part.sign(level) * (before - after)
            if gain > SOLVER_PRECISION * max(abs(before), abs(after)):
                values = outcome.values
            part = part.held(level, part.value(level, values))
        self.solved = solved and not self.run.stop_reason()
        self.whole_solved = self.solved and bool(free.all())
        return self.take(model, form, point, free, values)

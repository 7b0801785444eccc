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
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched import registry
from dlsched.errors import OptionError
from dlsched.results.objective import SOLVER_PRECISION, Objective
from dlsched.results.result import Claim, Status
from dlsched.run import Run, Stage
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution
from dlsched.solvers import highs
from dlsched.solvers.garbage import no_collection
from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import INF, StandardForm, compile_model
from dlsched.variants.changed_model import Change
from dlsched.variants.evaluation import describe
from dlsched.variants.neighbourhoods import Family, Mask, beside, families, restricted

if TYPE_CHECKING:
    from dlsched.variants.problem import VariantProblem

logger = logging.getLogger(__name__)

_NODES = 300
"""Of each integer program: unlike seconds the same on every machine."""
_SMALL = 400
"""With at most this many integer columns the first neighbourhood is the whole model."""
_FIRST = 80
"""About how many columns the first neighbourhoods leave free of those that they may hold."""
_FEW = 5
"""Nodes of the integer programs of a larger whole model, which comes first."""
_PART_OF_WHOLE = 0.15
"""Of the time limit, for each of these."""
_GROWTH = 1.6
"""By how much neighbourhoods grow where the last of a family was solved, or else shrink."""
_LATER = 3
"""How many times as large a neighbourhood counts that brought nothing, unsolved."""
_UNSOLVED = 3
"""How often neighbourhoods of a family may bring nothing, unsolved, before it is left out."""
_PART_OF_STARTS = 0.3
"""Of the time limit, for the problem's own heuristics."""
_PART_OF_NEIGHBOURHOOD = 0.04
"""Of the time limit, for one integer program, so that there are at least some tens of them."""
_PART_OF_ANY = 0.5
"""Of the neighbourhoods, with groups that need not follow each other in the index set."""
_LAYERS = 3
"""How often the neighbourhood of a repair grows before it is the whole model."""


class Search:
    """The best solution so far, and the model of which neighbourhoods are solved."""

    def __init__(self, instance: Instance, run: Run, owner: VariantProblem) -> None:
        self.instance, self.run, self.owner = instance, run, owner
        self.best: Solution | None = None
        self.objective: Objective | None = None
        self.solved = False
        self.whole_solved = False
        self.violated = ""
        self.change: Change | None = None
        self._refinement: Any = None
        self._known_families: tuple[StandardForm, list[Family]] | None = None

    def claim(self) -> Claim:
        """Search, and return the best solution."""
        starts = list(self.starts())
        if self.best is None:
            self.repair_all(starts)
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

    def offer(self, solution: Any) -> bool:
        """Check a solution; keep it if it is the best, and return whether it is."""
        if not isinstance(solution, Solution):
            return False
        report = self.owner.check(self.instance, solution)
        if not report.feasible or report.objective is None:
            if report.violations and not self.violated:
                self.violated = describe(report.violations)
            return False
        if self.objective is not None and not report.objective.better_than(self.objective):
            return False
        self.best, self.objective = solution, report.objective
        self.run.record(float(report.objective[0]), None)
        return True

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

    def program(self) -> tuple[Any, StandardForm]:
        """Return the changed model and its compiled form; of placement with the last estimate."""
        if self.owner.refined:
            return self._refined().build()  # type: ignore[no-any-return]
        if self.change is None:
            self.run.announce(Stage.BUILDING, f"the model of {self.instance.name}")
            with no_collection():
                self.change = self.owner.model.change(self.instance)
                self._form = compile_model(self.change.model)
        return self.change.model, self._form

    def _refined(self) -> Any:
        """Return the problem's own refinement of its estimate, with the variant's rows."""
        if self._refinement is None:
            adapt = self.owner.model.adapt(self.instance)

            def keep(model: Any) -> None:
                self.change = adapt(model)

            def accept(solution: Any) -> bool:
                return self.owner.check(self.instance, solution).feasible

            exact = self.owner.base.module("exact")
            run = self.run.nested()
            run.check = None  # `accept` knows the variant, whose levels may be others
            self._refinement = exact.refinable(self.instance, run, keep, accept)
        return self._refinement

    def point(self, model: Any, form: StandardForm, solution: Solution) -> Vector:
        """Return the point of a solution; added variables without a value are at a bound."""
        if self.owner.refined:
            assert self.change is not None
            self.owner.model.set_values(self.instance, self.change, solution)
        else:
            self.owner.model.assign(self.instance, model, solution)
        values = [v.value for v in form.variables]
        near = np.clip(np.zeros(len(values)), form.lower, form.upper)
        return np.array(
            [at if v is None else v for v, at in zip(values, near.tolist(), strict=True)],
            dtype=float,
        )

    def repair_all(self, starts: Sequence[Solution]) -> None:
        """Repair one start after the other, until there is a solution."""
        seen: list[Solution] = []
        for start in starts:
            if self.best is not None or self.run.stop_reason():
                return
            if start not in seen:
                self.repair(start)
            seen.append(start)

    def repair(self, start: Solution) -> None:
        """Minimize what the added rows are violated by, over growing neighbourhoods of a start."""
        model, form = self.program()
        point = self.point(model, form, start)
        assert self.change is not None
        self.run.announce(Stage.SEARCHING, "a repair of a start")
        added = {id(row) for row in self.change.constraints}
        own = {id(variable) for variable in self.change.variables}
        soft = np.array([id(c) in added for c in form.constraints], dtype=bool)
        value = form.A @ point
        tolerance = 1e-6
        broken = (value < form.row_lower - tolerance) | (value > form.row_upper + tolerance)
        free: Mask = (abs(form.A).T @ (broken & soft).astype(float)) > 0
        free |= ~form.integer | np.array([id(v) in own for v in form.variables], dtype=bool)
        for layer in range(_LAYERS + 1):
            if self.run.stop_reason():
                return
            free = free | beside(form, free) if layer < _LAYERS else np.ones_like(free)
            part = _elastic(form, soft, point, free)
            if part is None:
                continue
            outcome = highs.solve(part, 0, self.run, quiet=True, nodes=_NODES, target=0.0)
            if outcome.values is None:
                continue
            inside = outcome.values[: int(free.sum())]
            if self._take(model, form, point, free, inside):
                return

    def _seconds(self, part: float) -> float:
        """Return the limit of one integer program, as a part of the run's."""
        limit = self.run.time_limit
        return float("inf") if limit is None else part * limit

    def _take(
        self, model: Any, form: StandardForm, point: Vector, free: Mask, values: Vector
    ) -> bool:
        """Offer the solution of a point with other values of the free columns."""
        changed = point.copy()
        changed[free] = values
        form.load(changed)
        solution = self.owner.model.read(self.instance, model)
        better = self.offer(solution)
        if self.owner.refined:
            self._refined().refine(solution)
        return better

    def improve(self) -> None:
        """Solve neighbourhoods of the best solution until none of them helps."""
        _, form = self.program()
        small = form.integer.sum() <= _SMALL
        if small or not self.owner.refined:
            self.run.announce(Stage.SEARCHING, "the whole model, with few nodes")
            nodes, part = (_NODES, _PART_OF_NEIGHBOURHOOD) if small else (_FEW, _PART_OF_WHOLE)
            while self.solve_part(None, nodes, part) and small:
                pass
            if self.whole_solved:
                return
        self._solve_where_relaxation_is()
        self.run.announce(Stage.SEARCHING, "neighbourhoods by index sets and rows")
        progress = _Progress()
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
            better = self.solve_part(free, _NODES, _PART_OF_WHOLE) and not self.run.stop_reason()

    def _neighbourhood(self, family: Family, progress: _Progress) -> Mask:
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
        self, chosen: Mask | None, nodes: int = _NODES, share: float = _PART_OF_NEIGHBOURHOOD
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
        return self._take(model, form, point, free, values)


class _Progress:
    """How large neighbourhoods of each family are to be, and which families bring nothing more.

    Attributes
    ----------
    columns
        About how many a neighbourhood of a family leaves free, by the family's name.
    """

    def __init__(self) -> None:
        self.columns: dict[str, float] = {}
        self.growth: dict[str, float] = {}
        self.unsolved: dict[str, int] = {}
        self.ended: set[str] = set()

    def next_of(self, known: Sequence[Family]) -> Family | None:
        """Return the family whose next neighbourhood is the smallest; None if all have ended."""
        left = [family for family in known if family.name not in self.ended]
        return min(left, key=lambda family: self.columns[family.name], default=None)

    def size_of(self, family: Family) -> int:
        """Return how many groups are to be chosen."""
        mean = sum(map(len, family.groups)) / len(family.groups)
        first = max(2.0, _FIRST / max(1.0, mean))
        return min(len(family.groups), round(first * self.growth.get(family.name, 1.0)))

    def note(self, family: Family, free: int, better: bool, solved: bool) -> None:
        """Note what a neighbourhood has brought: the next one is larger if this one was solved."""
        name = family.name
        whole = self.size_of(family) == len(family.groups)
        factor = _GROWTH if solved else 1 / _GROWTH
        self.growth[name] = factor * self.growth.get(name, 1.0)
        self.unsolved[name] = 0 if solved or better else self.unsolved.get(name, 0) + 1
        self.columns[name] = free * (_GROWTH if solved or better else _LATER)
        if better:
            self.ended.clear()
        elif whole or self.unsolved[name] == _UNSOLVED:
            self.ended.add(name)


def _elastic(form: StandardForm, soft: Mask, point: Vector, free: Mask) -> StandardForm | None:
    """Return the program of the least violation of soft rows; None if no row can be satisfied."""
    from scipy import sparse

    part = restricted(form, point, free)
    kept = {id(c) for c in np.array(form.constraints, dtype=object)[soft]}
    rows = np.flatnonzero([id(c) in kept for c in part.constraints])
    count, size = len(rows), part.shape[0]
    slack = sparse.csc_array((np.ones(count), (rows, np.arange(count))), shape=(size, count))
    columns = part.shape[1]
    return replace(
        part,
        A=sparse.csc_array(sparse.hstack([part.A, slack, -slack], format="csc")),
        lower=np.append(part.lower, np.zeros(2 * count)),
        upper=np.append(part.upper, np.full(2 * count, INF)),
        integer=np.append(part.integer, np.zeros(2 * count, dtype=bool)),
        costs=(np.append(np.zeros(columns), np.ones(2 * count)),),
        offsets=(0.0,),
        senses=("min",),
        granularities=(type(part.granularities[0])(0),),
        level_names=("violation",),
        variables=[],
    )

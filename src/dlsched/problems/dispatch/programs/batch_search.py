"""A batch, exactly: count tasks on blocks of equal machines, place them, divide what fails."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from dlsched.problems.dispatch.definition.check import LEVELS, evaluate
from dlsched.problems.dispatch.definition.schema import Instance, Solution
from dlsched.problems.dispatch.programs.block_program import Counts
from dlsched.problems.dispatch.programs.loads import Weights
from dlsched.problems.dispatch.programs.place_counts import Placement, place, point_of, separated
from dlsched.problems.dispatch.programs.unjustified_victims import justified
from dlsched.problems.dispatch.structures.blocks import Block, coarsest, halves
from dlsched.problems.dispatch.structures.fleet import Barred
from dlsched.results.objective import TOLERANCE, Bound, Objective, relative_gap
from dlsched.results.result import Status, Termination
from dlsched.run import Run, Stage
from dlsched.schema import Number
from dlsched.solvers import highs
from dlsched.solvers.certificate import claimed_bound, dual_bound, round_to_granularity
from dlsched.solvers.incumbent import Incumbent
from dlsched.solvers.outcome import Outcome
from dlsched.solvers.precision import precision_reason
from dlsched.solvers.standard_form import StandardForm


@dataclass(frozen=True)
class Tunables:
    """Tunables of `classes`, chosen by hand."""

    rounds: int = 3
    """Most linear relaxations of a level before it is solved."""
    many: int = 1000
    """Columns from which on there is more than one."""
    bounds_part: float = 0.1
    """Of a limit, for the bounds of later levels."""


TUNABLES = Tunables()

Best: TypeAlias = Incumbent[Solution, Objective]


def incumbent(
    instance: Instance,
    run: Run,
    first: Callable[[], Iterable[Solution]],
    allowed: Callable[[Solution], bool] = lambda _: True,
) -> Best:
    """Return the best of the known solutions, or of the first ones, and of the caller's start.

    Parameters
    ----------
    allowed
        Whether a solution keeps the rule of a variant.
    """

    def worth(solution: Solution) -> Objective | None:
        return evaluate(instance, solution) if allowed(solution) else None

    best = Best(run, worth, Objective.better_than, lambda value: float(value[0]))
    best.begin(first, lambda solution: solution)
    return best


@dataclass
class BatchSearch:
    """The search, level by level, from a feasible solution.

    Attributes
    ----------
    best
        The best solution so far; there must be one.
    barred
        Which machines each job may use, under a rule.
    bounds
        Of each level that was looked at.
    stopped
        Which limit ended the search, if any.
    precision
        To which precision a level is solved, in words, if not exactly.
    """

    instance: Instance
    run: Run
    best: Best
    barred: Barred | None = None
    bounds: list[list[Bound]] = field(default_factory=list)
    stopped: Termination | None = None
    precision: str = ""

    def __post_init__(self) -> None:
        """Divide the machines into blocks, which may have machines of several racks."""
        self.batch = coarsest(self.instance, self.barred)
        self.cuts: dict[Weights, None] = {}
        self.program: Counts | None = None
        self.form: StandardForm | None = None

    @property
    def solution(self) -> Solution:
        """The best solution so far."""
        assert self.best.solution is not None
        return self.best.solution

    @property
    def value(self) -> Objective:
        """Its objective."""
        assert self.best.value is not None
        return self.best.value

    def solve(self, depth: int) -> None:
        """Solve the first levels in turn; the one of machines and racks with blocks by rack."""
        values: list[Number] = []
        for level in range(depth):
            if LEVELS[level].name == "spread":
                self.batch = self.batch.divided_by_rack()
                self.program = None
            self.bounds.append([])
            value = self.level(level, values)
            if value is None:
                return
            _, form = self.hold(values)
            values.append(value)
            bound = claimed_bound(form, level, float(self.value[level]))
            self.bounds[level].append(Bound(bound, "claimed", "classes"))
            gap = min(relative_gap(value, b.value) for b in self.bounds[level])
            self.precision = precision_reason(LEVELS[level].name, gap) or self.precision
            if gap > TOLERANCE:
                self.stopped = Termination.TOLERANCES
                return

    def level(self, level: int, held: Sequence[Number]) -> Number | None:
        """Return the optimum of a level, which the best solution then has; ``None`` at a limit."""
        while not self.run.stop_reason():
            program, form = self.hold(held)
            if not form.costs[level].any():
                self.bounds[level].append(Bound(0, "certified", "a constant level"))
                return 0
            self.best.shown = lambda objective: float(objective[level])
            size = f"{len(self.batch.blocks):,} blocks of machines, {form.size}"
            self.run.announce(Stage.SEARCHING, f"{LEVELS[level].name}, {size}")
            if not self.bounds[level]:
                if self.certify(level, held):
                    return self.value[level]
                program, form = self.hold(held)
            start = point_of(program, self.solution)
            outcome = highs.solve(form, level, self.run.nested(), start=start)
            if outcome.status is not Status.OPTIMAL or outcome.values is None:
                self.stop(form, level, outcome)
                return None
            values = np.rint(outcome.values)
            value = program.value(level, values)
            if self.value[level] != value:
                few = LEVELS[level].name == "spread"
                placement = place(program, values, few, self.run.nested())
                if placement.solution is not None:
                    self.offer(placement.solution)
                elif self.refine(placement):
                    continue
            if self.value[level] == value:
                return value
            self.stopped = Termination.TOLERANCES  # HiGHS exceeds the room of single machines
            return None
        self.stopped = self.run.stop_reason()
        return None

    def hold(self, held: Sequence[Number]) -> tuple[Counts, StandardForm]:
        """Return the program of the present blocks, and it with the earlier levels held."""
        if self.program is None:
            self.program = Counts(self.batch, self.cuts)
            self.form = None
        if self.form is None:
            self.form = self.program.form()
            self.held = 0
        for level in range(self.held, len(held)):
            if self.form.costs[level].any():
                self.form = self.form.held(level, held[level])
        self.held = len(held)
        return self.program, self.form

    def certify(self, level: int, held: Sequence[Number]) -> bool:
        """Bound a level by its linear relaxation; whether the best solution attains the bound."""
        bound = self.relax(level, held, self.value[level])
        self.bounds[level] += [bound] if bound else []
        return bound is not None and bound.value == self.value[level]

    def relax(
        self,
        level: int,
        held: Sequence[Number],
        goal: Number | None = None,
        changed: Callable[[StandardForm], StandardForm] = lambda form: form,
    ) -> Bound | None:
        """Return the bound of a level's linear relaxation; add inequalities that it violates.

        Parameters
        ----------
        goal
            A bound of this value is not made stronger.
        changed
            Gives the program another objective.
        """
        known: Bound | None = None
        for _ in range(TUNABLES.rounds):
            program, form = self.hold(held)
            outcome, bound = relaxed(changed(form), level, self.run)
            known = bound or known  # a limit may strike
            values = None if bound is None or bound.value == goal else outcome.values
            if values is None or len(program.top) < TUNABLES.many:
                break
            if not self.cut(separated(program, values, self.run)):
                break
        return known

    def cut(self, found: Iterable[Weights]) -> bool:
        """Add inequalities to the program; whether there is a new one."""
        new = [weights for weights in found if weights not in self.cuts]
        for weights in new:
            self.cuts[weights] = None
            if self.program is not None:
                self.program.cut(weights)
            self.form = None
        return bool(new)

    def stop(self, form: StandardForm, level: int, outcome: Outcome) -> None:
        """Keep the bound of a level that was not solved."""
        self.stopped = outcome.termination
        if outcome.status is Status.INFEASIBLE:
            self.stopped = Termination.TOLERANCES  # the best solution is feasible
        elif outcome.bound is not None:
            bound = claimed_bound(form, level, outcome.bound)
            self.bounds[level].append(Bound(bound, "claimed", "highs"))

    def refine(self, placement: Placement) -> bool:
        """Add inequalities that the counts violate; without a new one, divide the blocks.

        ``False`` if all of them have one machine only.
        """
        if self.cut(placement.cuts):
            return True
        self.program = None
        blocks: list[Block] = []
        for b, block in enumerate(self.batch.blocks):
            divided = b in placement.failed and len(block.machines) > 1
            blocks += halves(block) if divided else [block]
        before = len(self.batch.blocks)
        self.batch = self.batch._replace(blocks=blocks)
        return len(blocks) > before

    def offer(self, solution: Solution) -> None:
        """Offer a solution, without victims that nothing justifies."""
        self.best.offer(justified(self.instance, solution))


def relaxed(form: StandardForm, level: int, run: Run) -> tuple[Outcome, Bound | None]:
    """Return what becomes of a level's linear relaxation, and the bound that its duals certify."""
    outcome = highs.solve(form, level, run, relax=True)
    value = None if outcome.duals is None else dual_bound(form, level, outcome.duals)
    if value is None:
        return outcome, None
    value = round_to_granularity(value, form.granularities[level], form.senses[level])
    return outcome, Bound(value, "certified", "dual vector of the LP")

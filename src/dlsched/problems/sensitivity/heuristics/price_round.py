"""A heuristic of this library: patterns from the relaxation's prices, then dives and programs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.sensitivity.definition.check import evaluate
from dlsched.problems.sensitivity.definition.schema import Instance, Solution
from dlsched.problems.sensitivity.heuristics.round_patterns import solution_from
from dlsched.problems.sensitivity.heuristics.tuning import tune
from dlsched.problems.sensitivity.programs.initial_patterns import add_known, packing
from dlsched.problems.sensitivity.programs.pattern_matrix import integer
from dlsched.problems.sensitivity.programs.pattern_program import Program
from dlsched.problems.sensitivity.programs.pattern_relaxation import Master, relax
from dlsched.problems.sensitivity.programs.pooled import pooled_bounds, split_bound
from dlsched.problems.sensitivity.structures.server_patterns import TooManyStates
from dlsched.registry.own import method
from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.schema import simplify
from dlsched.solvers.incumbent import Incumbent
from dlsched.solvers.outcome import Vector


@dataclass(frozen=True)
class Tunables:
    """Numbers of `price_round`; gaps are relative, to the certified bound.

    The times of 78 instances of 128 servers decided between variants of the method
    (benchmarks/figures/sensitivity.md, "The paper's heuristic, ours, and the optimum"); single
    values were chosen by hand and not measured one by one.
    """

    near: float = 1e-3
    """Gap at which no further patterns are sought."""
    gap: float = 2e-4
    """Gap of the integer programs."""
    close: float = 5e-5
    """Gap at which the second dive need not be made."""
    penalty: float = 1e-4
    """Cost of a split job, as a fraction of the largest throughput of a job."""
    nodes: int = 100
    """Upper limit of the nodes of an integer program, instead of a time limit."""
    whole: float = 1e-6
    """Distance to a whole number up to which a value is taken as one."""


TUNABLES = Tunables()


@method("sensitivity", kind="heuristic", preload=("highspy", "scipy.sparse"))
def price_round(instance: Instance, run: Run) -> Claim:
    """Column generation over server patterns, then whole numbers by diving (ours).

    The relaxation of `patterns`, in which items may serve as smaller ones and a split job costs
    0.01 % of the largest throughput of a job; its bound is certified. Two dives round one column
    after the other, in two orders. Where that is not enough, integer programs follow: over the
    patterns known, and with those of `tune`. The card has the steps in full.

    If a limit strikes before there is a solution, it is that of `tune`. An instance whose servers
    have too many sums of CPUs or memory for pricing is left to `tune`, with the bound of `pooled`.
    """
    return rounded(instance, run)


def rounded(instance: Instance, run: Run, programs: bool = True) -> Claim:
    """Return the claim of `price_round`, or of its dives alone, without integer programs."""
    forced = [split_bound(instance)]
    if not instance.jobs:
        none = Bound(0, "certified", "there are no jobs")
        return Claim(solution=Solution(allocation={}), bounds=[[none], forced])
    try:
        solution, bounds = Rounding(instance, run).run_to_the_end(programs)
    except TooManyStates:
        tuned = tune(instance).solution
        solution = tuned if isinstance(tuned, Solution) else None
        bounds = pooled_bounds(instance, run)
    if solution is not None:
        return Claim(solution=solution, bounds=[bounds, forced])
    return Claim(
        status=Status.NO_SOLUTION,
        termination=Termination.FINISHED,
        reason="no patterns that were generated hold all jobs",
        bounds=[bounds, forced],
    )


class Rounding:
    """The program of `price_round`, and the best point of it as throughput and solution."""

    def __init__(self, instance: Instance, run: Run) -> None:
        self.instance = instance
        self.run = run
        units = instance.allow_split
        self.program = Program(
            instance, whole=True, units=units, penalty=TUNABLES.penalty, convert=True
        )
        self.best: Incumbent[Solution, int] = Incumbent(
            run, self._worth, shown=lambda value: float(value * self.program.granularity)
        )
        """Its value is the throughput as a multiple of the granularity."""

    def run_to_the_end(self, programs: bool) -> tuple[Solution | None, list[Bound]]:
        """Add patterns until the gap is small; return the best solution and the bounds."""
        program = self.program
        program.add(packing(program))
        add_known(program, [])  # servers full of one item
        relaxed = relax(program, self.run, gap=TUNABLES.gap / 2)
        if relaxed is not None and relaxed.fits:
            self._dive(relaxed.master)
            if programs and not self.within(TUNABLES.gap):
                self._combine()
        if self.best.solution is None and (relaxed is None or relaxed.fits):
            self._tune()
        if program.bound is None:
            return self.best.solution, []
        bound = simplify(program.bound * program.granularity)
        return self.best.solution, [Bound(bound, "certified", "prices and a table of one server")]

    def within(self, gap: float, best: Incumbent[Any, int] | None = None) -> bool:
        """Whether the relative gap of the best throughput to the bound is no larger than this."""
        value = (best or self.best).value
        bound = self.program.bound
        if bound is None or value is None:
            return False
        return bound - value <= Fraction(gap) * bound  # a multiple may exceed the doubles

    def _dive(self, master: Master) -> None:
        """Round the relaxation by dives, until the gap is small."""
        points: Incumbent[Vector, int] = Incumbent(self.run.nested(), self._throughput)
        dive = Dive(master)
        for point in dive.points():
            if point is not None and points.offer(point):
                dive.known = self._objective(points.value or 0)
            if self.within(TUNABLES.close, points):
                break
        if points.solution is not None:
            self.best.offer(solution_from(self.program, points.solution), points.value)

    def _objective(self, throughput: int) -> float:
        """Return a throughput in the unit of the program's costs."""
        return float(throughput / self.program.unit)

    def _combine(self) -> None:
        """Solve integer programs over the patterns known, at first without those of `tune`."""
        program = self.program
        program.conversions.clear()  # integer programs take longer with them
        if relax(program, self.run) is None:
            return
        self._integer()
        if not self.within(TUNABLES.near) and not self.run.stop_reason() and self._tune():
            self._integer()

    def _tune(self) -> bool:
        """Offer what `tune` finds, and add its patterns; return whether any are new."""
        solution = tune(self.instance).solution
        if not isinstance(solution, Solution):
            return False
        self.best.offer(solution)
        known = len(self.program.patterns)
        add_known(self.program, [solution])
        return len(self.program.patterns) > known

    def _worth(self, solution: Solution) -> int:
        """Return the throughput of a solution, in granularities."""
        throughput = Fraction(evaluate(self.instance, solution.allocation)[0])
        return int(throughput / self.program.granularity)

    def _throughput(self, point: Vector) -> int:
        """Return the throughput of a point, in granularities."""
        counts = point[: len(self.program.values)].tolist()
        pairs = zip(counts, self.program.values, strict=True)
        return sum(round(often) * value for often, value in pairs)

    def _integer(self) -> None:
        """Solve the integer program over the patterns known."""
        run = self.run.nested(gap=TUNABLES.gap)
        near = (1 - TUNABLES.gap) * self._objective(self.program.bound or 0)
        target = max(self._objective(self.best.value or 0), near)
        outcome = integer(self.program, run, nodes=TUNABLES.nodes, target=target)
        if outcome.values is None:
            return
        value = self._throughput(outcome.values)
        self.best.offer(solution_from(self.program, outcome.values), value)


class Dive:
    """Two dives from the optimum of a `Master`, whose bounds of columns they change.

    In the first one the patterns are made whole before the options, in the second one after them;
    the conversions come last. Of those that are not whole that of the largest fraction is rounded
    up. None is used less than its value rounded down. If the program then has no solution, the
    column is rounded down instead. A dive ends where the objective falls to what is `known`.
    """

    def __init__(self, master: Master) -> None:
        self.master = master
        program = master.program
        self.known = -np.inf
        n = len(program.options)
        c = len(program.conversions)
        options = slice(0, n)
        conversions = slice(n, n + c)
        patterns = slice(n + c, None)
        self.orders = [(patterns, options, conversions), (options, patterns, conversions)]
        self.columns = np.delete(np.arange(len(master.values) + 1), master.extra)
        """Their positions in the solver."""
        self.lower = np.zeros(len(self.columns))
        self.upper = np.full(len(self.columns), np.inf)

    def points(self) -> Iterator[Vector | None]:
        """Yield what each dive finds: a whole point, or ``None``."""
        master = self.master
        basis = master.solver.basis
        values = master.values
        objective = master.objective
        for order in self.orders:
            if master.run.stop_reason():
                return
            self.lower[:] = 0.0
            self.upper[:] = np.inf
            self._bound(np.arange(len(self.columns)))
            master.solver.restore(basis)
            master.values = values
            master.objective = objective
            yield self._dive(order)

    def _dive(self, order: Sequence[slice]) -> Vector | None:
        """Return a whole point, or ``None`` if there is none above what is known."""
        master = self.master
        while master.objective > self.known:
            values = master.values
            whole = np.floor(values + TUNABLES.whole)
            fractions = np.maximum(values - whole, 0.0)
            stage = next((s for s in order if fractions[s].max(initial=0.0) > TUNABLES.whole), None)
            if stage is None:
                return np.rint(values)
            column = stage.start + int(np.argmax(fractions[stage]))
            before = self.lower[column]
            raised = np.flatnonzero(whole[stage] > self.lower[stage]) + stage.start
            self.lower[raised] = whole[raised]
            self.lower[column] = whole[column] + 1
            self._bound(np.union1d(raised, [column]))
            if not master.optimal():
                self.lower[column] = before
                self.upper[column] = whole[column]
                self._bound(np.array([column]))
                if not master.optimal():
                    return None
        return None

    def _bound(self, columns: NDArray[np.intp]) -> None:
        """Pass the bounds of columns to the solver."""
        positions = self.columns[columns]
        self.master.solver.set_bounds(positions, self.lower[columns], self.upper[columns])

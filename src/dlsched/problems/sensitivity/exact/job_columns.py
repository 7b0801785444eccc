"""Column generation over the sets of jobs that a rule allows on one server.

With t the throughput of a choice, pi a job's price, mu the price of a GPU of a choice of a split
job and S servers, every solution's throughput is at most

    sum of pi + S max(0, largest value of a pattern)
    + sum over jobs of max(0, largest t - pi - GPUs mu),

where a pattern's value is the sum of t - pi over its whole jobs and of mu over its other GPUs.
Prices are integers, throughputs are rounded up to them, so the bound is exact. A pattern whose
value is below the largest by more than the bound exceeds a solution is in none that is better.
"""

from __future__ import annotations

from fractions import Fraction

from dlsched.problems.sensitivity.definition.allow import Allow
from dlsched.problems.sensitivity.definition.check import check, evaluate
from dlsched.problems.sensitivity.definition.schema import Instance, Solution
from dlsched.problems.sensitivity.programs.allowed_patterns import JobPatterns, Part, Pattern
from dlsched.problems.sensitivity.programs.job_master import UNITS, JobMaster, JobPrices
from dlsched.problems.sensitivity.programs.job_program import TOLERANCE, JobProgram
from dlsched.problems.sensitivity.programs.pooled import split_bound
from dlsched.results.objective import Bound, relative_gap
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run, Stage
from dlsched.schema import Number, granularity, simplify
from dlsched.solvers import highs
from dlsched.solvers.outcome import Outcome

_NODES = 200_000
"""Nodes of the search for the best pattern, and for all that can matter."""
_FEW_NODES = 2_000
"""Nodes of a search for one more pattern, of other jobs."""
_MOST_PATTERNS = 20_000
"""Most patterns of the integer program that proves an optimum."""
_SECONDS = 10.0
"""Time limit of an integer program that proves nothing."""
HOW = "prices and all allowed patterns of a server"


class JobColumns:
    """The state of the search.

    Parameters
    ----------
    bounds
        Bounds on the levels that are known.
    """

    def __init__(
        self, instance: Instance, run: Run, allow: Allow, bounds: list[list[Bound]]
    ) -> None:
        self.instance = instance
        self.run = run
        self.patterns = JobPatterns(instance, allow)
        self.bounds = bounds
        self.best: Solution | None = None
        self.value: tuple[Number, ...] = ()
        self.columns: dict[Pattern, None] = {}
        self.program = JobProgram(instance)
        rates = self.program.rates
        self.largest = self.program.largest
        self.granularity = granularity(rate for row in rates for rate in row)
        self.worth = [[-((-rate * UNITS) // self.largest) for rate in row] for row in rates]
        self.prices: JobPrices | None = None
        self.upper: int | None = None
        self.top = 0  # an upper bound on patterns' values at the prices

    def offer(self, solution: Solution) -> None:
        """Make a solution that the rule allows the incumbent if it is better."""
        if not check(self.instance, solution).feasible:
            return
        value = evaluate(self.instance, solution.allocation)
        if self.best is None or value.better_than(self.value):
            self.best = solution
            self.value = value
            self.run.record(float(value[0]), None)

    def solve(self) -> Claim:
        """Run to a proof or a limit."""
        self.run.announce(Stage.SEARCHING, "sets of jobs as columns, for the throughput")
        self.columns |= dict.fromkeys(
            (part,)
            for parts in self.patterns.parts
            for part in parts
            if self.patterns.allowed((part,))
        )
        infeasible = self.relax()
        if infeasible:
            return Claim(status=Status.INFEASIBLE, reason="no servers hold all jobs as allowed")
        if self.upper is None or self.run.stop_reason():
            return self.claim(Status.FEASIBLE, "a limit struck")
        self.integer(list(self.columns), self.run.nested(_SECONDS))
        forced = split_bound(self.instance)
        if self.closed() and self.value[1] == forced.value:
            self.bounds[1].append(forced)
            return self.claim(Status.OPTIMAL)
        return self.decide(forced)

    def closed(self) -> bool:
        """Whether the throughput is within the gap of its bound."""
        if self.best is None or self.run.stop_reason():
            return False
        gap = relative_gap(self.value[0], self.bound())
        return gap <= self.run.gap

    def bound(self) -> Number:
        """Return the least bound on the throughput."""
        return min(simplify(Fraction(bound.value)) for bound in self.bounds[0])

    def decide(self, forced: Bound) -> Claim:
        """Solve the integer programs of both levels over all patterns that can matter."""
        assert self.prices is not None and self.upper is not None
        gap = self.upper - self._least()
        values = self._values(self.prices)
        patterns = self.patterns.above(
            values, self.patterns.tables(values), self.top - gap, _MOST_PATTERNS, _NODES
        )
        if patterns is None:
            self.bounds[1].append(forced)
            return self.claim(
                Status.OPTIMAL if self.run.gap and self.closed() else Status.FEASIBLE,
                "the patterns that can matter are too many for an integer program",
            )
        outcome = self.integer(patterns, self.run)
        if outcome.status is Status.INFEASIBLE and self.best is None:
            return Claim(status=Status.INFEASIBLE, reason="no servers hold all jobs as allowed")
        if outcome.status is not Status.OPTIMAL or self.best is None:
            self.bounds[1].append(forced)
            return self.claim(Status.FEASIBLE, outcome.termination.sentence)
        how = "highs on all patterns near the bound"
        self.bounds[0].append(Bound(self.value[0], "claimed", how))
        if self.value[1] > forced.value:
            outcome = self.integer(patterns, self.run, self.value[0])
            if outcome.status is not Status.OPTIMAL:
                self.bounds[1].append(forced)
                return self.claim(Status.FEASIBLE, outcome.termination.sentence)
            forced = Bound(self.value[1], "claimed", how)
        self.bounds[1].append(forced)
        return self.claim(Status.OPTIMAL)

    def _least(self) -> int:
        """Return a throughput, in units of prices and rounded down, that solutions have."""
        if self.best is not None:
            exact = Fraction(self.value[0])
        elif self.instance.may_wait:
            exact = Fraction(0)
        else:
            exact = sum((min(row) for row in self.program.rates), Fraction(0))
        return int(exact * UNITS // self.largest) - 1

    def claim(self, status: Status, reason: str = "") -> Claim:
        """Return the incumbent and the bounds."""
        stopped = None if status is Status.OPTIMAL else self.run.stop_reason()
        if status is Status.OPTIMAL:
            reason = ""
        elif self.best is None:
            status = Status.NO_SOLUTION
        undecided = stopped or Termination.UNDECIDED
        return Claim(
            solution=self.best,
            status=status,
            termination=None if status is Status.OPTIMAL else undecided,
            reason="" if stopped else reason,
            objective=self.value or None,
            bounds=self.bounds,
        )

    def relax(self) -> bool:
        """Solve the relaxation; return whether it proves that there is no solution."""
        missing, master = True, JobMaster(self.program, self.run, self.columns, 1.0)
        while not self.run.stop_reason():
            solved = master.solve()
            if solved is None:
                return False
            missing, prices = solved
            if not self.price(prices, 1):
                break
            if not missing and self._close_to(master.program.objective):
                break
            master.extend()
        if missing and not self.run.stop_reason() and not self.instance.may_wait:
            return self.impossible()
        return False

    def _close_to(self, objective: float) -> bool:
        return self.upper is not None and self.upper <= objective * UNITS * (1 + TOLERANCE)

    def impossible(self) -> bool:
        """Return whether prices prove that no solution exists, all throughputs taken as 0."""
        master = JobMaster(self.program, self.run, self.columns, 0.0)
        while not self.run.stop_reason():
            solved = master.solve()
            if solved is None or not solved[0]:
                return False
            prices = solved[1]
            if self.lagrangian(prices, 0, self._top(prices, 0)) < 0:
                return True
            if not self.price(prices, 0):
                return False
            master.extend()
        return False

    def price(self, prices: JobPrices, rate: int) -> bool:
        """Add patterns of positive value at prices, and keep the bound; whether any is new."""
        values = self._values(prices, rate)
        tables = self.patterns.tables(values)
        best = self.patterns.best(values, tables, _NODES)
        if rate:
            upper = self.lagrangian(prices, rate, best.bound)
            if self.upper is None or upper < self.upper:
                self.upper, self.prices, self.top = upper, prices, best.bound
                step = self.granularity or Fraction(1, UNITS)
                exact = Fraction(upper, UNITS) * self.largest // step * step
                self.bounds[0].append(Bound(simplify(exact), "certified", HOW))
        before = len(self.columns)
        used: set[int] = set()
        pattern = best.pattern
        for _ in range(min(self.instance.servers.count, 24)):
            if not pattern or self.run.stop_reason():
                break
            self.columns[tuple(sorted(pattern))] = None
            used |= {part.job for part in pattern}
            pattern = self.patterns.best(values, tables, _FEW_NODES, frozenset(used)).pattern
        return len(self.columns) > before

    def _top(self, prices: JobPrices, rate: int) -> int:
        values = self._values(prices, rate)
        return self.patterns.best(values, self.patterns.tables(values), _NODES).bound

    def _values(self, prices: JobPrices, rate: int = 1) -> list[list[int]]:
        """Return the values of all parts at prices."""

        def value(part: Part) -> int:
            if part.whole:
                return rate * self.worth[part.job][part.choice] - prices.jobs[part.job]
            return part.gpus * prices.gpus[part.job][part.choice]

        return [[value(part) for part in parts] for parts in self.patterns.parts]

    def lagrangian(self, prices: JobPrices, rate: int, top: int) -> int:
        """Return the bound of the module's header, in units of prices."""
        total = sum(prices.jobs) + self.instance.servers.count * max(0, top)
        gains: dict[int, int] = {}
        for j, c in self.program.split:
            paid = prices.jobs[j] + self.program.gpus[j] * prices.gpus[j][c]
            gains[j] = max(gains.get(j, 0), rate * self.worth[j][c] - paid)
        return total + sum(gains.values())

    def integer(self, patterns: list[Pattern], run: Run, floor: Number | None = None) -> Outcome:
        """Solve the integer program over patterns; with a floor on the throughput, of the split.

        What it finds is offered as the incumbent.
        """
        outcome = highs.solve(self.program.form(patterns, floor), 0, run, quiet=True)
        if outcome.values is not None:
            self.offer(self.program.solution(patterns, outcome.values))
        return outcome

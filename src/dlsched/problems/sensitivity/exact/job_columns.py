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
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dlsched.problems.sensitivity.definition.allow import Allow
from dlsched.problems.sensitivity.definition.check import check, evaluate
from dlsched.problems.sensitivity.definition.schema import Allocation, Instance, Solution
from dlsched.problems.sensitivity.programs.allowed_patterns import JobPatterns, Part, Pattern
from dlsched.problems.sensitivity.programs.pooled import split_bound
from dlsched.results.objective import Bound, relative_gap
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run, Stage
from dlsched.schema import Number, granularity, simplify
from dlsched.solvers import highs
from dlsched.solvers.incremental import IncrementalProgram
from dlsched.solvers.outcome import Outcome, Vector
from dlsched.solvers.standard_form import INF, StandardForm

if TYPE_CHECKING:
    from scipy import sparse

_UNITS = 2**40
"""Integer prices are in units of the largest throughput over this."""
_MISSING = 100.0
"""What the relaxation pays for a job without a server; the largest throughput is 1."""
_NODES = 200_000
"""Nodes of the search for the best pattern, and for all that can matter."""
_FEW_NODES = 2_000
"""Nodes of a search for one more pattern, of other jobs."""
_MOST_PATTERNS = 20_000
"""Most patterns of the integer program that proves an optimum."""
_SECONDS = 10.0
"""Time limit of an integer program that proves nothing."""
_TOLERANCE = 1e-9
HOW = "prices and all allowed patterns of a server"


class _Prices(NamedTuple):
    """Integer prices: of jobs, and by job and choice of GPUs of split jobs."""

    jobs: list[int]
    gpus: list[list[int]]


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
        rates = [[Fraction(c.throughput) for c in row] for row in self.patterns.choices]
        self.rates = rates
        self.largest = max(rate for row in rates for rate in row)
        self.granularity = granularity(rate for row in rates for rate in row)
        self.worth = [[-((-rate * _UNITS) // self.largest) for rate in row] for row in rates]
        gpus = [instance.profile(job).gpus for job in instance.jobs]
        self.gpus = gpus
        several = [j for j, count in enumerate(gpus) if count > 1 and instance.allow_split]
        self.split = [(j, c) for j in several for c in range(len(rates[j]))]
        self.row_of = {key: len(gpus) + i for i, key in enumerate(self.split)}
        self.server_row = len(gpus) + len(self.split)
        self.prices: _Prices | None = None
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
            exact = sum((min(row) for row in self.rates), Fraction(0))
        return int(exact * _UNITS // self.largest) - 1

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
        missing, master = True, _Master(self, 1.0)
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
        return self.upper is not None and self.upper <= objective * _UNITS * (1 + _TOLERANCE)

    def impossible(self) -> bool:
        """Return whether prices prove that no solution exists, all throughputs taken as 0."""
        master = _Master(self, 0.0)
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

    def price(self, prices: _Prices, rate: int) -> bool:
        """Add patterns of positive value at prices, and keep the bound; whether any is new."""
        values = self._values(prices, rate)
        tables = self.patterns.tables(values)
        best = self.patterns.best(values, tables, _NODES)
        if rate:
            upper = self.lagrangian(prices, rate, best.bound)
            if self.upper is None or upper < self.upper:
                self.upper, self.prices, self.top = upper, prices, best.bound
                step = self.granularity or Fraction(1, _UNITS)
                exact = Fraction(upper, _UNITS) * self.largest // step * step
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

    def _top(self, prices: _Prices, rate: int) -> int:
        values = self._values(prices, rate)
        return self.patterns.best(values, self.patterns.tables(values), _NODES).bound

    def _values(self, prices: _Prices, rate: int = 1) -> list[list[int]]:
        """Return the values of all parts at prices."""

        def value(part: Part) -> int:
            if part.whole:
                return rate * self.worth[part.job][part.choice] - prices.jobs[part.job]
            return part.gpus * prices.gpus[part.job][part.choice]

        return [[value(part) for part in parts] for parts in self.patterns.parts]

    def lagrangian(self, prices: _Prices, rate: int, top: int) -> int:
        """Return the bound of the module's header, in units of prices."""
        total = sum(prices.jobs) + self.instance.servers.count * max(0, top)
        gains: dict[int, int] = {}
        for j, c in self.split:
            paid = prices.jobs[j] + self.gpus[j] * prices.gpus[j][c]
            gains[j] = max(gains.get(j, 0), rate * self.worth[j][c] - paid)
        return total + sum(gains.values())

    def matrix(self, patterns: list[Pattern]) -> sparse.csc_array:
        """Return the columns of patterns: rows of jobs, of split jobs' GPUs, and of servers."""
        from scipy import sparse

        rows: list[int] = []
        columns: list[int] = []
        entries: list[float] = []
        for i, pattern in enumerate(patterns):
            for part in pattern:
                rows.append(part.job if part.whole else self.row_of[part.job, part.choice])
                entries.append(1.0 if part.whole else -float(part.gpus))
                columns.append(i)
            rows.append(self.server_row)
            entries.append(1.0)
            columns.append(i)
        shape = (self.server_row + 1, len(patterns))
        return sparse.csc_array(sparse.coo_array((entries, (rows, columns)), shape=shape))

    def split_matrix(self) -> sparse.csc_array:
        """Return the columns of split jobs: each needs the GPUs of its choice."""
        from scipy import sparse

        count = len(self.split)
        rows = [j for j, _ in self.split] + [self.row_of[key] for key in self.split]
        entries = [1.0] * count + [float(self.gpus[j]) for j, _ in self.split]
        shape = (self.server_row + 1, count)
        places = (np.array(rows, dtype=int), np.tile(np.arange(count), 2))
        return sparse.csc_array(sparse.coo_array((entries, places), shape=shape))

    def limits(self) -> tuple[Vector, Vector]:
        """Return the lower and upper limits of the rows."""
        jobs = len(self.gpus)
        lower = np.full(self.server_row + 1, -INF)
        lower[:jobs] = 0.0 if self.instance.may_wait else 1.0
        upper = np.zeros(self.server_row + 1)
        upper[:jobs] = 1.0
        upper[-1] = float(self.instance.servers.count)
        return lower, upper

    def costs(self, patterns: list[Pattern]) -> Vector:
        """Return the throughputs of patterns' whole jobs, then of split jobs, the largest 1."""
        whole = [
            sum((self.rates[p.job][p.choice] for p in pattern if p.whole), Fraction(0))
            for pattern in patterns
        ]
        split = [self.rates[j][c] for j, c in self.split]
        return np.array([float(rate / self.largest) for rate in (*whole, *split)])

    def integer(self, patterns: list[Pattern], run: Run, floor: Number | None = None) -> Outcome:
        """Solve the integer program over patterns; with a floor on the throughput, of the split.

        What it finds is offered as the incumbent.
        """
        from scipy import sparse

        A = sparse.hstack([self.matrix(patterns), self.split_matrix()], format="csc")
        lower, upper = self.limits()
        costs = self.costs(patterns)
        if floor is not None:
            A = sparse.vstack([A, sparse.csc_array(costs[None, :])], format="csc")
            least = float(Fraction(floor) / self.largest) * (1 - _TOLERANCE)
            lower, upper = np.append(lower, least), np.append(upper, INF)
            costs = np.append(np.zeros(len(patterns)), np.ones(len(self.split)))
        most = np.append(
            np.full(len(patterns), float(self.instance.servers.count)), np.ones(len(self.split))
        )
        sense = "max" if floor is None else "min"
        form = StandardForm.of(A, lower, upper, most, costs, sense=sense)
        outcome = highs.solve(form, 0, run, quiet=True)
        if outcome.values is not None:
            self.offer(self.solution(patterns, outcome.values))
        return outcome

    def solution(self, patterns: list[Pattern], values: Vector) -> Solution:
        """Return the solution of a point: one server for each use of a pattern."""
        counts = np.rint(values).astype(int).tolist()
        split = {j: c for (j, c), n in zip(self.split, counts[len(patterns) :], strict=True) if n}
        left = {j: self.gpus[j] for j in split}
        chosen = dict(split)
        held: dict[int, dict[str, int]] = {}
        server = 0
        for pattern, count in zip(patterns, counts, strict=False):
            for _ in range(count):
                for part in pattern:
                    gpus = part.gpus
                    if part.whole:
                        chosen[part.job] = part.choice
                    elif split.get(part.job) == part.choice:
                        gpus = min(gpus, left[part.job])
                        left[part.job] -= gpus
                    else:
                        gpus = 0
                    if gpus:
                        held.setdefault(part.job, {})[str(server)] = gpus
                server += 1
        allocation = {}
        for j, gpus_by_server in sorted(held.items()):
            choice = self.patterns.choices[j][chosen[j]]
            allocation[self.instance.jobs[j].id] = Allocation(
                cpus=choice.cpus, memory=choice.memory, gpus=gpus_by_server
            )
        return Solution(allocation=allocation)


class _Master:
    """The relaxation over the patterns known; without throughputs (`rate` 0) jobs are counted."""

    def __init__(self, search: JobColumns, rate: float) -> None:
        self.search = search
        self.rate = rate
        self.program = IncrementalProgram(search.run, maximize=True)
        self.program.add_rows(*search.limits())
        jobs = len(search.gpus)
        self.missing = 0 if search.instance.may_wait else jobs
        for j in range(self.missing):
            self.program.add_column(-_MISSING if rate else -1.0, 0.0, 1.0, [j], [1.0])
        self.program.add_columns(rate * search.costs([]), search.split_matrix())
        self.known = 0
        self.extend()

    def extend(self) -> None:
        """Add the patterns that are new."""
        new = list(self.search.columns)[self.known :]
        self.known += len(new)
        costs = self.search.costs(new)[: len(new)]
        self.program.add_columns(self.rate * costs, self.search.matrix(new))

    def solve(self) -> tuple[bool, _Prices] | None:
        """Return whether a job is missing, and integer prices; ``None`` if stopped."""
        if self.program.solve() is not Termination.PROVED:
            return None
        search = self.search
        duals = np.rint(np.asarray(self.program.duals) * _UNITS)
        jobs = [int(dual) for dual in duals[: len(search.gpus)].tolist()]
        if search.instance.may_wait:
            jobs = [max(0, price) for price in jobs]
        gpus = [[0] * len(row) for row in search.rates]
        for (j, c), row in search.row_of.items():
            gpus[j][c] = max(0, int(duals[row]))
        missing = float(np.sum(self.program.values[: self.missing])) > _TOLERANCE
        return missing, _Prices(jobs, gpus)

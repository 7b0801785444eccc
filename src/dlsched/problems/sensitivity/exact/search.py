"""What both levels over whole-server patterns share: incumbent, bounds, integer programs."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dlsched.problems.sensitivity.definition.check import value_of
from dlsched.problems.sensitivity.definition.schema import Instance, Solution
from dlsched.problems.sensitivity.exact.milp import incumbent
from dlsched.problems.sensitivity.heuristics.price_round import rounded
from dlsched.problems.sensitivity.heuristics.round_patterns import (
    solution_from,
    solution_of_numbered,
)
from dlsched.problems.sensitivity.model import FEW_SERVERS
from dlsched.problems.sensitivity.programs.pattern_matrix import integer, numbered
from dlsched.problems.sensitivity.programs.pattern_program import Cutoff, Program
from dlsched.results.objective import Bound, ByLevel, relative_gap
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run, Stage
from dlsched.schema import Number, simplify
from dlsched.solvers.outcome import Outcome
from dlsched.solvers.precision import precision_reason


@dataclass(frozen=True)
class Tunables:
    """Numbers of `patterns`, chosen by hand and not measured one by one.

    benchmarks/figures/sensitivity.md, "Proven optima", and exact_against_heuristics.md show what
    they give together.
    """

    seconds: float = 10.0
    """Time limit of an integer program that cannot prove optimality."""
    soon: int = 2_000
    """Upper limit of the patterns that are enumerated at once."""
    few: int = 20_000
    """Upper limit of the patterns that are enumerated after cheaper attempts."""
    patterns_per_second: int = 2_000
    """Of the integer program over them: with less time left it is not begun."""
    most_columns: int = 5_000
    """Upper limit of the pairs of server and kind of item of the program with every server."""


TUNABLES = Tunables()


class Search:
    """The incumbent, the bounds of both levels, and why the search would end now.

    The patterns of all `feasible` solutions that were offered are columns. Where throughputs are
    `rounded`, the solver's precision decides which is the largest.
    """

    def __init__(self, instance: Instance, run: Run) -> None:
        self.instance = instance
        self.run = run
        self.best = incumbent(run, self.worth)
        self.feasible: list[Solution] = []
        self.first: list[Bound] = []
        self.second: list[Bound] = []
        self.rounded = False
        self.termination = Termination.UNDECIDED
        self.reason = "a gap is left"

    @property
    def value(self) -> ByLevel[Number]:
        """The incumbent's throughput and split jobs."""
        assert self.best.value is not None
        return self.best.value

    def worth(self, solution: Solution) -> ByLevel[Number] | None:
        """Return the value of a solution, and keep it if it is feasible."""
        value = value_of(self.instance, solution)
        if value is not None:  # a faulty heuristic must not end the exact method
            self.feasible.append(solution)
        return value

    def begin(self) -> None:
        """Offer what is known, and keep the bounds that came with it."""
        self.limit(*itertools.chain(*self.run.known_bounds[:1]))
        self.best.begin(self._price_round, lambda solution: solution)

    def _price_round(self) -> Iterator[Solution]:
        """Yield the solution of `price_round`, and keep its bounds.

        Where the program with every server follows, which is faster, it is without its programs.
        """
        self.run.announce(Stage.SEARCHING, "a first allocation, by price_round")
        many = self.instance.servers.count > FEW_SERVERS
        claim = rounded(self.instance, self.run.nested(), programs=many)
        if isinstance(claim.solution, Solution):
            yield claim.solution
        self.limit(*claim.bounds[0])

    def limit(self, *bounds: Bound) -> None:
        """Add bounds on the throughput."""
        self.first += bounds
        if bounds:
            self.best.bound = float(bounds[-1].value)

    def bound(self) -> Number | None:
        """Return the least bound on the throughput."""
        return min((simplify(Fraction(entry.value)) for entry in self.first), default=None)

    def within(self, bound: Number | None) -> bool:
        """Whether the incumbent's throughput is within the run's gap of a bound."""
        if bound is None or self.best.value is None:
            return False
        return relative_gap(self.value[0], bound) <= self.run.gap

    def proved(self) -> Claim:
        """Return the incumbent as the optimum, and to which precision it is, if not exactly."""
        reason = ""
        if self.rounded:
            bound = self.bound()
            assert bound is not None
            reason = precision_reason("throughput", relative_gap(self.value[0], bound))
        return replace(self.stopped(), status=Status.OPTIMAL, termination=None, reason=reason)

    def stopped(self) -> Claim:
        """Return incumbent and bounds after a limit, or where the search cannot continue."""
        limit = self.run.stop_reason()
        return Claim(
            solution=self.best.solution,
            status=Status.NO_SOLUTION if self.best.solution is None else Status.FEASIBLE,
            termination=limit or self.termination,
            reason="" if limit else self.reason,
            objective=self.best.value,
            bounds=[self.first, self.second],
            start=self.best.start,
        )

    def solve_integer(
        self,
        program: Program,
        seconds: float = math.inf,
        floor: int | None = None,
        cutoffs: Sequence[Cutoff] = (),
    ) -> Outcome:
        """Solve the integer program over the patterns known, and offer its solution."""
        outcome = integer(program, self.run.nested(seconds), floor, cutoffs)
        if outcome.values is not None:
            self.best.offer(solution_from(program, outcome.values))
        return outcome

    def enumerate(self, program: Program, cutoffs: Sequence[Cutoff]) -> bool:
        """Add all patterns for the cutoffs; return whether their integer program can be solved."""
        if not program.complete(TUNABLES.few, cutoffs, self.run):
            self.reason = "too many patterns near the bound to enumerate"
            return False
        # HiGHS checks its time limit only between the steps of its root node.
        enough = self.run.remaining() > len(program.patterns) / TUNABLES.patterns_per_second
        if not enough:
            self.termination = Termination.TIME_LIMIT
            self.reason = "time limit: an integer program would not end in time"
        return enough

    def may_number(self, program: Program) -> bool:
        """Whether the program with every server may be solved."""
        columns = self.instance.servers.count * len(program.items)
        return columns <= TUNABLES.most_columns and self.run.stop_reason() is None

    def few_items(self, program: Program, cutoffs: Sequence[Cutoff]) -> bool:
        """Whether there are fewer items, on all servers, than patterns that matter."""
        servers = self.instance.servers.count
        if servers > FEW_SERVERS or not self.may_number(program):
            return False
        return not program.complete(servers * len(program.items), cutoffs, self.run)

    def solve_numbered(
        self, program: Program, seconds: float = math.inf, floor: int | None = None
    ) -> tuple[bool, ByLevel[Number] | None]:
        """Solve the program with every server; return whether it is decided, and the value.

        There is none also if the solution overloads a server: capacities may be rounded.
        """
        outcome = numbered(program, self.run.nested(seconds), floor)
        if outcome.values is None:
            return outcome.status is Status.INFEASIBLE, None
        solution = solution_of_numbered(program, outcome.values)
        value = self.worth(solution)
        if value is None:
            self.reason = "CPUs or memory have too many digits for the solver"
            return False, None
        self.best.offer(solution, value)
        return outcome.status is Status.OPTIMAL, value

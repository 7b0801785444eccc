"""Both levels over whole-server patterns: the throughput; with it held, the split jobs."""

import math
from dataclasses import dataclass
from fractions import Fraction

from dlsched.problems.sensitivity.exact.search import TUNABLES, Search
from dlsched.problems.sensitivity.programs.initial_patterns import add_known
from dlsched.problems.sensitivity.programs.pattern_program import (
    Cutoff,
    Lagrangian,
    Prices,
    Program,
)
from dlsched.problems.sensitivity.programs.pattern_relaxation import relax
from dlsched.problems.sensitivity.programs.pooled import pooled_bounds
from dlsched.results.objective import SOLVER_PRECISION, Bound, relative_gap
from dlsched.results.result import Status, Termination
from dlsched.run import Stage
from dlsched.schema import Number, simplify


def maximise(search: Search, program: Program) -> Status:
    """Maximise the throughput; return optimal, infeasible, or feasible if neither is proved."""
    search.run.announce(Stage.SEARCHING, "patterns as columns, for the throughput")
    add_known(program, search.feasible)
    relaxed = relax(program, search.run)
    if program.bound is None:
        short = relaxed is not None and not relaxed.fits
        return Status.INFEASIBLE if short else Status.FEASIBLE
    bound = simplify(program.bound * program.granularity)
    search.limit(Bound(bound, "certified", "prices and a table of one server"))
    if relaxed is not None and not search.within(bound):
        bound = _lower_by_pooled(search, program, bound)
        if not search.within(bound):
            return _decide(search, program, relaxed.prices, bound)
    return Status.OPTIMAL if search.within(bound) else Status.FEASIBLE


def _lower_by_pooled(search: Search, program: Program, bound: Number) -> Number:
    """Return the better of a bound and those of pooled servers, of which one is claimed.

    The relaxation over patterns knows what one server holds, the integer program of pooled
    servers that jobs are whole: where CPUs are scarce the latter is often attained.
    """
    search.limit(*pooled_bounds(search.instance, search.run.nested(TUNABLES.seconds)))
    least = min(search.first, key=lambda entry: entry.value)
    multiples = program.lower(math.floor(Fraction(least.value) / program.granularity))
    rounded = simplify(multiples * program.granularity)
    if rounded < least.value:  # as jobs without options do not count here
        search.limit(Bound(rounded, least.kind, least.method))
    return simplify(min(Fraction(bound), Fraction(rounded)))


def _decide(search: Search, program: Program, prices: Prices, bound: Number) -> Status:
    """Close the gap between the incumbent and its bound.

    The program with every server is solved in a second, or its equal servers take hours: it is
    first given a few seconds, and all the time only if the patterns are too many.
    """
    lagrangian = Lagrangian(program, prices)
    known = _incumbent(search, program)
    better = [] if known is None else [lagrangian.cutoff(known)]
    by_server = search.few_items(program, better)
    if by_server:
        by_server, _ = search.solve_numbered(program, TUNABLES.seconds)
    closed = by_server or _close_gap(search, program, lagrangian)
    if not closed and search.may_number(program):
        by_server, _ = search.solve_numbered(program)
        closed = by_server
    if closed and search.best.value is None:
        return Status.INFEASIBLE
    if closed and not search.within(bound):
        throughput = search.value[0]
        bound = simplify(min(Fraction(bound), throughput + _doubt(search, program)))
        how = "highs with every server" if by_server else "highs on all patterns near the bound"
        search.limit(Bound(bound, "claimed", how))
        search.rounded = 0 < relative_gap(throughput, bound) <= SOLVER_PRECISION
        search.termination = Termination.TOLERANCES
        search.reason = "the throughputs are too far apart for the solver's tolerances"
    return Status.OPTIMAL if search.rounded or search.within(bound) else Status.FEASIBLE


def _doubt(search: Search, program: Program) -> Fraction:
    """Return by how much the optimum may be above what a solver calls the largest throughput.

    That is its precision, unless throughputs differ by more, and what rounded costs leave.
    """
    precision = Fraction(SOLVER_PRECISION) * Fraction(search.value[0])
    rounding = len(search.instance.jobs) * program.unit * program.granularity
    if program.unit != 1:
        return max(precision, rounding)
    return precision if precision >= program.granularity else Fraction(0)


def _incumbent(search: Search, program: Program) -> int | None:
    """Return the incumbent's throughput as a multiple of the granularity."""
    if search.best.value is None:
        return None
    return int(search.value[0] / program.granularity)


def _close_gap(search: Search, program: Program, lagrangian: Lagrangian) -> bool:
    """Return whether the incumbent is proved optimal, or the instance infeasible.

    By integer programs over all patterns of small reduced cost, then of larger: a solution within
    a slack of the bound uses no pattern or option whose reduced cost is larger, so that once the
    incumbent is within the slack, it is optimal.
    """
    assert program.bound is not None
    # The patterns from pricing are few, and often contain an optimum.
    search.solve_integer(program, TUNABLES.seconds)
    slack = tried = 0
    while not search.run.stop_reason():
        gap = 2 * program.bound
        known = _incumbent(search, program)
        if known is not None:
            gap = program.bound - known
            if gap == 0 or search.within(program.bound * program.granularity):
                return True
            better = lagrangian.cutoff(known)
            if program.complete(TUNABLES.soon, [better], search.run):
                slack = gap  # few enough to decide at once
        slack = min(slack, gap)
        cutoff = lagrangian.cutoff(program.bound - slack)
        if not search.enumerate(program, [cutoff]):
            return False
        if slack == gap or len(program.patterns) > tried:
            tried = len(program.patterns)
            seconds = math.inf if slack == gap else TUNABLES.seconds
            outcome = search.solve_integer(program, seconds, cutoffs=[cutoff])
            if slack == gap and outcome.status in (Status.OPTIMAL, Status.INFEASIBLE):
                return True
        slack = max(4, 2 * slack)
    return False


def minimise_split(search: Search, goal: Number) -> bool:
    """Minimise the split jobs with the throughput held at `goal`; return whether it is proved."""
    search.termination = Termination.UNDECIDED
    search.reason = "a gap is left at level 2"
    search.run.announce(Stage.SEARCHING, "patterns as columns, for the split jobs")
    program = Program(search.instance, whole=True, units=True)
    floor = int(goal / program.granularity)
    add_known(program, search.feasible)
    first = relax(program, search.run)
    if first is None or program.bound is None:
        return False
    relaxed = relax(program, search.run, floor)
    if relaxed is None:
        return False
    held = Lagrangian(program, first.prices).cutoff(floor)
    return _Split(search, program, floor, Lagrangian(program, relaxed.prices, floor), held).prove()


@dataclass(frozen=True)
class _Split:
    """The search for fewer split jobs; `held` is what solutions of the throughput can use."""

    search: Search
    program: Program
    floor: int
    lagrangian: Lagrangian
    held: Cutoff

    @property
    def known(self) -> int:
        """The incumbent's number of split jobs."""
        return int(self.search.value[1])

    def cutoffs(self, most: int) -> list[Cutoff]:
        """Return what solutions with at most this number of split jobs can use."""
        return [self.lagrangian.split_cutoff(most), self.held]

    def prove(self) -> bool:
        """Return whether no solution has fewer split jobs than the incumbent."""
        search = self.search
        least = self.lagrangian.splits()
        search.second.append(Bound(least, "certified", "prices and a table of one server"))
        # As at level 1, the patterns from pricing are few, and often contain an optimum.
        search.solve_integer(self.program, TUNABLES.seconds, self.floor)
        if self.known > least and search.few_items(self.program, self.cutoffs(self.known - 1)):
            if self.by_servers(TUNABLES.seconds):
                return True
            search.reason = "a gap is left at level 2"
        while self.known > least:
            most = self.considered(least)
            if most is None:
                return search.may_number(self.program) and self.by_servers()
            least = min(most + 1, self.known)
            how = "highs on all patterns near the bound"
            search.second.append(Bound(least, "claimed", how))
        return True

    def considered(self, least: int) -> int | None:
        """Return up to how many split jobs all solutions are considered; ``None`` after a limit.

        Among all patterns that solutions can use that have fewer than the incumbent; if these are
        too many, that have no more than the bound.
        """
        search = self.search
        most = self.known - 1
        if not self.program.complete(TUNABLES.few, self.cutoffs(most), search.run):
            most = least
        cutoffs = self.cutoffs(most)
        if not search.enumerate(self.program, cutoffs):
            return None
        outcome = search.solve_integer(self.program, floor=self.floor, cutoffs=cutoffs)
        decided = outcome.status in (Status.OPTIMAL, Status.INFEASIBLE)
        # With rounded costs the solver's solution may have less throughput and fewer split jobs.
        rounded = outcome.objective is not None and round(outcome.objective) < self.known
        return most if decided and not rounded else None

    def by_servers(self, seconds: float = math.inf) -> bool:
        """Decide by the program with every server; return whether the incumbent is the optimum."""
        decided, value = self.search.solve_numbered(self.program, seconds, self.floor)
        if not decided or value is None:
            return False
        self.search.reason = Termination.TOLERANCES.sentence
        least = min(int(value[1]), self.known)
        self.search.second.append(Bound(least, "claimed", "highs with every server"))
        return least == self.known

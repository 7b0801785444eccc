"""Both levels over whole-server patterns: the throughput, and with it held the split jobs."""

from __future__ import annotations

import math
from fractions import Fraction

from dlsched.problems.sensitivity.exact.pattern_search import TUNABLES, PatternSearch
from dlsched.problems.sensitivity.programs.initial_patterns import add_known
from dlsched.problems.sensitivity.programs.lagrangian import Lagrangian
from dlsched.problems.sensitivity.programs.pattern_matrix import numbered
from dlsched.problems.sensitivity.programs.pattern_program import Cutoff, Prices, Program
from dlsched.problems.sensitivity.programs.pattern_relaxation import relax
from dlsched.problems.sensitivity.programs.pooled import pooled_bounds
from dlsched.results.objective import SOLVER_PRECISION, Bound, relative_gap
from dlsched.results.result import Status, Termination
from dlsched.run import Run, Stage
from dlsched.schema import Number, simplify


class Levels(PatternSearch):
    """The search for the largest throughput, and then for the fewest split jobs."""

    def maximise(self, program: Program) -> Number | None:
        """Maximise the throughput; return the optimum if it is proved."""
        relaxed = self.relaxed(program)
        self.infeasible = relaxed is not None and not relaxed.fits
        if program.bound is None:
            return None
        bound = simplify(program.bound * program.granularity)
        self.limit(Bound(bound, "certified", "prices and a table of one server"))
        if relaxed is not None and not self.within(bound):
            bound = self.lower_by_pooled(program, bound)
            if not self.within(bound):
                bound = self.decide(program, relaxed.prices, bound)
        return self.value[0] if self.rounded or self.within(bound) else None

    def attain(self, program: Program, goal: Number) -> None:
        """Look for a solution of a throughput that is known to be the optimum."""
        relaxed = self.relaxed(program)
        if relaxed is None or program.bound is None or self.value[0] == goal:
            return
        if program.bound * program.granularity == goal:
            self.close_gap(program, relaxed.prices, 0)

    def lower_by_pooled(self, program: Program, bound: Number) -> Number:
        """Return the better of a bound and those of pooled servers, of which one is claimed.

        The relaxation over patterns knows what one server holds, the integer program of pooled
        servers that jobs are whole: where CPUs are scarce the latter is often attained.
        """
        run = self.run.nested(TUNABLES.seconds)
        self.limit(*pooled_bounds(self.instance, run))
        least = min(self.first, key=lambda entry: entry.value)
        multiples = program.lower(math.floor(Fraction(least.value) / program.granularity))
        rounded = simplify(multiples * program.granularity)
        if rounded < least.value:  # as jobs without options do not count here
            self.limit(Bound(rounded, least.kind, least.method))
        return simplify(min(Fraction(bound), Fraction(rounded)))

    def decide(self, program: Program, prices: Prices, bound: Number) -> Number:
        """Close the gap between the incumbent and its bound; return the bound then known.

        The program with every server is solved in a second, or its equal servers take hours: it is
        first given a few seconds, and all the time only if the patterns are too many.
        """
        better = []
        if self.best.value is not None:
            least = int(self.value[0] / program.granularity)
            better = [Lagrangian(program, prices).cutoff(least)]
        numbered = self.few_items(program, better)
        if numbered:
            numbered = self.close_by_servers(program, self.run.nested(TUNABLES.seconds))
        closed = numbered or self.close_gap(program, prices, None)
        if not closed and self.may_number(program):
            numbered = closed = self.close_by_servers(program, self.run)
        if not closed or self.within(bound):
            return bound
        if self.best.value is None:
            self.infeasible = True
            return bound
        bound = simplify(min(Fraction(bound), self.value[0] + self.doubt(program)))
        how = "highs with every server" if numbered else "highs on all patterns near the bound"
        self.limit(Bound(bound, "claimed", how))
        self.rounded = 0 < relative_gap(self.value[0], bound) <= SOLVER_PRECISION
        self.termination = Termination.TOLERANCES
        self.reason = "the throughputs are too far apart for the solver's tolerances"
        return bound

    def doubt(self, program: Program) -> Fraction:
        """Return by how much the optimum may be above what a solver calls the largest throughput.

        That is its precision, unless throughputs differ by more, and what rounded costs leave.
        """
        precision = Fraction(SOLVER_PRECISION) * Fraction(self.value[0])
        rounding = len(self.instance.jobs) * program.unit * program.granularity
        if program.unit != 1:
            return max(precision, rounding)
        return precision if precision >= program.granularity else Fraction(0)

    def close_gap(self, program: Program, prices: Prices, most: int | None) -> bool:
        """Solve integer programs over all patterns of small reduced cost, then of larger.

        A solution within a slack of the bound uses no pattern or option whose reduced cost is
        larger. So once the incumbent is within the slack, it is optimal.

        Parameters
        ----------
        most
            The largest slack to try, a multiple of the granularity; unlimited by default.

        Returns
        -------
        bool
            Whether the incumbent is proved optimal, or the instance infeasible.
        """
        assert program.bound is not None
        lagrangian = Lagrangian(program, prices)
        slack = 0
        last = 2 * program.bound
        tried = 0
        if most is None:
            # The patterns from pricing are few, and often contain an optimum.
            self.solve_integer(program, self.run.nested(TUNABLES.seconds))
        while not self.run.stop_reason():
            gap = last
            if self.best.value is not None:
                gap = program.bound - int(self.value[0] / program.granularity)
                if gap == 0 or self.within(program.bound * program.granularity):
                    return True
            slack = min(slack, gap if most is None else most)
            better = lagrangian.cutoff(program.bound - gap)
            if most is None and gap < last and program.complete(TUNABLES.soon, [better], self.run):
                slack = gap  # few enough to decide at once
            cutoff = lagrangian.cutoff(program.bound - slack)
            if not self.enumerate(program, [cutoff]):
                break
            if slack < gap and most is None and len(program.patterns) == tried:
                slack = max(4, 2 * slack)
                continue  # no new patterns
            tried = len(program.patterns)
            seconds = TUNABLES.seconds if slack < gap else float("inf")
            outcome = self.solve_integer(program, self.run.nested(seconds), cutoffs=[cutoff])
            decided = outcome.status in (Status.OPTIMAL, Status.INFEASIBLE)
            if decided and slack >= gap:
                return True
            if most is not None and slack >= most:
                return False
            slack = max(4, 2 * slack)
        return False

    def close_by_servers(self, program: Program, run: Run) -> bool:
        """Solve the program with every server; return whether it decides."""
        outcome = numbered(program, run)
        if outcome.values is None:
            return outcome.status is Status.INFEASIBLE
        value = self.offer_numbered(program, outcome.values)
        return value is not None and outcome.status is Status.OPTIMAL

    def minimise_split(self, goal: Number) -> bool:
        """Minimise the split jobs with the throughput held; return whether it is proved."""
        self.termination = Termination.UNDECIDED
        self.reason = "a gap is left at level 2"
        self.run.announce(Stage.SEARCHING, "patterns as columns, for the split jobs")
        program = Program(self.instance, whole=True, units=True)
        floor = int(goal / program.granularity)
        add_known(program, self.feasible)
        first = relax(program, self.run)
        if first is None or program.bound is None:
            return False
        relaxed = relax(program, self.run, floor)
        if relaxed is None:
            return False
        lagrangian = Lagrangian(program, relaxed.prices, floor)
        least = lagrangian.splits()
        self.second.append(Bound(least, "certified", "prices and a table of one server"))
        # As at level 1, the patterns from pricing are few, and often contain an optimum.
        self.solve_integer(program, self.run.nested(TUNABLES.seconds), floor)
        held = Lagrangian(program, first.prices).cutoff(floor)
        fewer = [lagrangian.split_cutoff(int(self.value[1]) - 1), held]
        if self.value[1] > least and self.few_items(program, fewer):
            if self.split_by_servers(program, self.run.nested(TUNABLES.seconds), floor):
                return True
            self.reason = "a gap is left at level 2"
        while self.value[1] > least:
            most = self.close_split(program, floor, lagrangian, held, least)
            if most is None:
                if not self.may_number(program):
                    return False
                return self.split_by_servers(program, self.run, floor)
            least = min(most + 1, int(self.value[1]))
            how = "highs on all patterns near the bound"
            self.second.append(Bound(least, "claimed", how))
        return True

    def close_split(
        self, program: Program, floor: int, lagrangian: Lagrangian, held: Cutoff, least: int
    ) -> int | None:
        """Search for fewer split jobs.

        Among all patterns that solutions can use that have fewer than the incumbent; if these are
        too many, that have no more than the bound.

        Returns
        -------
        int or None
            The number of split jobs up to which every solution has been considered; ``None`` if a
            limit struck.
        """
        most = int(self.value[1]) - 1
        if not program.complete(TUNABLES.few, [lagrangian.split_cutoff(most), held], self.run):
            most = least
        cutoffs = [lagrangian.split_cutoff(most), held]
        if not self.enumerate(program, cutoffs):
            return None
        outcome = self.solve_integer(program, self.run, floor, cutoffs)
        decided = outcome.status in (Status.OPTIMAL, Status.INFEASIBLE)
        # With rounded costs the solver's solution may have less throughput and fewer split jobs.
        rounded = outcome.objective is not None and round(outcome.objective) < self.value[1]
        return most if decided and not rounded else None

    def split_by_servers(self, program: Program, run: Run, floor: int) -> bool:
        """Minimise the split jobs with every server, the throughput held; see above."""
        outcome = numbered(program, run, floor)
        if outcome.values is None or outcome.status is not Status.OPTIMAL:
            return False
        value = self.offer_numbered(program, outcome.values)
        if value is None:
            return False
        self.reason = Termination.TOLERANCES.sentence
        least = min(value[1], self.value[1])
        self.second.append(Bound(least, "claimed", "highs with every server"))
        return least == self.value[1]

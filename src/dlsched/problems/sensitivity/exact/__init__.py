"""Exact methods for sensitivity: the direct integer program, and whole-server patterns."""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Sequence
from fractions import Fraction

from dlsched.problems.sensitivity import model
from dlsched.problems.sensitivity.definition.check import check, evaluate
from dlsched.problems.sensitivity.definition.schema import Instance, Solution
from dlsched.problems.sensitivity.exact.bounds import precision_reason
from dlsched.problems.sensitivity.exact.milp import solve_model
from dlsched.problems.sensitivity.exact.numbered_servers import (
    MOST_COLUMNS,
    columns,
    solution_of_numbered,
    solve_numbered,
)
from dlsched.problems.sensitivity.heuristics.price_round import price_round
from dlsched.problems.sensitivity.heuristics.round_patterns import solution_from
from dlsched.problems.sensitivity.programs.initial_patterns import patterns_of
from dlsched.problems.sensitivity.programs.lagrangian import Cutoff, Lagrangian, Prices
from dlsched.problems.sensitivity.programs.pattern_matrix import integer
from dlsched.problems.sensitivity.programs.pattern_program import Program
from dlsched.problems.sensitivity.programs.pattern_relaxation import Relaxed, relax
from dlsched.problems.sensitivity.programs.pooled import pooled_bounds, split_bound
from dlsched.problems.sensitivity.structures.free_resources import solution_of
from dlsched.problems.sensitivity.structures.server_patterns import TooManyStates
from dlsched.registry.own import method
from dlsched.results.objective import SOLVER_PRECISION, Bound, relative_gap
from dlsched.results.result import Claim, Start, Status, Termination
from dlsched.run import Run, Stage
from dlsched.schema import Number, simplify
from dlsched.solvers.outcome import Outcome

logger = logging.getLogger(__name__)

_SECONDS = 10.0
"""Time limit of an integer program that cannot prove optimality."""
_SOON = 2_000
_FEW = 20_000
"""Upper limits of the patterns that are enumerated: at once, and after cheaper attempts."""
_PATTERNS_PER_SECOND = 2000
_FEW_SERVERS = 8
"""Up to this many servers the program with every server may be tried before all patterns."""


@method("sensitivity", kind="exact", preload=("highspy", "scipy.sparse"))
def patterns(instance: Instance, run: Run) -> Claim:
    """Whole-server patterns of items, by column generation; then the fewest split jobs.

    Exact because servers are identical, and so are jobs of one profile: a solution is how often
    each option is taken and each pattern used, and any such numbers can be assigned to servers and
    jobs. The bound on the throughput is re-checked from the prices by a dynamic program in
    integers; where it leaves a gap, the integer optimum of `pooled` may close it, else an integer
    program over all patterns that can matter, or with every server if these are fewer. An optimum
    that splits only jobs larger than a server splits fewest; else a second program holds the
    throughput and minimises the split jobs, with a bound from its own prices.

    It begins from the best solution of all heuristics, and ends when the throughput is within
    ``gap`` of its bound. Where the solver's precision decides, the reason says how far it goes.
    An instance whose servers have too many sums of CPUs or memory for the dynamic program is
    solved by `milp`, or, if that is too large, by the heuristics with the bound of `pooled`.
    """
    search = _Patterns(instance, run)
    try:
        return search.solve()
    except TooManyStates as error:
        logger.info("patterns are left out: %s", error)
        return search.without_patterns(str(error))


class _Patterns:
    """The state of a search: the incumbent, the bounds of both levels, and why it ended."""

    def __init__(self, instance: Instance, run: Run) -> None:
        self.instance = instance
        self.run = run
        self.best: Solution | None = None
        self.found: list[Solution] = []
        self.value: tuple[Number, ...] = ()
        self.start: Start | None = None
        self.first: list[Bound] = []
        self.second: list[Bound] = []
        self.infeasible = False
        self.rounded = False
        self.termination = Termination.UNDECIDED
        self.reason = "a gap is left"
        self.forced = split_bound(instance)
        most = instance.servers.gpus
        self.several = any(1 < instance.profile(job).gpus <= most for job in instance.jobs)

    def solve(self) -> Claim:
        instance = self.instance
        if not instance.jobs:
            reason = "there are no jobs"
            self.offer(solution_of(instance, {}))
            self.first.append(Bound(0, "certified", reason))
            self.second.append(Bound(0, "certified", reason))
            return self.claim(Status.OPTIMAL, reason=reason)
        self.begin()
        if isinstance(self.run.start, Solution):
            better = self.offer(self.run.start)
            said = "the first incumbent" if better else "no better than the heuristics'"
            self.start = Start(True, said)
        self.run.announce(Stage.BUILDING, f"the patterns of servers of {instance.name}")
        together = Program(instance, whole=True, units=False)
        free = together
        if instance.allow_split and self.several:
            free = Program(instance, whole=False, units=True)
        goal = self.value[0] if self.proved() else self.maximise(free)
        self.second.append(self.forced)
        if goal is None:
            if self.infeasible:
                return Claim(status=Status.INFEASIBLE, reason="no patterns hold all jobs")
            return self.stopped()
        if not self.rounded and self.bound() != self.value[0]:
            return self.claim(Status.OPTIMAL)  # within the gap; level 2 is not searched
        if self.value[1] > self.forced.value and free is not together:
            self.attain(together, goal)
        if self.value[1] > self.forced.value and not self.minimise_split(goal):
            return self.stopped()
        return self.claim(Status.OPTIMAL, reason=self.precision())

    def begin(self) -> None:
        """Keep the solutions of heuristics, and the bounds that came with them."""
        found = self.run.found
        bounds = self.run.known_bounds
        if not found:
            self.run.announce(Stage.SEARCHING, "a first allocation, by price_round")
            claim = price_round(self.instance, self.run.nested())
            found = [claim.solution]
            bounds = claim.bounds
        for solution in found:
            if isinstance(solution, Solution):
                self.offer(solution)
        self.first += bounds[0] if bounds else []

    def bound(self) -> Number | None:
        """Return the least bound on the throughput."""
        return min((simplify(Fraction(entry.value)) for entry in self.first), default=None)

    def proved(self) -> bool:
        """Whether the throughput is within the gap of its bound."""
        bound = self.bound()
        return bound is not None and self.within(bound)

    def precision(self) -> str:
        """Return to which precision the throughput is proved; nothing if it is exactly."""
        bound = self.bound()
        assert bound is not None
        return precision_reason(relative_gap(self.value[0], bound)) if self.rounded else ""

    def without_patterns(self, reason: str) -> Claim:
        """Solve the integer program instead, or return the pooled bound if that is too large."""
        if model.variables(self.instance) <= model.MOST_VARIABLES:
            return solve_model(self.instance, self.run, self.best)
        self.first += pooled_bounds(self.instance, self.run)
        self.second.append(self.forced)
        self.reason = reason
        return self.stopped()

    def stopped(self) -> Claim:
        """Return the incumbent and the bounds after a limit, or if the search cannot continue."""
        status = Status.NO_SOLUTION if self.best is None else Status.FEASIBLE
        limit = self.run.stop_reason()
        if limit:
            return self.claim(status, limit)
        return self.claim(status, self.termination, self.reason)

    def offer(self, solution: Solution) -> bool:
        """Make a solution the incumbent if it is feasible and better; return whether it is."""
        if not check(self.instance, solution).feasible:
            return False  # a faulty heuristic must not end the exact method
        self.found.append(solution)
        value = evaluate(self.instance, solution.allocation)
        if self.best is not None and not value.better_than(self.value):
            return False
        self.best = solution
        self.value = value
        bound = float(self.first[-1].value) if self.first else None
        self.run.record(float(value[0]), bound)
        return True

    def relaxed(self, program: Program) -> Relaxed | None:
        """Return the relaxation of the largest throughput; ``None`` if a limit struck."""
        self.run.announce(Stage.SEARCHING, "patterns as columns, for the throughput")
        self.initialise(program)
        return relax(program, self.run)

    def maximise(self, program: Program) -> Number | None:
        """Maximise the throughput; return the optimum if it is proved."""
        relaxed = self.relaxed(program)
        self.infeasible = relaxed is not None and not relaxed.fits
        if program.bound is None:
            return None
        bound = simplify(program.bound * program.granularity)
        self.first.append(Bound(bound, "certified", "prices and a table of one server"))
        if relaxed is not None and not self.within(bound):
            bound = self.tighten(program, bound)
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

    def tighten(self, program: Program, bound: Number) -> Number:
        """Return the better of a bound and that of pooled servers; improve the incumbent.

        The relaxation over patterns knows what one server holds, the integer program of pooled
        servers that jobs are whole: where CPUs are scarce the latter is often attained.
        """
        run = self.run.nested(_SECONDS)
        self.first += pooled_bounds(self.instance, run)
        least = min(self.first, key=lambda entry: entry.value)
        assert program.bound is not None
        program.bound = min(program.bound, math.floor(Fraction(least.value) / program.granularity))
        rounded = simplify(program.bound * program.granularity)
        if rounded < least.value:  # as jobs without options do not count here
            self.first.append(Bound(rounded, least.kind, least.method))
        return simplify(min(Fraction(bound), Fraction(rounded)))

    def decide(self, program: Program, prices: Prices, bound: Number) -> Number:
        """Close the gap between the incumbent and its bound; return the bound then known.

        The program with every server is solved in a second, or its equal servers take hours: it is
        first given a few seconds, and all the time only if the patterns are too many.
        """
        numbered = self.few_items(program, self.better(program, prices))
        numbered = closed = numbered and self.close_by_servers(program, self.run.nested(_SECONDS))
        closed = closed or self.close_gap(program, prices, None)
        if not closed and self.may_number(program):
            numbered = closed = self.close_by_servers(program, self.run)
        if not closed or self.within(bound):
            return bound
        if self.best is None:
            self.infeasible = True
            return bound
        bound = simplify(min(Fraction(bound), self.value[0] + self.doubt(program)))
        how = "highs with every server" if numbered else "highs on all patterns near the bound"
        self.first.append(Bound(bound, "claimed", how))
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
        lagrangian = program.lagrangian(prices)
        slack = 0
        last = 2 * program.bound
        tried = 0
        if most is None:
            # The patterns from pricing are few, and often contain an optimum.
            self.solve_integer(program, self.run.nested(_SECONDS))
        while not self.run.stop_reason():
            gap = last
            if self.best is not None:
                gap = program.bound - int(self.value[0] / program.granularity)
                if gap == 0 or self.within(program.bound * program.granularity):
                    return True
            slack = min(slack, gap if most is None else most)
            better = lagrangian.cutoff(program.bound - gap)
            if most is None and gap < last and program.complete(_SOON, [better], self.run):
                slack = gap  # few enough to decide at once
            cutoff = lagrangian.cutoff(program.bound - slack)
            if not self.enumerate(program, [cutoff]):
                break
            if slack < gap and most is None and len(program.patterns) == tried:
                slack = max(4, 2 * slack)
                continue  # no new patterns
            tried = len(program.patterns)
            seconds = _SECONDS if slack < gap else float("inf")
            outcome = self.solve_integer(program, self.run.nested(seconds), cutoffs=[cutoff])
            decided = outcome.status in (Status.OPTIMAL, Status.INFEASIBLE)
            if decided and slack >= gap:
                return True
            if most is not None and slack >= most:
                return False
            slack = max(4, 2 * slack)
        return False

    def solve_integer(
        self,
        program: Program,
        run: Run,
        floor: int | None = None,
        cutoffs: Sequence[Cutoff] = (),
    ) -> Outcome:
        """Solve the integer program over the patterns known, and offer its solution."""
        outcome = integer(program, run, floor, cutoffs)
        if outcome.values is not None:
            self.offer(solution_from(program, outcome.values))
        return outcome

    def enumerate(self, program: Program, cutoffs: Sequence[Cutoff]) -> bool:
        """Add all patterns for the cutoffs; return whether their integer program can be solved."""
        if not program.complete(_FEW, cutoffs, self.run):
            self.reason = "too many patterns near the bound to enumerate"
            return False
        # HiGHS checks its time limit only between the steps of its root node.
        enough = self.run.remaining() > len(program.patterns) / _PATTERNS_PER_SECOND
        if not enough:
            self.termination = Termination.TIME_LIMIT
            self.reason = "time limit: an integer program would not end in time"
        return enough

    def may_number(self, program: Program) -> bool:
        """Whether the program with every server may be solved."""
        return columns(program) <= MOST_COLUMNS and self.run.stop_reason() is None

    def few_items(self, program: Program, cutoffs: Sequence[Cutoff]) -> bool:
        """Whether there are fewer items, on all servers, than patterns that matter."""
        if self.instance.servers.count > _FEW_SERVERS or not self.may_number(program):
            return False
        return not program.complete(columns(program), cutoffs, self.run)

    def better(self, program: Program, prices: Prices) -> list[Cutoff]:
        """Return what solutions can use that are better than the incumbent; nothing without one."""
        assert program.bound is not None
        if self.best is None:
            return []
        return [program.lagrangian(prices).cutoff(int(self.value[0] / program.granularity))]

    def close_by_servers(self, program: Program, run: Run) -> bool:
        """Solve the program with every server; return whether it decides.

        It does not if its point overloads a server, as capacities may be rounded for the solver.
        """
        outcome = solve_numbered(program, run)
        if outcome.status is Status.INFEASIBLE:
            return True
        if outcome.values is None:
            return False
        solution = solution_of_numbered(program, outcome.values)
        self.offer(solution)
        self.reason = "CPUs or memory have too many digits for the solver"
        feasible = check(self.instance, solution).feasible
        return feasible and outcome.status is Status.OPTIMAL

    def split_by_servers(self, program: Program, run: Run, floor: int) -> bool:
        """Minimise the split jobs with every server, the throughput held; see above."""
        outcome = solve_numbered(program, run, floor)
        if outcome.values is None or outcome.status is not Status.OPTIMAL:
            return False
        solution = solution_of_numbered(program, outcome.values)
        self.offer(solution)
        self.reason = "CPUs or memory have too many digits for the solver"
        if not check(self.instance, solution).feasible:
            return False
        self.reason = Termination.TOLERANCES.sentence
        least = min(evaluate(self.instance, solution.allocation)[1], self.value[1])
        self.second.append(Bound(least, "claimed", "highs with every server"))
        return least == self.value[1]

    def within(self, bound: Number) -> bool:
        """Whether the incumbent's throughput is within the run's gap of a bound."""
        return self.best is not None and relative_gap(self.value[0], bound) <= self.run.gap

    def initialise(self, program: Program) -> None:
        """Add the patterns of every solution found, and for each item a server full of it."""
        for solution in self.found:
            with contextlib.suppress(KeyError):  # it splits a job that the program does not
                program.add(patterns_of(program, solution))
        program.add([program.server.full(i) for i in range(len(program.items))])

    def minimise_split(self, goal: Number) -> bool:
        """Minimise the split jobs with the throughput held; return whether it is proved."""
        self.termination = Termination.UNDECIDED
        self.reason = "a gap is left at level 2"
        self.run.announce(Stage.SEARCHING, "patterns as columns, for the split jobs")
        program = Program(self.instance, whole=True, units=True)
        floor = int(goal / program.granularity)
        self.initialise(program)
        first = relax(program, self.run)
        if first is None or program.bound is None:
            return False
        relaxed = relax(program, self.run, floor)
        if relaxed is None:
            return False
        lagrangian = program.lagrangian(relaxed.prices, floor)
        least = lagrangian.splits()
        self.second.append(Bound(least, "certified", "prices and a table of one server"))
        # As at level 1, the patterns from pricing are few, and often contain an optimum.
        self.solve_integer(program, self.run.nested(_SECONDS), floor)
        held = program.lagrangian(first.prices).cutoff(floor)
        fewer = [lagrangian.split_cutoff(int(self.value[1]) - 1), held]
        if self.value[1] > least and self.few_items(program, fewer):
            if self.split_by_servers(program, self.run.nested(_SECONDS), floor):
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
        if not program.complete(_FEW, [lagrangian.split_cutoff(most), held], self.run):
            most = least
        cutoffs = [lagrangian.split_cutoff(most), held]
        if not self.enumerate(program, cutoffs):
            return None
        outcome = self.solve_integer(program, self.run, floor, cutoffs)
        decided = outcome.status in (Status.OPTIMAL, Status.INFEASIBLE)
        # With rounded costs the solver's solution may have less throughput and fewer split jobs.
        rounded = outcome.objective is not None and round(outcome.objective) < self.value[1]
        return most if decided and not rounded else None

    def claim(
        self, status: Status, termination: Termination | None = None, reason: str = ""
    ) -> Claim:
        return Claim(
            solution=self.best,
            status=status,
            termination=termination,
            reason=reason,
            objective=self.value or None,
            bounds=[self.first, self.second],
            start=self.start,
        )

"""Level 2 over whole-server patterns: the fewest split jobs, with the throughput held."""

from __future__ import annotations

from dlsched.problems.sensitivity.definition.check import evaluate
from dlsched.problems.sensitivity.exact.pattern_search import FEW, SECONDS, PatternSearch
from dlsched.problems.sensitivity.programs.initial_patterns import add_known
from dlsched.problems.sensitivity.programs.lagrangian import Lagrangian
from dlsched.problems.sensitivity.programs.pattern_matrix import numbered
from dlsched.problems.sensitivity.programs.pattern_program import Cutoff, Program
from dlsched.problems.sensitivity.programs.pattern_relaxation import relax
from dlsched.results.objective import Bound
from dlsched.results.result import Status, Termination
from dlsched.run import Run, Stage
from dlsched.schema import Number


class SplitLevel(PatternSearch):
    """The search for the fewest split jobs."""

    def minimise_split(self, goal: Number) -> bool:
        """Minimise the split jobs with the throughput held; return whether it is proved."""
        self.termination = Termination.UNDECIDED
        self.reason = "a gap is left at level 2"
        self.run.announce(Stage.SEARCHING, "patterns as columns, for the split jobs")
        program = Program(self.instance, whole=True, units=True)
        floor = int(goal / program.granularity)
        add_known(program, self.found)
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
        self.solve_integer(program, self.run.nested(SECONDS), floor)
        held = Lagrangian(program, first.prices).cutoff(floor)
        fewer = [lagrangian.split_cutoff(int(self.value[1]) - 1), held]
        if self.value[1] > least and self.few_items(program, fewer):
            if self.split_by_servers(program, self.run.nested(SECONDS), floor):
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
        if not program.complete(FEW, [lagrangian.split_cutoff(most), held], self.run):
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
        solution = self.offer_numbered(program, outcome.values)
        if solution is None:
            return False
        self.reason = Termination.TOLERANCES.sentence
        least = min(evaluate(self.instance, solution.allocation)[1], self.value[1])
        self.second.append(Bound(least, "claimed", "highs with every server"))
        return least == self.value[1]

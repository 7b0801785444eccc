"""Level 2 over whole-server patterns: the fewest split jobs, with the throughput held."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dlsched.problems.sensitivity.exact.search import TUNABLES, Search
from dlsched.problems.sensitivity.programs.initial_patterns import add_known
from dlsched.problems.sensitivity.programs.lagrangian import Lagrangian
from dlsched.problems.sensitivity.programs.pattern_program import Cutoff, Program
from dlsched.problems.sensitivity.programs.pattern_relaxation import relax
from dlsched.results.objective import Bound
from dlsched.results.result import Status, Termination
from dlsched.run import Stage
from dlsched.schema import Number


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
        """Return what solutions with at most so many split jobs can use."""
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
        """Search for fewer split jobs.

        Among all patterns that solutions can use that have fewer than the incumbent; if these are
        too many, that have no more than the bound.

        Returns
        -------
        int or None
            The number of split jobs up to which every solution has been considered; ``None`` if a
            limit struck.
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

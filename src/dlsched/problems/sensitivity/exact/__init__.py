"""Exact methods for sensitivity: the direct integer program, and whole-server patterns."""

from __future__ import annotations

import logging

from dlsched.problems.sensitivity import model
from dlsched.problems.sensitivity.definition.schema import Instance, Solution
from dlsched.problems.sensitivity.exact.levels import Levels
from dlsched.problems.sensitivity.exact.milp import solve_model
from dlsched.problems.sensitivity.programs.pattern_program import Program
from dlsched.problems.sensitivity.programs.pooled import pooled_bounds
from dlsched.problems.sensitivity.structures.server_patterns import TooManyStates
from dlsched.registry.own import method
from dlsched.results.result import Claim, Status
from dlsched.run import Run, Stage
from dlsched.solvers.incumbent import nothing_to_do

logger = logging.getLogger(__name__)


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


class _Patterns(Levels):
    """The search of both levels, the throughput first."""

    def solve(self) -> Claim:
        instance = self.instance
        if not instance.jobs:
            return nothing_to_do(Solution(allocation={}), "there are no jobs", levels=2)
        self.begin()
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

    def without_patterns(self, reason: str) -> Claim:
        """Solve the integer program instead, or return the pooled bound if that is too large."""
        if model.variables(self.instance) <= model.MOST_VARIABLES:
            return solve_model(self.instance, self.run, self.best.solution)
        self.limit(*pooled_bounds(self.instance, self.run))
        self.second.append(self.forced)
        self.reason = reason
        return self.stopped()

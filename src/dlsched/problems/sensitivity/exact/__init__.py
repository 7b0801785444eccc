"""Exact methods for sensitivity: the direct integer program, and whole-server patterns."""

import logging

from dlsched.problems.sensitivity import model
from dlsched.problems.sensitivity.definition.schema import Instance, Solution
from dlsched.problems.sensitivity.exact.levels import maximise, minimise_split
from dlsched.problems.sensitivity.exact.milp import solve_model
from dlsched.problems.sensitivity.exact.search import Search
from dlsched.problems.sensitivity.programs.pattern_program import Program
from dlsched.problems.sensitivity.programs.pooled import pooled_bounds, split_bound
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

    It begins from the best solution of all heuristics, on few servers from dives, and ends when the
    throughput is within ``gap`` of its bound. Where the solver's precision decides, the reason says
    how far it goes.
    An instance whose servers have too many sums of CPUs or memory for the dynamic program is
    solved by `milp`, or, if that is too large, by the heuristics with the bound of `pooled`.
    """
    if not instance.jobs:
        return nothing_to_do(Solution(allocation={}), "there are no jobs", levels=2)
    search = Search(instance, run)
    try:
        return _solve(search)
    except TooManyStates as error:
        logger.info("patterns are left out: %s", error)
        return _without_patterns(search, str(error))


def _solve(search: Search) -> Claim:
    """Search both levels, the throughput first."""
    instance = search.instance
    search.begin()
    search.run.announce(Stage.BUILDING, f"the patterns of servers of {instance.name}")
    most = instance.servers.gpus
    several = any(1 < instance.profile(job).gpus <= most for job in instance.jobs)
    units = instance.allow_split and several
    program = Program(instance, whole=not units, units=units)
    known = search.within(search.bound())
    status = Status.OPTIMAL if known else maximise(search, program)
    forced = split_bound(instance)
    search.second.append(forced)
    if status is Status.INFEASIBLE:
        return Claim(status=status, reason="no patterns hold all jobs")
    if status is not Status.OPTIMAL:
        return search.stopped()
    goal = search.value[0]
    within_gap = not search.rounded and search.bound() != goal  # then level 2 is not searched
    if not within_gap and search.value[1] > forced.value and not minimise_split(search, goal):
        return search.stopped()
    return search.proved()


def _without_patterns(search: Search, reason: str) -> Claim:
    """Solve the integer program instead, or return the pooled bound if that is too large."""
    if model.variables(search.instance) <= model.MOST_VARIABLES:
        return solve_model(search.instance, search.run, search.best.solution)
    search.limit(*pooled_bounds(search.instance, search.run))
    search.second.append(split_bound(search.instance))
    search.reason = reason
    return search.stopped()

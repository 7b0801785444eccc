"""Exact methods: the integer program, and Dantzig-Wolfe over jobs' schedules, with its bound."""

import logging
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from dlsched.problems.utility import model
from dlsched.problems.utility.definition.schema import Instance
from dlsched.problems.utility.exact.schedule_columns import LAGRANGIAN, ScheduleSearch
from dlsched.problems.utility.model import TUNABLES, Restriction
from dlsched.problems.utility.structures.gangs import Barred, Stopped
from dlsched.registry.own import method
from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Start, Status, Termination
from dlsched.run import Run, Stage
from dlsched.solvers.incumbent import nothing_to_do
from dlsched.solvers.levels import SOLVER_LIBRARIES, solve_levels

logger = logging.getLogger(__name__)


@method("utility", kind="exact", preload=SOLVER_LIBRARIES)
def milp(instance: Instance, run: Run) -> Claim:
    """Integer program: when each job runs, at which speed, and when it is complete.

    Exact because machines matter only through their GPUs of each type, and gangs fit on these if
    and only if Hall's condition holds, whose rows the program has (models/utility.md).
    """
    return solve_model(instance, run)


def solve_model(instance: Instance, run: Run, part: Restriction | None = None) -> Claim:
    """Solve the integer program, or a part of it, within the run's limits, building included."""
    try:
        return solve_levels(instance, run, _limited_model(run, part), relaxations=part is None)
    except Stopped as error:
        reason = f"{error} while the integer program was built"
        start = Start(True, "returned as it was given") if run.start is not None else None
        return Claim(
            solution=run.start,
            status=Status.FEASIBLE if start else Status.NO_SOLUTION,
            termination=error.termination,
            reason=reason,
            start=start,
        )


def _limited_model(run: Run, part: Restriction | None) -> SimpleNamespace:
    """Return the model's module, with a `build` that ends at the run's limits."""

    def build(instance: Instance) -> Any:
        began = run.elapsed()
        built = model.build(instance, run.stop_reason, part)
        if TUNABLES.compiling * (run.elapsed() - began) > run.remaining():
            raise Stopped(Termination.TIME_LIMIT)
        return built

    return SimpleNamespace(build=build, read=model.read, assign=model.assign)


@method("utility", kind="bound", preload=("highspy", "scipy.sparse"))
def lagrangian(instance: Instance, run: Run) -> Claim:
    """Lagrangian bound of the best prices found, which `lagrangian_bound` re-checks in one pass.

    Prices are duals of the restricted master, with slots merged into ever shorter periods.
    """
    return bound_of(ScheduleSearch(instance, run))


def bound_of(search: ScheduleSearch) -> Claim:
    """Return the least bound by prices that the master's periods give."""
    search.bound_by_prices(search.run)
    bounds = [] if search.bound is None else [Bound(search.bound, "certified", LAGRANGIAN)]
    return Claim(status=Status.NO_SOLUTION, bounds=[bounds])


@method("utility", kind="exact", preload=SOLVER_LIBRARIES, begins_with="lagrangian")
def dantzig_wolfe(instance: Instance, run: Run) -> Claim:
    """Columns are the jobs' schedules, priced by one dynamic program for all finish slots at once.

    Exact because any prices give a valid bound, which one pricing pass re-checks
    (`lagrangian_bound`), and an incumbent that meets it is optimal; where none does, an integer
    program over what these prices leave (`restrict`) decides small instances, and the gap of others
    is certified. The incumbent comes from insertion with its searches, and from insertion at these
    prices. Gains of work are rounded up for the bound, and down for schedules, where its stages are
    too many.
    """
    return solve_barred(instance, run, None)


def solve_barred(instance: Instance, run: Run, barred: Barred | None) -> Claim:
    """Solve as `dantzig_wolfe` does, without the runs that a rule does not allow; see `Gangs`."""
    run.announce(Stage.BUILDING, f"the jobs' gangs of {instance.name}")
    search = ScheduleSearch(instance, run, barred)
    if not search.gangs.masks:
        return nothing_to_do(search.solution, "no job can run")
    run.announce(Stage.SEARCHING, "schedules as columns")
    with run.limits_kept():
        search.solve()
        claim = search.claim()
    if claim.status in (Status.OPTIMAL, Status.INFEASIBLE):
        return claim
    if not search.fits_milp:
        logger.info("a gap is left: the integer program, which could close it, is too large")
        return claim
    return _close(instance, run, search, claim)


def _close(instance: Instance, run: Run, search: ScheduleSearch, claim: Claim) -> Claim:
    """Close the gap by the integer program, which starts from the claim's schedule.

    It has only what a better schedule can use, if a schedule is known.
    """
    if run.stop_reason():
        return claim
    run.announce(Stage.SEARCHING, "the integer program, from the best schedule found")
    rest = run.nested(gap=run.gap)
    rest.start = claim.solution or run.start
    rest.on_progress = search.pass_on
    try:
        last = solve_model(instance, rest, search.part)
    except Stopped:
        return claim
    bounds = [[*claim.bounds[0], *(last.bounds or [[]])[0]]]
    if last.status is Status.NO_SOLUTION:
        return replace(claim, bounds=bounds, termination=last.termination, reason=last.reason)
    reason = "proved by the integer program" if last.status is Status.OPTIMAL else last.reason
    return replace(last, bounds=bounds, reason=reason, start=claim.start)

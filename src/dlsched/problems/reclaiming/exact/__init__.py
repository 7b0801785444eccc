"""The exact method for reclaiming, the integer program, and bounds on the preempted weight."""

from dataclasses import dataclass, replace
from typing import Any

from dlsched.problems.reclaiming import model
from dlsched.problems.reclaiming.definition.check import evaluate
from dlsched.problems.reclaiming.definition.schema import Instance, Solution
from dlsched.problems.reclaiming.heuristics.densest import densest
from dlsched.problems.reclaiming.programs.spectral import is_scattered, preempted_weight
from dlsched.registry.own import method
from dlsched.results.objective import Bound
from dlsched.results.result import Claim
from dlsched.run import Run, Stage
from dlsched.schema import Number, granularity
from dlsched.solvers.certificate import round_to_granularity
from dlsched.solvers.division import PARTS
from dlsched.solvers.levels import SOLVER_LIBRARIES, relax_first_level, solve_levels


@method("reclaiming", kind="bound", preload=SOLVER_LIBRARIES)
def lp(instance: Instance, run: Run) -> Claim:
    """Linear relaxation of level 1, certified from its duals and rounded to a multiple."""
    return relax_first_level(instance, run, model)


@method("reclaiming", kind="bound", preload=SOLVER_LIBRARIES)
def spectral(instance: Instance, run: Run) -> Claim:
    """Bound by eigenvalues where most of the weight is in jobs on three servers or more, and `lp`.

    Such a job runs on only if all its servers stay, which a quadratic form bounds; the largest form
    on a sphere is a bound, re-checked in whole numbers. Elsewhere the bound is that of `lp` alone.
    """
    limit = run.time_limit or float("inf")
    bounds = _by_eigenvalues(instance, run.nested(limit * (PARTS - 1) / PARTS))
    return _with_bounds(lp(instance, run), bounds)


def _by_eigenvalues(instance: Instance, run: Run) -> list[Bound]:
    """Return the bound of level 1 by eigenvalues, where it can be the stronger one."""
    if not is_scattered(instance):
        return []
    run.announce(Stage.SEARCHING, "a bound by eigenvalues")
    least = preempted_weight(instance, run)
    if least is None:
        return []
    based = zip(instance.weights, instance.base_servers, strict=True)
    step = granularity(weight for weight, base in based if base and weight)
    return [Bound(round_to_granularity(least, step, "min"), "certified", "eigenvalues")]


def _with_bounds(claim: Claim, bounds: list[Bound]) -> Claim:
    """Add bounds of level 1."""
    first, *others = claim.bounds or [[]]
    return replace(claim, bounds=[[*first, *bounds], *others])


@method("reclaiming", kind="exact", preload=SOLVER_LIBRARIES, begins_with="spectral")
def milp(instance: Instance, run: Run, levels: int = 2) -> Claim:
    """Integer program: first the preempted weight, then, held at its optimum, the collateral.

    Exact because solutions of the model and of the instance correspond (models/reclaiming.md) and
    branch and bound searches all of them except those that preempt a job heavier than the whole
    preempted weight of `densest`, or of the start. The certified bound comes from the relaxation's
    duals, or with a limit, of which it takes up to a third, from `spectral`. If the weights add up
    to more than about 400,000 multiples of their greatest common divisor, the solver's tolerances
    can leave a gap of about 1e-9, which is stated.

    Parameters
    ----------
    levels
        1 to stop after the preempted weight.
    """
    known = run.start or run.known
    weighted = len(set(instance.weights)) > 1
    if known is None and weighted and instance.demand <= len(instance.servers):
        known = densest(instance, run)
    bounds = []
    if run.time_limit is not None:  # without a limit the search itself proves what can be
        bounds = _by_eigenvalues(instance, run.nested(run.time_limit / PARTS))
    limit = None
    if isinstance(known, Solution):
        returned = {instance.server_index[s] for s in known.returned}
        limit = evaluate(instance, returned)[0]
    return _with_bounds(solve_levels(instance, run, _Reduced(limit), levels), bounds)


@dataclass(frozen=True)
class _Reduced:
    """The model, as `solve_levels` takes it, with fewer variables.

    A server with a base worker of a job is returned only if the job is preempted, so z = y - x
    there: in level 2 these z are replaced. If a solution is known, jobs heavier than `limit` and
    their base servers are fixed at 0. A solver's tolerances are relative to the largest weight that
    it is given, so weights far above the optimum would hide the differences that matter.

    Attributes
    ----------
    limit
        Preempted weight of a known solution, None without one.
    """

    limit: Number | None = None
    read = staticmethod(model.read)
    assign = staticmethod(model.assign)

    def build(self, instance: Instance) -> Any:
        """Return the Pyomo model; its sets are the instance's, as on the card."""
        m = model.build(instance)
        _replace_losses(m, instance)
        if self.limit is not None:
            _fix_heavy(m, instance, self.limit)
        return m


def _replace_losses(m: Any, instance: Instance) -> None:
    """Write z as y - x on the servers of a job's base, where no row then needs it."""
    import pyomo.core as pyo

    servers = [server.id for server in instance.servers]
    losses = []
    for job, held in zip(instance.jobs, instance.held, strict=True):
        for position, gpus in held.items():
            pair = job.id, servers[position]
            if pair in m.DAMAGE and pair in m.BASE:
                m.vacate[pair].deactivate()
                m.z[pair].fix(0)
                losses.append(gpus * (m.y[job.id] - m.x[pair[1]]))
            elif pair in m.DAMAGE:
                losses.append(gpus * m.z[pair])
    m.collateral.set_value(pyo.quicksum(losses))


def _fix_heavy(m: Any, instance: Instance, limit: Number) -> None:
    """Fix jobs heavier than a limit as running, and their base servers as kept."""
    import pyomo.core as pyo

    light = []
    for job, base in zip(instance.jobs, instance.base_servers, strict=True):
        if base and job.weight > limit:
            m.y[job.id].setub(0)
            for s in base:
                m.x[instance.servers[s].id].setub(0)
        elif base and job.weight:
            light.append(job)
    m.preempted.set_value(pyo.quicksum(float(job.weight) * m.y[job.id] for job in light))
    m.GRANULARITY = m.GRANULARITY | {"preempted": granularity(job.weight for job in light)}

"""Stage one of Synergy-OPT (section 4.1.1) for types of jobs: the cluster as one machine."""

import contextlib
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dlsched.errors import SolverFailure
from dlsched.problems.sensitivity.definition.schema import Choice, Instance
from dlsched.problems.sensitivity.structures.scaled_units import CapacityRow, pooled_rows
from dlsched.results.objective import SOLVER_PRECISION, Bound
from dlsched.run import Run
from dlsched.schema import Id, granularity
from dlsched.solvers import highs
from dlsched.solvers.certificate import dual_bound, round_to_granularity
from dlsched.solvers.standard_form import StandardForm


def pooled_program(instance: Instance) -> tuple[StandardForm, Sequence[tuple[Id, Choice]]]:
    """Return the integer program of the largest throughput on pooled servers, and its columns.

    Jobs of one profile are one type; a column is how many of them have an undominated choice.
    """
    from scipy import sparse

    counts = Counter(job.profile for job in instance.jobs)
    options = [(name, c) for name in counts for c in instance.undominated[name]]
    throughputs = [choice.throughput for _, choice in options]
    resources = pooled_rows(instance, options)
    # The GPUs are binding only where jobs may wait.
    gpus = [float(instance.profiles[profile].gpus) for profile, _ in options]
    resources.append(CapacityRow(gpus, float(instance.servers.count * instance.servers.gpus)))
    jobs = [[float(profile == name) for profile, _ in options] for name in counts]
    number = np.array(list(counts.values()), dtype=float)
    form = StandardForm.of(
        sparse.csc_array(jobs + [row.sizes for row in resources]),
        np.append(0 * number if instance.may_wait else number, [-np.inf] * len(resources)),
        np.append(number, [row.limit for row in resources]),
        np.array([float(counts[profile]) for profile, _ in options]),
        np.array(list(map(float, throughputs))),
        sense="max",
        granularity=granularity(throughputs),
    )
    return form, options


def ideal_allocation(instance: Instance, run: Run) -> dict[Id, Choice]:
    """Return the choice of each job in an optimum of stage one; a job that waits is absent.

    It is a bound and no solution: servers need not have room for these choices. Of jobs of one
    profile the first in the instance's order get the choices with the largest throughput **(D)**.
    """
    if not instance.jobs:
        return {}
    form, options = pooled_program(instance)
    outcome = highs.solve(form, 0, run, quiet=True)
    if outcome.values is None:
        raise SolverFailure(f"HiGHS ended stage one with {outcome.termination}")
    chosen: dict[Id, list[Choice]] = {}
    for (profile, choice), often in zip(options, np.rint(outcome.values).tolist(), strict=True):
        chosen.setdefault(profile, []).extend([choice] * int(often))
    queues = {name: sorted(choices, key=Choice.rank) for name, choices in chosen.items()}
    return {job.id: queues[job.profile].pop() for job in instance.jobs if queues[job.profile]}


def split_bound(instance: Instance) -> Bound:
    """Return the bound on split jobs: those with more GPUs than a server, unless jobs may wait."""
    larger = sum(instance.profile(job).gpus > instance.servers.gpus for job in instance.jobs)
    forced = 0 if instance.may_wait else larger
    return Bound(forced, "certified", "jobs larger than a server")


def pooled_bounds(instance: Instance, run: Run) -> list[Bound]:
    """Return the bounds on the throughput with pooled servers; see `pooled`."""
    how = "duals of the pooled cluster's LP"
    if not instance.jobs:
        return [Bound(0, "certified", how)]
    form, options = pooled_program(instance)
    step = form.granularities[0]
    duals = None
    with contextlib.suppress(SolverFailure):
        duals = highs.solve(form, 0, run, relax=True).duals
    certified = dual_bound(form, 0, np.zeros(form.shape[0]) if duals is None else duals)
    bounds = []
    if certified is not None:
        bounds.append(Bound(round_to_granularity(certified, step, "max"), "certified", how))
    bound = None
    with contextlib.suppress(SolverFailure):
        bound = highs.solve(form, 0, run, quiet=True).bound
    if bound is not None:
        # Plus the solver's tolerance, which is one of sums with the largest throughput where jobs
        # cannot have that.
        largest = max(bound, *(float(choice.throughput) for _, choice in options))
        claimed = Fraction(bound) + Fraction(SOLVER_PRECISION * largest)
        value = round_to_granularity(claimed, step, "max")
        bounds.append(Bound(value, "claimed", "highs on the pooled cluster"))
    return bounds

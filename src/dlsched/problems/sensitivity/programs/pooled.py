"""Stage one of Synergy-OPT (section 4.1.1) for types of jobs: the cluster as one machine."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

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

_ROUNDING = 1e-6
"""What a solver's value may be below a whole number that it stands for."""


class TypeChoice(NamedTuple):
    """A column of the pooled program: jobs of a profile with a choice."""

    profile: Id
    choice: Choice


def pooled_program(instance: Instance) -> tuple[StandardForm, Sequence[TypeChoice]]:
    """Return the integer program of the largest throughput on pooled servers, and its columns.

    Jobs of one profile are one type; a column is how many of them have an undominated choice.
    """
    from scipy import sparse

    counts = Counter(job.profile for job in instance.jobs)
    options = [TypeChoice(name, c) for name in counts for c in instance.undominated[name]]
    throughputs = [option.choice.throughput for option in options]
    resources = pooled_rows(instance, options)
    # The GPUs are binding only where jobs may wait.
    gpus = [float(instance.profiles[option.profile].gpus) for option in options]
    resources.append(CapacityRow(gpus, float(instance.servers.count * instance.servers.gpus)))
    jobs = [[float(option.profile == name) for option in options] for name in counts]
    number = np.array(list(counts.values()), dtype=float)
    form = StandardForm.of(
        sparse.csc_array(jobs + [row.sizes for row in resources]),
        np.append(0 * number if instance.may_wait else number, [-np.inf] * len(resources)),
        np.append(number, [row.limit for row in resources]),
        np.array([float(counts[option.profile]) for option in options]),
        np.array(list(map(float, throughputs))),
        sense="max",
        granularity=granularity(throughputs),
    )
    return form, options


def ideal_allocation(instance: Instance, run: Run) -> dict[Id, Choice]:
    """Return the choice of each job in an optimum of stage one; a job that waits is absent.

    It is a bound and no solution: servers need not have room for these choices. Of jobs of one
    profile the first in the instance's order get the choices with the largest throughput **(D)**.

    Raises
    ------
    SolverFailure
        If HiGHS finds no optimum.
    """
    if not instance.jobs:
        return {}
    form, options = pooled_program(instance)
    outcome = highs.solve(form, 0, run, quiet=True)
    if outcome.values is None:
        raise SolverFailure(f"HiGHS ended stage one with {outcome.termination}")
    chosen: dict[Id, list[Choice]] = {}
    for option, often in zip(options, np.rint(outcome.values).tolist(), strict=True):
        chosen.setdefault(option.profile, []).extend([option.choice] * int(often))
    return _choice_of_job(instance, chosen)


def _choice_of_job(
    instance: Instance, of_profile: Mapping[Id, Sequence[Choice]]
) -> dict[Id, Choice]:
    """Return the choice of each job as long as there are any: the first jobs get the fastest."""
    queues = {name: sorted(choices, key=Choice.rank) for name, choices in of_profile.items()}
    return {job.id: queues[job.profile].pop() for job in instance.jobs if queues[job.profile]}


class Targets(NamedTuple):
    """What jobs would get on pooled servers, about.

    Attributes
    ----------
    choices
        The choice of each job; a job that would wait is absent.
    weights
        Prices of all CPUs and of all memory of the cluster, of sum 1: how scarce each is.
    """

    choices: dict[Id, Choice]
    weights: tuple[float, float]


def pooled_targets(instance: Instance, run: Run) -> Targets | None:
    """Return rounded choices of the relaxation of stage one; ``None`` if HiGHS ended without one.

    The jobs of a profile that the relaxation gives a choice to are rounded down, and those left
    over get the choices with the largest remainders. So the choices may exceed the cluster.
    """
    if not instance.jobs:
        return Targets({}, (0.5, 0.5))
    form, options = pooled_program(instance)
    try:
        outcome = highs.solve(form, 0, run, relax=True)
    except SolverFailure:  # of amounts that are far apart
        return None
    if outcome.values is None or outcome.duals is None:
        return None
    amounts: dict[Id, dict[Choice, float]] = {}
    for option, amount in zip(options, outcome.values.tolist(), strict=True):
        amounts.setdefault(option.profile, {})[option.choice] = amount
    chosen = {name: _rounded(of_choice) for name, of_choice in amounts.items()}
    prices = np.abs(outcome.duals[-3:-1] * form.row_upper[-3:-1])
    weights = prices / prices.sum() if prices.sum() > 0 else np.full(2, 0.5)
    return Targets(_choice_of_job(instance, chosen), (float(weights[0]), float(weights[1])))


def _rounded(amounts: Mapping[Choice, float]) -> list[Choice]:
    """Return choices as often as in the amounts, rounded down; then those of largest remainder."""
    whole = {choice: int(amount + _ROUNDING) for choice, amount in amounts.items()}
    chosen = [choice for choice, count in whole.items() for _ in range(count)]
    missing = max(0, round(sum(amounts.values())) - len(chosen))
    by_remainder = sorted(amounts, key=lambda choice: whole[choice] - amounts[choice])
    return chosen + by_remainder[:missing]


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
        largest = max(bound, *(float(option.choice.throughput) for option in options))
        claimed = Fraction(bound) + Fraction(SOLVER_PRECISION * largest)
        value = round_to_granularity(claimed, step, "max")
        bounds.append(Bound(value, "claimed", "highs on the pooled cluster"))
    return bounds

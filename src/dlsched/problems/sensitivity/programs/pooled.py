"""Stage one of Synergy-OPT (section 4.1.1) for types of jobs: the cluster as one machine."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np

from dlsched.errors import SolverFailure
from dlsched.problems.sensitivity.definition.schema import Choice, Instance
from dlsched.problems.sensitivity.structures.scaled_units import capacity_row
from dlsched.results.objective import SOLVER_PRECISION, Bound
from dlsched.run import Run
from dlsched.schema import Id, granularity
from dlsched.solvers import highs
from dlsched.solvers.certificate import dual_bound, round_to_granularity
from dlsched.solvers.standard_form import StandardForm

_ROUNDING = 1e-6
Options: TypeAlias = Sequence[tuple[Id, Choice]]
"""Profile and choice of each column."""


def pooled_program(instance: Instance) -> tuple[StandardForm, Options]:
    """Return the integer program of the largest throughput on pooled servers, and its columns.

    Jobs of one profile are one type; a column is how many of them have an undominated choice.
    """
    from scipy import sparse

    counts = Counter(job.profile for job in instance.jobs)
    options = [(p, c) for p in counts for c in instance.undominated[p]]
    rows = {name: i for i, name in enumerate(counts)}
    servers, n = instance.servers, instance.servers.count
    gpus = [instance.profiles[p].gpus for p, _ in options]
    pairs = list(zip(gpus, (c for _, c in options), strict=True))
    cpus = capacity_row(n * servers.cpus, [g * c.cpus for g, c in pairs])
    memory = capacity_row(n * servers.memory, [g * c.memory for g, c in pairs])
    A = np.zeros((len(rows) + 3, len(options)))
    for j, (p, _) in enumerate(options):
        A[rows[p], j] = 1
    A[-3:] = cpus.sizes, memory.sizes, gpus
    limits = [cpus.limit, memory.limit]
    limits.append(float(n * servers.gpus))  # binding only where jobs may wait
    number = np.array(list(counts.values()), dtype=float)
    form = StandardForm.of(
        sparse.csc_array(A),
        np.append(0 * number if instance.may_wait else number, [-np.inf] * 3),
        np.append(number, limits),
        np.array([float(counts[p]) for p, _ in options]),
        np.array([float(c.throughput) for _, c in options]),
        sense="max",
        granularity=granularity(c.throughput for _, c in options),
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
    taken: dict[Id, list[Choice]] = {}
    for (profile, choice), often in zip(options, np.rint(outcome.values).tolist(), strict=True):
        taken.setdefault(profile, []).extend([choice] * int(often))
    for choices in taken.values():
        choices.sort(key=lambda c: (c.throughput, -c.cpus, -c.memory))
    return {job.id: taken[job.profile].pop() for job in instance.jobs if taken[job.profile]}


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
    taken: dict[Id, list[Choice]] = {}
    shares: dict[Id, list[tuple[float, int, Choice]]] = {}
    for k, ((profile, choice), x) in enumerate(zip(options, outcome.values.tolist(), strict=True)):
        shares.setdefault(profile, []).append((x, k, choice))
    for profile, parts in shares.items():
        total = round(sum(x for x, _, _ in parts))
        whole = [(choice, int(x + _ROUNDING)) for x, _, choice in parts]
        chosen = [choice for choice, count in whole for _ in range(count)]
        rest = sorted(parts, key=lambda part: (int(part[0] + _ROUNDING) - part[0], part[1]))
        chosen += [choice for _, _, choice in rest[: max(0, total - len(chosen))]]
        taken[profile] = sorted(chosen, key=lambda c: (c.throughput, -c.cpus, -c.memory))
    choices = {job.id: taken[job.profile].pop() for job in instance.jobs if taken[job.profile]}
    prices = np.abs(outcome.duals[-3:-1] * form.row_upper[-3:-1])
    weights = prices / prices.sum() if prices.sum() > 0 else np.full(2, 0.5)
    return Targets(choices, (float(weights[0]), float(weights[1])))


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
    step = granularity(c.throughput for _, c in options)
    duals, outcome = np.zeros(form.shape[0]), None
    with contextlib.suppress(SolverFailure):
        relaxed = highs.solve(form, 0, run, relax=True)
        duals = duals if relaxed.duals is None else relaxed.duals
    certified = dual_bound(form, 0, duals)
    bounds = []
    if certified is not None:
        bounds.append(Bound(round_to_granularity(certified, step, "max"), "certified", how))
    with contextlib.suppress(SolverFailure):
        outcome = highs.solve(form, 0, run, quiet=True)
    if outcome is not None and outcome.bound is not None:
        # Plus the solver's tolerance, which is one of sums with the largest throughput where jobs
        # cannot have that.
        largest = max(outcome.bound, *(float(choice.throughput) for _, choice in options))
        claimed = Fraction(outcome.bound) + Fraction(SOLVER_PRECISION * largest)
        value = round_to_granularity(claimed, step, "max")
        bounds.append(Bound(value, "claimed", "highs on the pooled cluster"))
    return bounds

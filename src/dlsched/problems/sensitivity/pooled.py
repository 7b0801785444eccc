"""Synergy's stage one on all servers' CPUs and memory together, jobs of a profile as one type."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy import sparse

from dlsched.objective import SOLVER_PRECISION
from dlsched.problems.sensitivity.schema import Instance
from dlsched.problems.sensitivity.units import row_unit
from dlsched.run import Run
from dlsched.schema import Number, granularity
from dlsched.solvers.certificate import dual_bound, round_to_granularity
from dlsched.solvers.standard_form import StandardForm


def solve_pooled(instance: Instance, run: Run) -> tuple[Number, Number | None]:
    """Return the certified bound on the throughput, and the integer optimum if it was found."""
    from dlsched.solvers import highs

    counts: dict[str, int] = {}
    for job in instance.jobs:
        counts[job.profile] = counts.get(job.profile, 0) + 1
    if not counts:
        return 0, 0
    options = [(p, c) for p in counts for c in instance.undominated[p]]
    step = granularity(c.throughput for _, c in options) or Fraction(1)
    rows = {name: i for i, name in enumerate(counts)}
    gpus = [instance.profiles[p].gpus for p, _ in options]
    servers = instance.servers
    units = (
        row_unit(servers.count * servers.cpus, [c.cpus for _, c in options]),
        row_unit(servers.count * servers.memory, [c.memory for _, c in options]),
    )
    # Every job is placed, unless it may wait: then the GPUs may not be enough for all.
    A = np.zeros((len(rows) + 3, len(options)))
    for j, (p, c) in enumerate(options):
        A[rows[p], j] = 1
        A[len(rows), j] = float(gpus[j] * Fraction(c.cpus) / units[0])
        A[len(rows) + 1, j] = float(gpus[j] * Fraction(c.memory) / units[1])
        A[len(rows) + 2, j] = gpus[j]
    number = np.array(list(counts.values()), dtype=float)
    limits = [
        float(servers.count * Fraction(servers.cpus) / units[0]),
        float(servers.count * Fraction(servers.memory) / units[1]),
        float(servers.count * servers.gpus),
    ]
    form = StandardForm.of(
        sparse.csc_array(A),
        np.append(0 * number if instance.may_wait else number, [-np.inf] * 3),
        np.append(number, limits),
        np.array([float(counts[p]) for p, _ in options]),
        np.array([float(c.throughput) for _, c in options]),
        sense="max",
        granularity=step,
    )
    relaxed = highs.solve(form, 0, run, relax=True)
    duals = relaxed.duals if relaxed.duals is not None else np.zeros(len(A))
    certified = dual_bound(form, 0, duals)
    assert certified is not None
    claimed: Number | None = None
    outcome = highs.solve(form, 0, run, quiet=True)
    if outcome.bound is not None:
        # With the solver's tolerance; on a grid that is finer still nothing is rounded.
        slack = Fraction(SOLVER_PRECISION * abs(outcome.bound))
        claimed = Fraction(outcome.bound) + slack
        if step > 2 * slack:
            claimed = round_to_granularity(claimed, step, "max")
    return round_to_granularity(certified, step, "max"), claimed

"""The master problem in matrix form: rows and columns for the solvers, and the integer program."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dlsched.problems.sensitivity.programs.lagrangian import Cutoff
from dlsched.problems.sensitivity.programs.pattern_program import TOLERANCE, Program
from dlsched.problems.sensitivity.structures.scaled_units import CapacityRow, capacity_row
from dlsched.problems.sensitivity.structures.server_patterns import Pattern
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.outcome import Outcome, Vector
from dlsched.solvers.standard_form import StandardForm

_NEAR = 4
"""Difference to a point near which solutions are sought."""
_TO_A_TARGET = {"mip_heuristic_run_feasibility_jump": False}
"""Options of HiGHS with a target, which feasibility jump did not reach and took a sixth of the time
for."""


def standard_form(program: Program, floor: int | None = None, pooled: bool = False) -> StandardForm:
    """Return the program over the patterns known; with a floor it minimises the split jobs.

    Columns: options, conversions, patterns. Rows: jobs of each profile, items of each kind,
    servers, the floor on the throughput, and if `pooled` the CPUs and memory of all servers,
    which the patterns imply: solvers derive cuts from them.
    """
    from scipy import sparse

    profiles = {name: i for i, name in enumerate(program.counts)}
    n, kinds = len(program.options), len(program.items)
    k = len(program.conversions) + len(program.patterns)
    rows: list[int] = []
    columns: list[int] = []
    entries: list[float] = []
    for c, option in enumerate(program.options):
        rows += [profiles[option.profile], len(profiles) + option.item]
        columns += [c, c]
        entries += [1, option.amount]
    for c, (source, target, amount) in enumerate(program.conversions):
        rows += [len(profiles) + source, len(profiles) + target]
        columns += [n + c, n + c]
        entries += [1, -amount]
    first = n + len(program.conversions)
    for p, pattern in enumerate(program.patterns):
        at, supplied = pattern_column(program, pattern)
        rows += at
        columns += [first + p] * len(at)
        entries += supplied
    servers = len(profiles) + kinds
    count = np.array(list(program.counts.values()), dtype=float)
    extra = []
    if floor is not None:
        scale = program.floor_scale
        rows += [servers + 1] * n
        columns += range(n)
        entries += (program.costs * scale).tolist()
        extra = [float(floor / program.unit) * scale]
    height = servers + 1 + len(extra)
    limits: list[float] = []
    if pooled:
        for amounts, most in pooled_rows(program):
            rows += [height + len(limits)] * n
            columns += range(n)
            entries += amounts
            limits.append(most)
    height += len(limits)
    A = sparse.csc_array(
        sparse.coo_array((np.array(entries, dtype=float), (rows, columns)), shape=(height, n + k))
    )
    infinite = np.full(kinds + 1, -np.inf)
    upper = np.array([program.counts[o.profile] for o in program.options], dtype=float)
    limit = float(program.instance.servers.count)
    moved = np.full(len(program.conversions), limit * program.instance.servers.gpus)
    costs = program.costs if floor is None else np.array([float(o.split) for o in program.options])
    return StandardForm.of(
        A,
        np.concatenate([program.least_jobs * count, infinite, extra, [-np.inf] * len(limits)]),
        np.concatenate([count, np.zeros(kinds), [limit], [np.inf] * len(extra), limits]),
        np.concatenate([upper, moved, np.full(len(program.patterns), limit)]),
        np.concatenate([costs, np.zeros(k)]),
        sense="max" if floor is None else "min",
        granularity=Fraction(floor is not None or (program.unit == 1 and not program.penalty)),
    )


def pattern_column(program: Program, pattern: Pattern) -> tuple[list[int], list[float]]:
    """Return the rows and entries of a pattern's column."""
    first = len(program.counts)
    used = [i for i, count in enumerate(pattern) if count]
    rows = [first + i for i in used] + [first + len(program.items)]
    return rows, [*(-float(pattern[i]) for i in used), 1.0]


def integer(
    program: Program,
    run: Run,
    floor: int | None = None,
    cutoffs: Sequence[Cutoff] = (),
    nodes: int | None = None,
    target: float | None = None,
    near: Vector | None = None,
) -> Outcome:
    """Solve the integer program over the patterns known, with a limit on the nodes.

    It ends with an objective of at least `target`, too, in the units of ``costs``. With `near`,
    a point of the relaxation, each pattern is used at most `_NEAR` times more or less often
    than there: solutions as good are found in less time on large clusters.
    Options that solutions from the cutoffs on cannot use are fixed at 0.
    """
    form = standard_form(program, floor, pooled=True)
    if near is not None:
        first = len(near) - len(program.patterns)
        form.lower[first:] = np.maximum(np.floor(near[first:] + TOLERANCE) - _NEAR, 0.0)
        form.upper[first:] = np.ceil(near[first:] - TOLERANCE) + _NEAR
    for cutoff in cutoffs:
        out = [
            cutoff.largest[option.profile] - left > cutoff.allowance
            for option, left in zip(program.options, cutoff.surplus, strict=True)
        ]
        form.upper[: len(out)][np.array(out)] = 0.0
    options = None if target is None else _TO_A_TARGET
    return highs.solve(form, 0, run, quiet=True, nodes=nodes, target=target, options=options)


def pooled_rows(program: Program) -> list[CapacityRow]:
    """Return the CPUs of each option with those of all servers, and the same of memory."""
    servers, profiles = program.instance.servers, program.instance.profiles
    return [
        capacity_row(
            servers.count * getattr(servers, name),
            [profiles[o.profile].gpus * getattr(o.choice, name) for o in program.options],
        )
        for name in ("cpus", "memory")
    ]

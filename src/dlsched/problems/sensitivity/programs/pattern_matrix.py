"""The master problem in matrix form: rows and columns for the solvers, and the integer program."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dlsched.problems.sensitivity.programs.pattern_program import Cutoff, Program
from dlsched.problems.sensitivity.structures.scaled_units import capacity_row, pooled_rows
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.outcome import Outcome, Vector
from dlsched.solvers.standard_form import INF, StandardForm

if TYPE_CHECKING:
    from scipy import sparse

_OVER_PATTERNS = {"mip_heuristic_run_feasibility_jump": False}
"""Options of HiGHS: feasibility jump takes a sixth of the time and finds little."""
_OVER_SERVERS = _OVER_PATTERNS | {"mip_heuristic_run_rins": False, "mip_heuristic_run_rens": False}
"""Without searches in smaller programs 22 programs of 4 servers take 29 % less time, 24 of 8 30 %;
of those over patterns single ones take longer."""


class Supply(NamedTuple):
    """The columns that supply the items of the options, with rows of their own."""

    items: sparse.csc_array
    """Items of each kind that a column supplies."""
    rows: sparse.csc_array
    """What columns take of the servers; `limits` is what there is."""
    limits: Vector
    upper: Vector
    """The columns' upper limits."""


def pattern_supply(program: Program) -> Supply:
    """Return the conversions and the patterns known; these take one server each."""
    from scipy import sparse

    kinds = len(program.items)
    converted = np.zeros((kinds, len(program.conversions)))
    for column, (source, target, amount) in enumerate(program.conversions):
        converted[source, column] = -1
        converted[target, column] = amount
    shape = (len(program.patterns), kinds)
    patterns = np.array(list(program.patterns), dtype=float).reshape(shape).T
    servers = float(program.instance.servers.count)
    moves = np.full(converted.shape[1], servers * program.instance.servers.gpus)
    uses = np.full(patterns.shape[1], servers)
    return Supply(
        items=sparse.csc_array(np.hstack([converted, patterns])),
        rows=sparse.csc_array(np.append(np.zeros(len(moves)), np.ones(len(uses)))[None, :]),
        limits=np.array([servers]),
        upper=np.append(moves, uses),
    )


def server_supply(program: Program) -> Supply:
    """Return the items of each kind on the first server, on the second, and so on.

    The rows are the GPUs, CPUs and memory of each server, in place of patterns. It is for few
    servers: where profiles have many choices, patterns are many more than the kinds of items.
    """
    from scipy import sparse

    servers = program.instance.servers
    items = program.items
    of_server = [
        capacity_row(servers.gpus, [item.gpus for item in items]),
        capacity_row(servers.cpus, [item.gpus * item.cpus for item in items]),
        capacity_row(servers.memory, [item.gpus * item.memory for item in items]),
    ]
    sizes = np.array([row.sizes for row in of_server])
    most = [float(servers.gpus // item.gpus) for item in items]
    return Supply(
        items=sparse.csc_array(np.tile(np.eye(len(items)), servers.count)),
        rows=sparse.csc_array(sparse.kron(sparse.eye_array(servers.count), sizes)),
        limits=np.tile([row.limit for row in of_server], servers.count),
        upper=np.tile(most, servers.count),
    )


def standard_form(
    program: Program, supply: Supply, floor: int | None = None, pooled: bool = False
) -> StandardForm:
    """Return the program over the supply; with a floor it minimises the split jobs.

    Columns: options, then those of the supply. Rows: jobs of each profile, items of each kind,
    those of the supply, the floor on the throughput, and if `pooled` the CPUs and memory of all
    servers, which the others imply: solvers derive cuts from them.
    """
    from scipy import sparse

    options = program.options
    profiles = {name: i for i, name in enumerate(program.counts)}
    jobs = np.zeros((len(profiles), len(options)))
    needed = np.zeros((len(program.items), len(options)))
    for column, option in enumerate(options):
        jobs[profiles[option.profile], column] = 1
        needed[option.item, column] = option.amount
    count = np.array(list(program.counts.values()), dtype=float)
    extra_rows: list[Sequence[float]] = []
    lower = [program.least_jobs * count, np.full(len(needed) + len(supply.limits), -INF)]
    upper = [count, np.zeros(len(needed)), supply.limits]
    costs = program.costs
    if floor is not None:
        scale = program.floor_scale
        extra_rows.append((program.costs * scale).tolist())
        lower.append(np.array([float(floor / program.unit) * scale]))
        upper.append(np.array([INF]))
        costs = np.array([float(option.split) for option in options])
    pairs = [(option.profile, option.choice) for option in options]
    for row in pooled_rows(program.instance, pairs) if pooled else ():
        extra_rows.append(row.sizes)
        lower.append(np.array([-INF]))
        upper.append(np.array([row.limit]))
    blocks: list[list[Any]] = [
        [sparse.csr_array(jobs), None],
        [sparse.csr_array(needed), -supply.items],
        [None, supply.rows],
        [sparse.csr_array(np.reshape(extra_rows, (len(extra_rows), len(options)))), None],
    ]
    return StandardForm.of(
        sparse.csc_array(sparse.block_array(blocks)),
        np.concatenate(lower),
        np.concatenate(upper),
        np.append([float(program.counts[option.profile]) for option in options], supply.upper),
        np.append(costs, np.zeros(len(supply.upper))),
        sense="max" if floor is None else "min",
        granularity=Fraction(floor is not None or (program.unit == 1 and not program.penalty)),
    )


def integer(
    program: Program,
    run: Run,
    floor: int | None = None,
    cutoffs: Sequence[Cutoff] = (),
    nodes: int | None = None,
    target: float | None = None,
) -> Outcome:
    """Solve the integer program over the patterns known, with a limit on the nodes.

    It ends with an objective of at least `target`, too, in the units of ``costs``.
    Options that solutions from the cutoffs on cannot use are fixed at 0.
    """
    form = standard_form(program, pattern_supply(program), floor, pooled=True)
    for cutoff in cutoffs:
        out = [
            cutoff.largest[option.profile] - gain > cutoff.allowance
            for option, gain in zip(program.options, cutoff.surplus, strict=True)
        ]
        form.upper[: len(out)][np.array(out)] = 0.0
    return highs.solve(form, 0, run, quiet=True, nodes=nodes, target=target, options=_OVER_PATTERNS)


def numbered(program: Program, run: Run, floor: int | None = None) -> Outcome:
    """Solve the program with every server; with a floor it minimises the split jobs."""
    form = standard_form(program, server_supply(program), floor, pooled=True)
    return highs.solve(form, 0, run, quiet=True, options=_OVER_SERVERS)

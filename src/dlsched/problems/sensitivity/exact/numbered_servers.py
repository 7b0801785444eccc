"""The program with a number for every server: how many items of each kind are on each.

It has the options of `Program`, and the rows of a server's GPUs, CPUs and memory in place of
patterns. It is for few servers: where profiles have many choices, the patterns of a server are
many more than its kinds of items.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from dlsched.problems.sensitivity.definition.schema import Solution
from dlsched.problems.sensitivity.heuristics.round_patterns import assigned
from dlsched.problems.sensitivity.programs.pattern_matrix import pooled_rows
from dlsched.problems.sensitivity.programs.pattern_program import Program
from dlsched.problems.sensitivity.structures.free_resources import solution_of
from dlsched.problems.sensitivity.structures.scaled_units import CapacityRow, capacity_row
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.outcome import Outcome, Vector
from dlsched.solvers.standard_form import INF, StandardForm

MOST_COLUMNS = 5_000
"""Upper limit of the pairs of server and kind of item."""


def columns(program: Program) -> int:
    """Return the number of pairs of server and kind of item."""
    return program.instance.servers.count * len(program.items)


def numbered_form(program: Program, floor: int | None = None) -> StandardForm:
    """Return the program; with a floor on the throughput it minimises the split jobs.

    Columns: options; then the items of each kind on the first server, on the second, and so on.
    Rows: jobs of each profile, items of each kind, GPUs, CPUs and memory of each server, the CPUs
    and memory of all, which solvers derive cuts from, and the floor.
    """
    from scipy import sparse

    servers, options = program.instance.servers, program.options
    n, kinds = servers.count, len(program.items)
    profiles = {name: i for i, name in enumerate(program.counts)}
    jobs, items = np.zeros((len(profiles), len(options))), np.zeros((kinds, len(options)))
    for c, option in enumerate(options):
        jobs[profiles[option.profile], c] = 1
        items[option.item, c] = option.amount
    pooled = pooled_rows(program)
    totals = np.array([row.sizes for row in pooled])
    of_server = _server_rows(program)
    one_server = np.array([row.sizes for row in of_server])
    every = sparse.kron(np.ones((1, n)), -sparse.eye_array(kinds))
    blocks: list[list[Any]] = [
        [sparse.csr_array(jobs), None],
        [sparse.csr_array(items), every],
        [None, sparse.kron(sparse.eye_array(n), one_server)],
        [sparse.csr_array(totals), None],
    ]
    count = np.array(list(program.counts.values()), dtype=float)
    limits = [row.limit for row in of_server] * n + [row.limit for row in pooled]
    lower = [program.least_jobs * count, np.full(kinds + len(limits), -INF)]
    upper = [count, np.zeros(kinds), np.array(limits)]
    costs = program.costs
    if floor is not None:
        scale = program.floor_scale
        blocks.append([sparse.csr_array(program.costs[None, :] * scale), None])
        lower.append(np.array([float(floor / program.unit) * scale]))
        upper.append(np.array([INF]))
        costs = np.array([float(o.split) for o in options])
    most = np.array([float(servers.gpus // item.gpus) for item in program.items])
    return StandardForm.of(
        sparse.csc_array(sparse.block_array(blocks)),
        np.concatenate(lower),
        np.concatenate(upper),
        np.append([float(program.counts[o.profile]) for o in options], np.tile(most, n)),
        np.append(costs, np.zeros(n * kinds)),
        sense="max" if floor is None else "min",
        granularity=Fraction(floor is not None or (program.unit == 1 and not program.penalty)),
    )


def _server_rows(program: Program) -> list[CapacityRow]:
    """Return the GPUs, CPUs and memory that items take, with those of a server."""
    servers, items = program.instance.servers, program.items
    return [
        capacity_row(servers.gpus, [item.gpus for item in items]),
        capacity_row(servers.cpus, [item.gpus * item.cpus for item in items]),
        capacity_row(servers.memory, [item.gpus * item.memory for item in items]),
    ]


def solve_numbered(program: Program, run: Run, floor: int | None = None) -> Outcome:
    """Solve the program by HiGHS."""
    return highs.solve(numbered_form(program, floor), 0, run, quiet=True)


def solution_of_numbered(program: Program, x: Vector) -> Solution:
    """Return the solution of a point of the program; it may exceed a server's capacity.

    That is so if capacities were rounded for the solver; see `capacity_row`.
    """
    counts = np.rint(x).astype(np.int64).tolist()
    n, kinds = len(program.options), len(program.items)
    held = [tuple(counts[k : k + kinds]) for k in range(n, len(counts), kinds)]
    given = assigned(program, counts[:n], [(pattern, 1) for pattern in held])
    return solution_of(program.instance, given)

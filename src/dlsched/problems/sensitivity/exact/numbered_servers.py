"""The program with a number for every server: how many items of each kind are on each.

It has the options of `Program`, and the rows of a server's GPUs, CPUs and memory in place of
patterns. It is for few servers: where profiles have many choices, the patterns of a server are
many more than its kinds of items.
"""

from __future__ import annotations

import numpy as np

from dlsched.problems.sensitivity.definition.schema import Solution
from dlsched.problems.sensitivity.heuristics.round_patterns import assigned
from dlsched.problems.sensitivity.programs.pattern_matrix import Supply, standard_form
from dlsched.problems.sensitivity.programs.pattern_program import Program
from dlsched.problems.sensitivity.structures.free_resources import solution_of
from dlsched.problems.sensitivity.structures.scaled_units import capacity_row
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.outcome import Outcome, Vector

MOST_COLUMNS = 5_000
"""Upper limit of the pairs of server and kind of item."""


def columns(program: Program) -> int:
    """Return the number of pairs of server and kind of item."""
    return program.instance.servers.count * len(program.items)


def server_supply(program: Program) -> Supply:
    """Return the items of each kind on the first server, on the second, and so on.

    The rows are the GPUs, CPUs and memory of each server.
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


def solve_numbered(program: Program, run: Run, floor: int | None = None) -> Outcome:
    """Solve the program by HiGHS; with a floor on the throughput it minimises the split jobs."""
    form = standard_form(program, server_supply(program), floor, pooled=True)
    return highs.solve(form, 0, run, quiet=True)


def solution_of_numbered(program: Program, x: Vector) -> Solution:
    """Return the solution of a point of the program; it may exceed a server's capacity.

    That is so if capacities were rounded for the solver; see `capacity_row`.
    """
    counts = np.rint(x).astype(np.int64).tolist()
    options = len(program.options)
    kinds = len(program.items)
    servers = [(tuple(counts[k : k + kinds]), 1) for k in range(options, len(counts), kinds)]
    return solution_of(program.instance, assigned(program, counts[:options], servers))

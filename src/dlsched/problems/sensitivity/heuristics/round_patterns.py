"""Solutions from points of the program of choices and patterns: which job gets which server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dlsched.problems.sensitivity.definition.schema import Choice, Solution
from dlsched.problems.sensitivity.programs.pattern_program import Program
from dlsched.problems.sensitivity.structures.free_resources import Placed, solution_of
from dlsched.problems.sensitivity.structures.server_patterns import Pattern
from dlsched.schema import Id
from dlsched.solvers.outcome import Vector


def solution_from(program: Program, x: Vector) -> Solution:
    """Return the solution of `given_by`."""
    return solution_of(program.instance, given_by(program, x))


def solution_of_numbered(program: Program, x: Vector) -> Solution:
    """Return the solution of a point of the program with every server.

    It may exceed a server's capacity if capacities were rounded for the solver; see `capacity_row`.
    """
    counts = np.rint(x).astype(np.int64).tolist()
    options = len(program.options)
    kinds = len(program.items)
    servers = [(tuple(counts[k : k + kinds]), 1) for k in range(options, len(counts), kinds)]
    return solution_of(program.instance, assigned(program, counts[:options], servers))


def given_by(program: Program, x: Vector) -> dict[Id, tuple[Choice, Placed]]:
    """Return the jobs' choices and places with the columns that a point takes.

    Jobs that may be split get their items in descending number, each from the server with the
    fewest that suffice; if none has enough, from those with most.
    """
    counts = [round(value) for value in x.tolist()]
    n = len(program.options)
    first = len(program.options) + len(program.conversions)
    used = list(zip(program.patterns, counts[first:], strict=True))
    return assigned(program, counts[:n], used, counts[n:first])


def assigned(
    program: Program,
    taken: Sequence[int],
    used: Iterable[tuple[Pattern, int]],
    moved: Sequence[int] = (),
) -> dict[Id, tuple[Choice, Placed]]:
    """Return the jobs' choices and places.

    Parameters
    ----------
    taken
        How often each option is.
    used
        Patterns, and the number of servers with each.
    moved
        How often each of the program's conversions is used, if any is.
    """
    supplies = [_Supply(program.server.gpus) for _ in program.items]
    server = 0
    for pattern, often in used:
        if often:
            parts = [(supplies[i], count) for i, count in enumerate(pattern) if count]
            for s in range(server, server + often):
                for supply, count in parts:
                    supply.add(s, count)
            server += often
    for (source, target, amount), often in zip(program.conversions, moved, strict=False):
        for s, count in supplies[source].take(often).items() if often else ():
            supplies[target].add(s, count * amount)
    queues: dict[str, list[str]] = {}
    for job in reversed(program.instance.jobs):
        queues.setdefault(job.profile, []).append(job.id)
    given: dict[Id, tuple[Choice, Placed]] = {}
    for c in sorted(range(len(taken)), key=lambda c: -program.options[c].amount):
        option = program.options[c]
        gpus = program.items[option.item].gpus
        supply = supplies[option.item]
        for _ in range(taken[c]):
            where = supply.take(option.amount)
            placed = {s: count * gpus for s, count in where.items()}
            given[queues[option.profile].pop()] = option.choice, placed
    return given


class _Supply:
    """The items of one kind that there are: servers by how many of them they have left.

    A server to which items were converted may be there more than once.
    """

    def __init__(self, most: int) -> None:
        self.servers: list[list[int]] = [[] for _ in range(most + 1)]

    def add(self, server: int, count: int) -> None:
        """Add a number of items on a server."""
        self.servers[count].append(server)

    def take(self, amount: int) -> dict[int, int]:
        """Take items: from the server with the fewest that suffice, else from those with most."""
        where: dict[int, int] = {}
        most = len(self.servers) - 1
        while amount:
            for count in range(amount, most + 1):
                if self.servers[count]:
                    break
            else:
                count = max(c for c in range(most + 1) if self.servers[c])
            server = self.servers[count].pop()
            moved = min(amount, count)
            where[server] = where.get(server, 0) + moved
            amount -= moved
            if count > moved:
                self.servers[count - moved].append(server)
        return where

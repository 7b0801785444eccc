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
    """Return the solution of the columns that a point takes."""
    counts = [round(value) for value in x.tolist()]
    options = len(program.options)
    patterns = options + len(program.conversions)
    supplies = _supplied(program, zip(program.patterns, counts[patterns:], strict=True))
    conversions = zip(program.conversions, counts[options:patterns], strict=True)
    for (source, target, amount), often in conversions:
        for server, count in supplies[source].take(often).items():
            supplies[target].add(server, count * amount)
    return _solution(program, counts[:options], supplies)


def solution_of_numbered(program: Program, x: Vector) -> Solution:
    """Return the solution of a point of the program with every server.

    It may exceed a server's capacity if capacities were rounded for the solver; see `capacity_row`.
    """
    counts = np.rint(x).astype(np.int64).tolist()
    options = len(program.options)
    kinds = len(program.items)
    servers = [(tuple(counts[k : k + kinds]), 1) for k in range(options, len(counts), kinds)]
    return _solution(program, counts[:options], _supplied(program, servers))


def _supplied(program: Program, used: Iterable[tuple[Pattern, int]]) -> list[_Supply]:
    """Return the items of each kind on servers with these patterns, each so often."""
    supplies = [_Supply(program.server.gpus) for _ in program.items]
    first = 0
    for pattern, often in used:
        if not often:
            continue
        servers = range(first, first + often)
        for i, count in enumerate(pattern):
            if count:
                supplies[i].servers[count].extend(servers)
        first += often
    return supplies


def _solution(program: Program, taken: Sequence[int], supplies: Sequence[_Supply]) -> Solution:
    """Return the solution in which options are taken so often, from these items.

    Jobs that may be split get their items in descending number, each from the server with the
    fewest that suffice; if none has enough, from those with most.
    """
    queues: dict[str, list[str]] = {}
    for job in reversed(program.instance.jobs):
        queues.setdefault(job.profile, []).append(job.id)
    given: dict[Id, tuple[Choice, Placed]] = {}
    for c in sorted(range(len(taken)), key=lambda c: -program.options[c].amount):
        option = program.options[c]
        gpus = program.items[option.item].gpus
        for _ in range(taken[c]):
            servers = supplies[option.item].take(option.amount)
            placed = {server: count * gpus for server, count in servers.items()}
            given[queues[option.profile].pop()] = option.choice, placed
    return solution_of(program.instance, given)


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

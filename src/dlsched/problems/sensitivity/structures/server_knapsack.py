"""The best choices of the jobs on one server: a multiple-choice knapsack with two capacities."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.sensitivity.definition.schema import Choice, Instance, Job, Solution
from dlsched.problems.sensitivity.structures.free_resources import Placed, solution_of
from dlsched.problems.sensitivity.structures.server_patterns import Item, Server, TooManyStates
from dlsched.schema import Id

JobKind: TypeAlias = tuple[Id, int]
"""A profile, and how many GPUs a job of it has on a server."""
Sums: TypeAlias = NDArray[np.float64]
"""Throughput by remaining CPUs and memory, flat; minus infinity without room, as in the last."""


class _Option(NamedTuple):
    """A choice, the kind of item that a job with it is, and a share of the largest throughput."""

    item: int
    choice: Choice
    value: float


class Knapsack:
    """Chooses CPUs and memory of the jobs on a server, of the largest sum of throughput.

    By dynamic programming over the jobs; the states are the remaining CPUs and memory, of which
    only the amounts that sums of choices leave are kept. Sums of the first jobs are remembered, so
    that servers with similar jobs share most of the work. Exact, but for the rounding of sums of
    throughput to 53 bits. It is for `kinds` of jobs; their choices may have too many different
    sums of CPUs or memory, which raises `TooManyStates`.
    """

    def __init__(self, instance: Instance, kinds: Sequence[JobKind]) -> None:
        self.instance = instance
        index: dict[Item, int] = {}
        self.options: dict[JobKind, list[_Option]] = {}
        throughputs = [c.throughput for name, _ in kinds for c in instance.undominated[name]]
        top = max(map(Fraction, throughputs), default=Fraction(1))
        for name, gpus in kinds:
            options = self.options.setdefault((name, gpus), [])
            for choice in instance.undominated[name]:
                item = index.setdefault(Item(gpus, choice.cpus, choice.memory), len(index))
                options.append(_Option(item, choice, float(choice.throughput / top)))
        self.server = Server(instance.servers, list(index))
        rows, columns = self.server.shape
        empty = np.zeros(rows * columns + 1)
        empty[-1] = -np.inf
        self.known: dict[tuple[JobKind, ...], Sums] = {(): empty}

    def solve(self, kinds: Sequence[JobKind], used: Sequence[Item] = ()) -> list[Choice]:
        """Return the choices of the jobs on one server, in their order, beside items in use.

        They exist if the GPUs suffice and what is in use is within the proportional share.
        """
        order = sorted(range(len(kinds)), key=lambda k: kinds[k])
        path = tuple(kinds[k] for k in order)
        state = len(self.known[()]) - 2
        for other in used:
            state = int(self.server.lead(self.server.items.index(other))[state])
        self._sums(path)
        chosen: dict[int, Choice] = {}
        for k in range(len(path), 0, -1):
            before = self.known[path[: k - 1]]
            best = self.known[path[:k]][state]
            for option in self.options[path[k - 1]]:
                rest = int(self.server.lead(option.item)[state])
                if before[rest] + option.value == best:
                    chosen[order[k - 1]] = option.choice
                    state = rest
                    break
        return [chosen[k] for k in sorted(chosen)]

    def _sums(self, path: tuple[JobKind, ...]) -> Sums:
        """Return the largest throughput of these jobs by remaining CPUs and memory."""
        if path not in self.known:
            before = self._sums(path[:-1])
            options = self.options[path[-1]]
            sums = [before[self.server.lead(option.item)] + option.value for option in options]
            self.known[path] = np.append(np.maximum.reduce(sums), -np.inf)
        return self.known[path]


def improved(instance: Instance, solution: Solution) -> Solution:
    """Return the solution of the same places with the best choices, by a knapsack on each server.

    Jobs on several servers get a choice that takes no more than theirs, and is no slower; so do
    all jobs where choices have too many different sums of CPUs or memory.
    """
    given: dict[Id, tuple[Choice, Placed]] = {}
    hosts: list[list[Job]] = [[] for _ in range(instance.servers.count)]
    for job in instance.jobs:
        held = solution.allocation.get(job.id)
        if held is not None:
            choice = instance.replacement(job.profile, held.cpus, held.memory)
            given[job.id] = choice, {int(server): gpus for server, gpus in held.gpus.items()}
            for server in given[job.id][1]:
                hosts[server].append(job)
    kinds = {(job.profile, given[job.id][1][s]) for s, jobs in enumerate(hosts) for job in jobs}
    with contextlib.suppress(TooManyStates):
        knapsack = Knapsack(instance, sorted(kinds))
        for s, jobs in enumerate(hosts):
            _improve(knapsack, given, s, jobs)
    return solution_of(instance, given)


def _improve(
    knapsack: Knapsack, given: dict[Id, tuple[Choice, Placed]], server: int, jobs: Sequence[Job]
) -> None:
    """Give the jobs that are on this server alone the best choices."""
    whole = [job for job in jobs if len(given[job.id][1]) == 1]
    used = []
    for job in jobs:
        choice, placed = given[job.id]
        if len(placed) > 1:
            used.append(Item(placed[server], choice.cpus, choice.memory))
    kinds = [(job.profile, given[job.id][1][server]) for job in whole]
    for job, best in zip(whole, knapsack.solve(kinds, used), strict=True):
        given[job.id] = best, given[job.id][1]


def least_choices(instance: Instance) -> Mapping[Id, Choice]:
    """Return for each profile the fastest choice within the proportional share, of these the least.

    Jobs with these choices fit wherever their GPUs do.
    """
    cpus, memory = instance.servers.proportional
    return {
        name: max((c for c in choices if c.cpus <= cpus and c.memory <= memory), key=Choice.rank)
        for name, choices in instance.undominated.items()
    }

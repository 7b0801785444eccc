"""The best choices of the jobs on one server: a multiple-choice knapsack with two capacities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.sensitivity.definition.schema import Choice, Instance, Job
from dlsched.problems.sensitivity.structures.free_resources import Placed
from dlsched.problems.sensitivity.structures.server_patterns import Item, Server
from dlsched.schema import Id

Part: TypeAlias = tuple[Id, int]
"""A profile, and how many GPUs a job of it has on a server."""
Sums: TypeAlias = NDArray[np.float64]
"""Throughput by remaining CPUs and memory, flat; minus infinity where the jobs do not fit."""


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
    throughput to 53 bits.

    Parameters
    ----------
    parts
        Every part that will be on a server.

    Raises
    ------
    TooManyStates
        If choices have too many different sums of CPUs or memory.
    """

    def __init__(self, instance: Instance, parts: Sequence[Part]) -> None:
        self.instance = instance
        index: dict[Item, int] = {}
        self.options: dict[Part, list[_Option]] = {}
        throughputs = [c.throughput for name, _ in parts for c in instance.undominated[name]]
        top = max(map(Fraction, throughputs), default=Fraction(1))
        for name, gpus in parts:
            options = self.options.setdefault((name, gpus), [])
            for choice in instance.undominated[name]:
                item = index.setdefault(Item(gpus, choice.cpus, choice.memory), len(index))
                options.append(_Option(item, choice, float(choice.throughput / top)))
        self.server = Server(instance.servers, list(index))
        rows, columns = self.server.shape
        self.after: list[NDArray[np.intp]] = []
        for cpus, memory in self.server.after:
            flat = cpus[:, None] * columns + memory[None, :]
            # A state beyond the last, of value minus infinity, stands for "does not fit".
            flat[(cpus < 0)[:, None] | (memory < 0)[None, :]] = rows * columns
            self.after.append(np.append(flat.ravel(), rows * columns).astype(np.intp))
        empty = np.zeros(rows * columns + 1)
        empty[-1] = -np.inf
        self.known: dict[tuple[Part, ...], Sums] = {(): empty}

    def solve(self, parts: Sequence[Part], used: Sequence[Item] = ()) -> list[Choice]:
        """Return the choices of the jobs on one server, in their order.

        They exist if the GPUs suffice and what is in use is within the proportional share.

        Parameters
        ----------
        used
            What else is on the server, items of the parts that were announced.
        """
        order = sorted(range(len(parts)), key=lambda k: parts[k])
        path = tuple(parts[k] for k in order)
        state = len(self.known[()]) - 2
        for other in used:
            state = int(self.after[self.server.items.index(other)][state])
        self._sums(path)
        chosen: dict[int, Choice] = {}
        for k in range(len(path), 0, -1):
            before = self.known[path[: k - 1]]
            best = self.known[path[:k]][state]
            for option in self.options[path[k - 1]]:
                rest = int(self.after[option.item][state])
                if before[rest] + option.value == best:
                    chosen[order[k - 1]] = option.choice
                    state = rest
                    break
        return [chosen[k] for k in sorted(chosen)]

    def _sums(self, path: tuple[Part, ...]) -> Sums:
        """Return the largest throughput of these jobs by remaining CPUs and memory."""
        if path not in self.known:
            before = self._sums(path[:-1])
            options = self.options[path[-1]]
            sums = [before[self.after[option.item]] + option.value for option in options]
            self.known[path] = np.maximum.reduce(sums)
        return self.known[path]


def best_choices(
    instance: Instance, pairs: Sequence[tuple[Job, Placed]], known: Mapping[Id, Choice]
) -> dict[Id, tuple[Choice, Placed]]:
    """Return the choices and places of placed jobs, by a knapsack on each server.

    Jobs on several servers keep the choice that is known by their id.

    Raises
    ------
    TooManyStates
        If choices have too many different sums of CPUs or memory.
    """
    hosts: list[list[tuple[Job, Placed, Part]]] = [[] for _ in range(instance.servers.count)]
    for job, where in pairs:
        for s, gpus in where.items():
            hosts[s].append((job, where, (job.profile, gpus)))
    knapsack = Knapsack(instance, sorted({part for here in hosts for _, _, part in here}))
    given: dict[Id, tuple[Choice, Placed]] = {}
    for here in hosts:
        whole = [entry for entry in here if len(entry[1]) == 1]
        used = []
        for job, where, (_, gpus) in here:
            if len(where) > 1:
                choice = known[job.id]
                given[job.id] = choice, where
                used.append(Item(gpus, choice.cpus, choice.memory))
        choices = knapsack.solve([part for _, _, part in whole], used)
        given |= {job.id: (c, where) for (job, where, _), c in zip(whole, choices, strict=True)}
    return given


def least_choices(instance: Instance) -> Mapping[Id, Choice]:
    """Return for each profile the fastest choice within the proportional share, of these the least.

    Jobs with these choices fit wherever their GPUs do.
    """
    cpus, memory = instance.servers.proportional
    return {
        name: max((c for c in choices if c.cpus <= cpus and c.memory <= memory), key=Choice.rank)
        for name, choices in instance.undominated.items()
    }

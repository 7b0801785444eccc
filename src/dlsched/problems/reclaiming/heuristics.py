"""Lyra's heuristic for reclaiming (section 4.2), and the rules that the paper compares it with.

All are one greedy loop: take the server of least cost, preempt its jobs, update the servers that
those jobs leave. They differ in what a server's share of a job is, and thus in the cost.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dlsched.problem import method
from dlsched.problems.reclaiming.schema import Instance, Solution


@method("reclaiming", kind="heuristic")
def lyra(instance: Instance, rng: np.random.Generator) -> Solution:
    """Least server preemption cost first: a job counts 1 / (servers that host it) on each.

    Lyra, section 4.2: the cost of a server is the sum over its jobs of the fraction of the job's
    servers that it is. Ties go to the least collateral damage, then to the earlier server in the
    file. Only base workers make a server a host, so a server without them costs 0.
    """
    return _greedy(instance, "lyra", lyra_shares(instance))


@method("reclaiming", kind="baseline")
def gpu_fraction(instance: Instance, rng: np.random.Generator) -> Solution:
    """Cost by GPUs, the definition the paper rejects: a job counts its GPUs here / its GPUs.

    Lyra, section 4.2 and Table 1. GPUs of base and flexible workers count alike.
    """
    return _greedy(instance, "gpu_fraction", gpu_shares(instance))


@method("reclaiming", kind="baseline")
def scf(instance: Instance, rng: np.random.Generator) -> Solution:
    """Smallest job count first: the cost of a server is the number of jobs based on it."""
    return _greedy(instance, "scf", count_shares(instance))


@method("reclaiming", kind="baseline")
def random(instance: Instance, rng: np.random.Generator) -> Solution:
    """Return servers drawn at random."""
    chosen = rng.permutation(len(instance.servers))[: instance.demand]
    return _solution(instance, "random", chosen.tolist())


@dataclass(frozen=True)
class Shares:
    """What job ``j`` adds to the cost of server ``s``: ``parts[j][s] / whole[j]``."""

    parts: list[dict[int, int]]
    whole: list[int]

    def costs(self, servers: int) -> list[Fraction]:
        """Return each server's cost before anything is returned, a column of Table 1."""
        result = [Fraction(0)] * servers
        for parts, whole in zip(self.parts, self.whole, strict=True):
            for s, part in parts.items():
                result[s] += Fraction(part, whole)
        return result


def lyra_shares(instance: Instance) -> Shares:
    """One part of as many as there are servers hosting the job."""
    base = instance.base_servers
    return Shares([dict.fromkeys(b, 1) for b in base], [len(b) for b in base])


def gpu_shares(instance: Instance) -> Shares:
    """The job's GPUs on the server, of all its GPUs."""
    held, base = instance.held, instance.base_servers
    parts = [{s: h[s] for s in b} for h, b in zip(held, base, strict=True)]
    return Shares(parts, [sum(h.values()) for h in held])


def count_shares(instance: Instance) -> Shares:
    """The job as a whole."""
    return Shares([dict.fromkeys(b, 1) for b in instance.base_servers], [1] * len(instance.jobs))


def _solution(instance: Instance, name: str, returned: list[int]) -> Solution:
    return Solution(
        instance=instance.name,
        instance_sha256=instance.sha256,
        method=name,
        returned=tuple(instance.servers[s].id for s in returned),
    )


def _greedy(instance: Instance, name: str, shares: Shares) -> Solution:
    """Take the cheapest server until the demand is met."""
    state = _State(instance, shares)
    order: list[int] = []
    for room in reversed(range(instance.demand)):
        server = state.cheapest(room)
        order.append(server)
        state.take(server)
    return _solution(instance, name, order)


class _State:
    """Costs as integers over a common denominator, and a heap of (cost, collateral, server).

    Collateral damage only breaks ties, so it is measured when a server surfaces, not before: an
    entry starts as (cost, -1, server). ``key`` has each server's valid entry; others are stale.
    """

    def __init__(self, instance: Instance, shares: Shares) -> None:
        self.base, self.held = instance.base_servers, instance.held
        self.parts = shares.parts
        scale = math.lcm(*{whole for whole in shares.whole if whole})
        self.unit = [scale // whole if whole else 0 for whole in shares.whole]
        n = len(instance.servers)
        self.jobs: list[set[int]] = [set() for _ in range(n)]  # with a base worker here
        self.guests: list[list[int]] = [[] for _ in range(n)]  # with flexible workers only
        self.cost = [0] * n
        for j, parts in enumerate(self.parts):
            unit = self.unit[j]
            for s, part in parts.items():
                self.jobs[s].add(j)
                self.cost[s] += part * unit
            for s in self.held[j].keys() - parts.keys():
                self.guests[s].append(j)
        self.taken = [False] * n
        self.vacated: list[tuple[int, list[int]]] = [(0, [])] * n
        self.key = [(cost, -1, s) for s, cost in enumerate(self.cost)]
        self.heap = self.key.copy()
        heapq.heapify(self.heap)

    def cheapest(self, room: int) -> int:
        """Take the cheapest server off the heap; `room` more will be taken after it."""
        while True:
            key = heapq.heappop(self.heap)
            cost, collateral, s = key
            if self.taken[s] or key != self.key[s]:
                continue
            if collateral < 0:
                self.vacated[s] = self.measure(s)
            lasting, idle = self.vacated[s]
            lasting += sum(idle[: max(0, len(idle) - room)])
            if lasting == collateral:
                return s
            self.push((cost, lasting, s))

    def measure(self, s: int) -> tuple[int, list[int]]:
        """Find the GPUs that taking `s` vacates elsewhere: for good, and on servers it empties.

        A server that loses its last base worker this way can be returned next at no cost, so what
        is vacated there is collateral damage only if the demand has no room for it.
        """
        vacated: dict[int, int] = {}
        jobs = self.jobs[s]
        for j in jobs:
            held = self.held[j]
            if len(held) > 1:
                for t, gpus in held.items():
                    if t != s and not self.taken[t]:
                        vacated[t] = vacated.get(t, 0) + gpus
        idle = [gpus for t, gpus in vacated.items() if self.jobs[t] <= jobs]
        return sum(vacated.values()) - sum(idle), sorted(idle)

    def push(self, key: tuple[int, int, int]) -> None:
        """Make this the valid entry of its server."""
        self.key[key[2]] = key
        heapq.heappush(self.heap, key)

    def take(self, server: int) -> None:
        """Return a server: its jobs leave all their servers, and neighbours are measured anew."""
        self.taken[server] = True
        stale: set[int] = set()
        for j in self.guests[server]:
            stale |= self.base[j]
        for j in tuple(self.jobs[server]):
            parts, unit = self.parts[j], self.unit[j]
            for s, part in parts.items():
                self.jobs[s].discard(j)
                self.cost[s] -= part * unit
            if len(parts) > 1:
                stale |= self.base[j]
        for s in stale | {s for t in stale for j in self.jobs[t] for s in self.base[j]}:
            if not self.taken[s]:
                self.push((self.cost[s], -1, s))

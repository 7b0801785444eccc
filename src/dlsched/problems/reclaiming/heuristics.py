"""Lyra's heuristic for reclaiming (section 4.2), and the rules that the paper compares it with.

All are one greedy loop: take the server of least cost, preempt its jobs, update the servers that
those jobs leave. They differ in what a server's share of a job is, and thus in the cost.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dlsched.problem import method
from dlsched.problems.reclaiming.schema import Instance, Solution

Share = Callable[[int, int], Fraction]
"""``share(job, server)``: what the job adds to the cost of a server that hosts a base worker."""


@method("reclaiming", kind="heuristic")
def lyra(instance: Instance, rng: np.random.Generator) -> Solution:
    """Least server preemption cost first: a job counts 1 / (servers that host it) on each.

    Lyra, section 4.2: the cost of a server is the sum over its jobs of the fraction of the job's
    servers that it is. Ties go to the least collateral damage, then to the earlier server in the
    file. Only base workers make a server a host, so a server without them costs 0.
    """
    base = instance.base_servers
    return _solution(instance, "lyra", _greedy(instance, lambda j, s: Fraction(1, len(base[j]))))


@method("reclaiming", kind="baseline")
def gpu_fraction(instance: Instance, rng: np.random.Generator) -> Solution:
    """Cost by GPUs, the definition the paper rejects: a job counts its GPUs here / its GPUs.

    Lyra, section 4.2 and Table 1. GPUs of base and flexible workers count alike.
    """
    held = instance.held
    total = [sum(gpus.values()) for gpus in held]
    return _solution(
        instance, "gpu_fraction", _greedy(instance, lambda j, s: Fraction(held[j][s], total[j]))
    )


@method("reclaiming", kind="baseline")
def scf(instance: Instance, rng: np.random.Generator) -> Solution:
    """Smallest job count first: the cost of a server is the number of jobs based on it."""
    return _solution(instance, "scf", _greedy(instance, lambda j, s: Fraction(1)))


@method("reclaiming", kind="baseline")
def random(instance: Instance, rng: np.random.Generator) -> Solution:
    """Return servers drawn at random."""
    chosen = rng.permutation(len(instance.servers))[: instance.demand]
    return _solution(instance, "random", chosen.tolist())


def costs(instance: Instance, share: Share) -> list[Fraction]:
    """Return each server's cost before anything is returned (a column of the paper's Table 1)."""
    result = [Fraction(0)] * len(instance.servers)
    for j, servers in enumerate(instance.base_servers):
        for s in servers:
            result[s] += share(j, s)
    return result


def _solution(instance: Instance, name: str, returned: list[int]) -> Solution:
    return Solution(
        instance=instance.name,
        instance_sha256=instance.sha256,
        method=name,
        returned=tuple(instance.servers[s].id for s in returned),
    )


def _greedy(instance: Instance, share: Share) -> list[int]:
    """Return the servers in the order in which they are taken."""
    state = _State(instance, share)
    order: list[int] = []
    while len(order) < instance.demand:
        room = instance.demand - len(order) - 1
        server = state.cheapest(room)
        order.append(server)
        state.take(server)
    return order


class _State:
    """Costs as integers over a common denominator, and a heap of (cost, collateral, server).

    A server's entry is stale once its cost or collateral has changed; the current one is kept in
    ``key``, and stale entries are dropped when they surface.
    """

    def __init__(self, instance: Instance, share: Share) -> None:
        self.base, self.held = instance.base_servers, instance.held
        n = len(instance.servers)
        self.jobs: list[set[int]] = [set() for _ in range(n)]
        shares = {}
        for j, servers in enumerate(self.base):
            for s in servers:
                self.jobs[s].add(j)
                shares[j, s] = share(j, s)
        scale = math.lcm(*{f.denominator for f in shares.values()})
        self.share = {js: f.numerator * (scale // f.denominator) for js, f in shares.items()}
        self.cost = [sum(self.share[j, s] for j in self.jobs[s]) for s in range(n)]
        self.taken = [False] * n
        self.idle: list[list[int]] = [[]] * n
        self.lasting = [0] * n
        self.spread: dict[int, None] = {}  # servers whose idle list matters when room gets short
        for s in range(n):
            self.measure(s)
        self.key = [(self.cost[s], self.lasting[s]) for s in range(n)]
        self.heap = [(*self.key[s], s) for s in range(n)]
        heapq.heapify(self.heap)

    def measure(self, s: int) -> None:
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
        idle = sorted(gpus for t, gpus in vacated.items() if self.jobs[t] <= jobs)
        self.idle[s], self.lasting[s] = idle, sum(vacated.values()) - sum(idle)
        if idle:
            self.spread[s] = None
        else:
            self.spread.pop(s, None)

    def push(self, s: int, room: int) -> None:
        """Renew the heap's entry of `s` if it changed."""
        idle = self.idle[s]
        over = sum(idle[: len(idle) - room]) if len(idle) > room else 0
        key = (self.cost[s], self.lasting[s] + over)
        if key != self.key[s]:
            self.key[s] = key
            heapq.heappush(self.heap, (*key, s))

    def cheapest(self, room: int) -> int:
        """Take the cheapest server off the heap, with room for `room` more after it."""
        for s in self.spread:
            if len(self.idle[s]) > room:
                self.push(s, room)
        while True:
            cost, collateral, s = heapq.heappop(self.heap)
            if not self.taken[s] and (cost, collateral) == self.key[s]:
                return s

    def take(self, server: int) -> None:
        """Return a server: its jobs leave all their servers, whose neighbours are measured anew."""
        self.taken[server] = True
        self.spread.pop(server, None)
        touched: set[int] = set()
        for j in tuple(self.jobs[server]):
            for s in self.base[j]:
                self.jobs[s].discard(j)
                self.cost[s] -= self.share[j, s]
            touched |= self.base[j]
        near = {s for t in touched for j in self.jobs[t] for s in self.base[j]}
        for s in touched | near:
            if not self.taken[s]:
                self.measure(s)
                self.push(s, len(self.taken))

"""The greedy loop of Lyra: return the cheapest server, update the costs, and repeat."""

from __future__ import annotations

import heapq

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.reclaiming.schema import Instance, Solution, solution_of
from dlsched.problems.reclaiming.shares import Shares

TIES = ("absorbed", "collateral", "file", "random")
"""Rules that decide between servers of equal cost; see `lyra`."""


def greedy(instance: Instance, shares: Shares, ties: str, rng: np.random.Generator) -> Solution:
    """Return the cheapest server, update the costs, and repeat until the demand is met."""
    if ties not in TIES:
        raise OptionError(f"ties={ties!r} must be one of: {', '.join(TIES)}")
    n = len(instance.servers)
    rank = rng.permutation(n).tolist() if ties == "random" else list(range(n))
    state = _State(instance, shares, rank)
    order: list[int] = []
    for left in reversed(range(instance.demand)):
        server = state.cheapest(left if ties == "absorbed" else 0, ties in TIES[:2])
        order.append(server)
        state.take(server)
    return solution_of(instance, order)


class _State:
    """Costs as integers, and a heap of (cost, collateral, rank) packed into one integer each.

    Collateral damage only breaks ties, so it is computed when a server reaches the top of the heap:
    an entry starts as (cost, -1, rank). ``key`` has each server's valid entry; others are stale.
    ``rank`` is the server's position in the order that breaks the remaining ties.
    """

    def __init__(self, instance: Instance, shares: Shares, rank: list[int]) -> None:
        self.held = instance.held
        self.added, _ = shares.scaled()
        n = self.n = len(instance.servers)
        self.rank = rank
        self.server: list[int] = np.argsort(rank).tolist()
        self.jobs: list[set[int]] = [set() for _ in range(n)]  # with a base worker here
        self.cost = [0] * n
        jobs, cost, total = self.jobs, self.cost, 0
        for j, (added, held) in enumerate(zip(self.added, self.held, strict=True)):
            for s, add in added.items():
                jobs[s].add(j)
                cost[s] += add
            total += sum(held.values())
        self.span = (total + 2) * n  # collateral damage from -1 to the number of all GPUs
        self.shared = [list(h.items()) if len(h) > 1 else () for h in self.held]
        self.taken = [False] * n
        self.measured: set[int] = set()  # servers whose valid entry has the collateral damage
        self.vacated: list[tuple[int, list[int]]] = [(0, [])] * n
        self.near: list[set[int]] = [set()] * n  # the servers counted in it
        self.key = [here * self.span + r for here, r in zip(cost, rank, strict=True)]
        self.heap = self.key.copy()
        heapq.heapify(self.heap)

    def cheapest(self, left: int, collateral: bool = True) -> int:
        """Remove the cheapest server from the heap and return it.

        Parameters
        ----------
        left
            Number of servers to be returned after this one; as many idle ones are not counted.
        collateral
            Whether collateral damage breaks ties.
        """
        while True:
            key = heapq.heappop(self.heap)
            s = self.server[key % self.n]
            if key != self.key[s]:
                continue
            if not collateral:
                return s
            if s not in self.measured:
                self.vacated[s] = self.measure(s)
                self.measured.add(s)
                known = -1
            else:
                known = key % self.span // self.n - 1
            lasting, idle = self.vacated[s]
            if len(idle) > left:
                lasting += sum(idle[: len(idle) - left])
            if lasting == known:
                return s
            self.push(s, lasting)

    def measure(self, s: int) -> tuple[int, list[int]]:
        """Return the GPUs vacated on other servers if `s` is returned.

        Returns
        -------
        (int, list of int)
            GPUs on servers that keep a base worker, and, sorted, on each of those that keep none.
            The latter can be returned next at no cost, so their GPUs are collateral damage only if
            the demand ends before them.
        """
        vacated: dict[int, int] = {}
        here, jobs, taken = self.jobs[s], self.jobs, self.taken
        for j in here:
            for t, gpus in self.shared[j]:
                if t in vacated:
                    vacated[t] += gpus
                elif t != s and not taken[t]:
                    vacated[t] = gpus
        self.near[s] = set(vacated)
        if not vacated:
            return 0, []
        idle = [gpus for t, gpus in vacated.items() if jobs[t] <= here]
        idle.sort()
        return sum(vacated.values()) - sum(idle), idle

    def push(self, s: int, collateral: int = -1) -> None:
        """Make this the valid entry of a server."""
        key = self.cost[s] * self.span + (collateral + 1) * self.n + self.rank[s]
        self.key[s] = key
        heapq.heappush(self.heap, key)

    def take(self, server: int) -> None:
        """Return a server: remove its jobs from all their servers and update the costs of these."""
        self.taken[server] = True
        self.key[server] = -1
        self.measured.discard(server)
        changed: set[int] = set()
        jobs, cost = self.jobs, self.cost
        for j in jobs[server]:
            added = self.added[j]
            if len(added) > 1:
                changed.update(added)
                for s, add in added.items():
                    if s != server:
                        cost[s] -= add
                        jobs[s].remove(j)
        changed.discard(server)
        if changed:
            self.measured -= changed
            key, heap, rank, span = self.key, self.heap, self.rank, self.span
            for s in changed:  # as in `push`, which would take a third of the time here
                key[s] = entry = cost[s] * span + rank[s]
                heapq.heappush(heap, entry)
        if self.measured:
            changed.add(server)
            self.forget(changed)

    def forget(self, changed: set[int]) -> None:
        """Drop collateral damage that counts servers which were taken or lost jobs.

        A server that shared a preempted job with one of these lost that job, so it is no longer
        among the measured ones; the others are known by the servers that were counted.
        """
        near = self.near
        for s in [s for s in self.measured if not near[s].isdisjoint(changed)]:
            self.measured.remove(s)
            self.push(s)

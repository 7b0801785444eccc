"""The greedy loop of Lyra (section 4): return the cheapest server, update the costs, and repeat."""

import heapq
from collections.abc import Iterable

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.reclaiming.definition.schema import Instance, Solution, solution_of
from dlsched.problems.reclaiming.structures.job_shares import Shares

TIES = ("absorbed", "collateral", "file", "random")
"""Rules that decide between servers of equal cost; see `lyra`."""


def greedy(instance: Instance, shares: Shares, ties: str, rng: np.random.Generator) -> Solution:
    """Return the cheapest server, update the costs, and repeat until the demand is met."""
    if ties not in TIES:
        raise OptionError(f"ties={ties!r} must be one of: {', '.join(TIES)}")
    if not instance.demand:
        return solution_of(instance, ())
    n = len(instance.servers)
    rank = rng.permutation(n).tolist() if ties == "random" else list(range(n))
    state = _State(instance, shares, rank, ties in TIES[:2])
    order: list[int] = []
    for left in reversed(range(instance.demand)):
        server = state.cheapest(left if ties == "absorbed" else 0)
        order.append(server)
        state.take(server)
    return solution_of(instance, order)


class _State:
    """Costs as integers, and a heap of (cost, collateral, rank) packed into one integer each.

    Collateral damage only breaks ties, so it is computed when a server reaches the top of the heap
    and another has its cost: an entry starts as (cost, -1, rank). ``key`` has each server's valid
    entry, -1 if it has none; other entries are stale. ``rank`` is the server's position in the
    order that breaks the remaining ties.

    Costs never rise. So no server is taken at a cost above `highest`, the largest of the smallest
    `demand` costs at the start, and servers are in the heap only up to that cost.
    """

    def __init__(
        self, instance: Instance, shares: Shares, rank: list[int], collateral: bool
    ) -> None:
        self.held, self.hosts, self.parts = instance.held, shares.hosts, shares.parts
        self.each, _ = shares.scaled()
        self.collateral, self.rank = collateral, rank
        n = self.n = len(instance.servers)
        self.server: list[int] = np.argsort(rank).tolist()
        jobs: list[set[int]] = [set() for _ in range(n)]  # with a base worker here
        cost, parts = [0] * n, self.parts
        for j, (hosts, add) in enumerate(zip(self.hosts, self.each, strict=True)):
            for s in hosts:
                jobs[s].add(j)
                cost[s] += add if parts is None else add * parts[j][s]
        self.jobs, self.cost = jobs, cost
        gpus = sum([server.gpus for server in instance.servers])
        span = self.span = (gpus + 2) * n  # collateral damage from -1 to the number of all GPUs
        self.taken: set[int] = set()
        self.measured: set[int] = set()  # servers whose valid entry has the collateral damage
        self.vacated: list[tuple[int, list[int]]] = [(0, [])] * n
        self.counting: list[list[int]] = [[] for _ in range(n)]  # measured ones that count it
        self.highest = sorted(cost)[instance.demand - 1]
        self.key = [
            here * span + r if here <= self.highest else -1
            for here, r in zip(cost, rank, strict=True)
        ]
        self.heap = [entry for entry in self.key if entry >= 0]
        heapq.heapify(self.heap)

    def cheapest(self, left: int) -> int:
        """Remove the cheapest server from the heap and return it.

        Parameters
        ----------
        left
            Number of servers to be returned after this one; as many idle ones are not counted.
        """
        heap, key, server, n, span = self.heap, self.key, self.server, self.n, self.span
        while True:
            entry = heapq.heappop(heap)
            s = server[entry % n]
            if entry != key[s]:
                continue
            if not self.collateral:
                return s
            known = entry % span
            least = entry - known
            while heap and heap[0] != key[server[heap[0] % n]]:
                heapq.heappop(heap)
            if not heap or heap[0] >= least + span:
                return s  # no other has its cost
            if known < n:
                self.vacated[s] = self.measure(s)
                self.measured.add(s)
            lasting, idle = self.vacated[s]
            if len(idle) > left:
                lasting += sum(idle[: len(idle) - left])
            # Unmeasured servers come by rank, and so does the first of them without collateral
            # damage: it is taken at once, thus none that was measured is without any.
            if lasting == 0:
                return s
            key[s] = now = least + (lasting + 1) * n + entry % n
            if now == entry:
                return s
            heapq.heappush(heap, now)

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
        here, jobs, taken, counting = self.jobs[s], self.jobs, self.taken, self.counting
        for j in here:
            held = self.held[j]
            if not vacated:
                vacated = dict(held)
            elif len(held) > 1:
                for t, gpus in held.items():
                    vacated[t] = vacated.get(t, 0) + gpus
        vacated.pop(s, None)
        for t in taken.intersection(vacated):  # their flexible workers stopped before
            del vacated[t]
        if not vacated:
            return 0, []
        for t in vacated:
            counting[t].append(s)
        idle = [gpus for t, gpus in vacated.items() if jobs[t] <= here]
        idle.sort()
        return sum(vacated.values()) - sum(idle), idle

    def take(self, server: int) -> None:
        """Return a server: remove its jobs from all their servers and update the costs of these."""
        self.taken.add(server)
        self.key[server] = -1
        jobs, cost, each, parts = self.jobs, self.cost, self.each, self.parts
        changed: set[int] = set()
        preempted, jobs[server] = jobs[server], set()
        for j in preempted:
            hosts, add = self.hosts[j], each[j]
            if len(hosts) > 1:
                changed.update(hosts)
                for s in hosts:
                    cost[s] -= add if parts is None else add * parts[j][s]
                    jobs[s].discard(j)
        changed.discard(server)
        self.measured.discard(server)
        self.measured -= changed
        self.push(changed)
        if self.measured:
            changed.add(server)
            self.push(self.forget(changed))

    def push(self, servers: Iterable[int]) -> None:
        """Make the cost alone the valid entry of servers."""
        heap, key, cost, rank, span = self.heap, self.key, self.cost, self.rank, self.span
        highest, push = self.highest, heapq.heappush
        for s in servers:
            here = cost[s]
            if here <= highest:
                key[s] = entry = here * span + rank[s]
                push(heap, entry)

    def forget(self, changed: Iterable[int]) -> list[int]:
        """Drop collateral damage that counts servers which were taken or lost jobs.

        A server that shared a preempted job with one of these lost that job, so it is no longer
        among the measured ones; the others are known by the servers that were counted.

        Returns
        -------
        list of int
            The servers whose collateral damage is unknown again.
        """
        measured, stale = self.measured, []
        for t in changed:
            counting = self.counting[t]
            if counting:
                for s in counting:
                    if s in measured:
                        measured.remove(s)
                        stale.append(s)
                counting.clear()
        return stale

"""The greedy loop of Lyra (section 4): return the cheapest server, update the costs, and repeat.

The cost of server s is the sum of ``weight[j] * part[j][s] / whole[j]`` over the jobs j that run
with a base worker on s.
"""

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.reclaiming.definition.schema import Instance, Solution, solution_of

TIES = ("absorbed", "collateral", "file", "random")
"""Rules that decide between servers of equal cost; see `lyra`."""


class Shares(NamedTuple):
    """What jobs add to the costs of their base servers; a part is 1 without parts."""

    whole: Sequence[int]
    parts: Sequence[Mapping[int, int]] | None = None


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
    and another has its cost: an entry starts as (cost, -1, rank).

    Attributes
    ----------
    rank
        The server's position in the order that breaks the remaining ties.
    key
        By server its valid entry, -1 if it has none; other entries are stale.
    vacated
        What `measure` returned of the servers whose valid entry has the collateral damage.
    counting
        By server those whose collateral damage counts it.
    highest
        The largest of the smallest `demand` costs at the start. Costs never rise, so no server is
        taken at a higher one, and such servers are not in the heap.
    """

    def __init__(
        self, instance: Instance, shares: Shares, rank: list[int], collateral: bool
    ) -> None:
        self.held, self.hosts, self.parts = instance.held, instance.base_servers, shares.parts
        self.adds = _in_units(instance, shares.whole)
        self.collateral, self.rank = collateral, rank
        n = self.n = len(instance.servers)
        self.server: list[int] = np.argsort(rank).tolist()
        self.jobs: list[set[int]] = [set() for _ in range(n)]  # with a base worker here
        self.cost = [0] * n
        for j, hosts in enumerate(self.hosts):
            add = self.adds[j]
            for s in hosts:
                self.jobs[s].add(j)
                self.cost[s] += add if self.parts is None else add * self.parts[j][s]
        gpus = sum([server.gpus for server in instance.servers])
        self.span = (gpus + 2) * n  # collateral damage from -1 to the number of all GPUs
        self.taken: set[int] = set()
        self.vacated: dict[int, tuple[int, list[int]]] = {}
        self.counting: list[list[int]] = [[] for _ in range(n)]
        self.highest = sorted(self.cost)[instance.demand - 1]
        self.key = [-1] * n
        self.heap: list[int] = []
        self.push(range(n))

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
        jobs, counting = self.jobs, self.counting
        here = jobs[s]
        for j in here:
            held = self.held[j]
            if len(held) > 1:
                for t, gpus in held.items():
                    vacated[t] = vacated.get(t, 0) + gpus
        vacated.pop(s, None)
        for t in self.taken.intersection(vacated):  # their flexible workers stopped before
            del vacated[t]
        for t in vacated:
            counting[t].append(s)
        idle = sorted([gpus for t, gpus in vacated.items() if jobs[t] <= here])
        return sum(vacated.values()) - sum(idle), idle

    def take(self, server: int) -> None:
        """Return a server: remove its jobs from all their servers and update the costs of these."""
        self.taken.add(server)
        self.key[server] = -1
        self.vacated.pop(server, None)
        preempted, self.jobs[server] = self.jobs[server], set()
        changed: set[int] = set()
        for j in preempted:
            hosts, add = self.hosts[j], self.adds[j]
            if len(hosts) > 1:
                changed.update(hosts)
                for s in hosts:
                    self.jobs[s].discard(j)
                    self.cost[s] -= add if self.parts is None else add * self.parts[j][s]
        if self.vacated:
            for t in (*changed, server):
                if self.counting[t]:
                    changed.update([s for s in self.counting[t] if s in self.vacated])
                    self.counting[t].clear()
            for s in changed:
                self.vacated.pop(s, None)
        changed.discard(server)
        self.push(changed)

    def push(self, servers: Iterable[int]) -> None:
        """Make the cost alone the valid entry of servers."""
        cost, key, highest = self.cost, self.key, self.highest
        for s in servers:
            if cost[s] <= highest:
                key[s] = cost[s] * self.span + self.rank[s]
                heapq.heappush(self.heap, key[s])


def _in_units(instance: Instance, whole: Sequence[int]) -> list[int]:
    """Return each job's weight / whole, in a unit of which all are multiples."""
    of_weights = math.lcm(*{weight.denominator for weight in instance.weights})
    of_parts = math.lcm(*{count for count in whole if count})
    part = {count: of_weights * (of_parts // max(1, count)) for count in set(whole)}
    return [
        weight.numerator * (part[count] // weight.denominator)
        for weight, count in zip(instance.weights, whole, strict=True)
    ]

"""Lyra's heuristic for reclaiming (section 4), the paper's baselines, and two of this library.

`lyra`, `gpu_fraction` and `scf_updated` share one greedy loop: take the server of least cost,
preempt its jobs, update the costs of the jobs' other servers. They differ in what a job adds to the
cost of a server. `scf` and `random` choose all servers at once.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.reclaiming.densest import densest  # noqa: F401  (registers it)
from dlsched.problems.reclaiming.schema import Instance, Solution, solution_of
from dlsched.registry import method

TIES = ("absorbed", "collateral", "file", "random")
"""Rules that decide between servers of equal cost; see `lyra`."""


@method("reclaiming", kind="heuristic")
def lyra(instance: Instance, rng: np.random.Generator, ties: str = "absorbed") -> Solution:
    """Least server preemption cost first: a job adds weight / (servers that host it) to each.

    Lyra, section 4: the cost of a server is the sum over its jobs of 1 / (servers that host the
    job); here each term is multiplied by the job's weight, 1 in the paper. For a demand of one
    server the paper takes the server with the fewest preemptions: the cost is then the weight of
    the server's jobs. A server hosts a job if it has a base worker of it; without any it costs 0.

    Parameters
    ----------
    ties
        Between servers of equal cost, ``"collateral"`` takes the least collateral damage: GPUs
        vacated on other servers (section 4, last sentence). ``"absorbed"`` leaves out GPUs on
        servers that become idle, as far as the remaining demand can return them; it finds the
        optimum of Figure 5, and plain collateral damage does not. ``"file"`` takes the earlier
        server, ``"random"`` any; with the first two, further ties go to the earlier server.
    """
    shares = count_shares(instance) if instance.demand == 1 else lyra_shares(instance)
    return _greedy(instance, shares, ties, rng)


@method("reclaiming", kind="baseline")
def gpu_fraction(instance: Instance, rng: np.random.Generator, ties: str = "absorbed") -> Solution:
    """Cost by GPUs, the definition the paper rejects: weight * (GPUs here / GPUs of the job).

    Lyra, section 4 and Table 1. GPUs of base and flexible workers are counted.

    Parameters
    ----------
    ties
        As for `lyra`.
    """
    return _greedy(instance, gpu_shares(instance), ties, rng)


@method("reclaiming", kind="baseline")
def scf(instance: Instance, rng: np.random.Generator, ties: str = "file") -> Solution:
    """Smallest (job) count first: the servers that host the smallest numbers of jobs.

    Lyra, section 7.1. Jobs with a base worker on the server are counted once, without weights and
    without updates when a job is preempted.

    Parameters
    ----------
    ties
        With equal counts ``"file"`` takes the earlier server, ``"random"`` any; the paper has no
        rule.
    """
    if ties not in ("file", "random"):
        raise OptionError(f"ties={ties!r} must be 'file' or 'random'")
    counts = [0] * len(instance.servers)
    for base in instance.base_servers:
        for s in base:
            counts[s] += 1
    order = list(range(len(counts)))
    if ties == "random":
        rng.shuffle(order)
    return solution_of(instance, sorted(order, key=counts.__getitem__)[: instance.demand])


@method("reclaiming", kind="baseline")
def scf_updated(instance: Instance, rng: np.random.Generator, ties: str = "absorbed") -> Solution:
    """Least weight of jobs first, updated: a variant of `scf` by this library.

    The cost of a server is the weight of the jobs with a base worker on it. Loop and ties are
    those of `lyra`, so the two methods differ in the definition of the cost only.

    Parameters
    ----------
    ties
        As for `lyra`.
    """
    return _greedy(instance, count_shares(instance), ties, rng)


@method("reclaiming", kind="baseline")
def random(instance: Instance, rng: np.random.Generator) -> Solution:
    """Servers drawn uniformly at random (Lyra, section 7.1)."""
    chosen = rng.permutation(len(instance.servers))[: instance.demand]
    return solution_of(instance, chosen.tolist())


@dataclass(frozen=True)
class Shares:
    """What job ``j`` adds to the cost of server ``s``: ``weight[j] * parts[j][s] / whole[j]``."""

    parts: list[dict[int, int]]
    whole: list[int]
    weight: list[Fraction]

    def costs(self, servers: int) -> list[Fraction]:
        """Return each server's cost before any server is returned, a column of Table 1."""
        result = [Fraction(0)] * servers
        for parts, whole, weight in zip(self.parts, self.whole, self.weight, strict=True):
            for s, part in parts.items():
                result[s] += weight * Fraction(part, whole)
        return result

    def units(self) -> list[int]:
        """Return for each job weight / whole, as integers over a common denominator."""
        parts = [w / n if n else Fraction(0) for w, n in zip(self.weight, self.whole, strict=True)]
        scale = math.lcm(*{part.denominator for part in parts})
        return [int(part * scale) for part in parts]


def lyra_shares(instance: Instance) -> Shares:
    """Return 1 / (servers that host the job)."""
    base = instance.base_servers
    parts = [dict.fromkeys(b, 1) for b in base]
    return Shares(parts, [len(b) for b in base], _weights(instance))


def gpu_shares(instance: Instance) -> Shares:
    """Return (GPUs of the job on the server) / (all its GPUs)."""
    held, base = instance.held, instance.base_servers
    parts = [{s: h[s] for s in b} for h, b in zip(held, base, strict=True)]
    return Shares(parts, [sum(h.values()) for h in held], _weights(instance))


def count_shares(instance: Instance) -> Shares:
    """Return 1 for every job."""
    parts = [dict.fromkeys(b, 1) for b in instance.base_servers]
    return Shares(parts, [1] * len(instance.jobs), _weights(instance))


def _weights(instance: Instance) -> list[Fraction]:
    return [Fraction(job.weight) for job in instance.jobs]


def _greedy(instance: Instance, shares: Shares, ties: str, rng: np.random.Generator) -> Solution:
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
    """Costs as integers over a common denominator, and a heap of (cost, collateral, rank).

    Collateral damage only breaks ties, so it is computed when a server reaches the top of the heap:
    an entry starts as (cost, -1, rank). ``key`` has each server's valid entry; others are stale.
    ``rank`` is the server's position in the order that breaks the remaining ties.
    """

    def __init__(self, instance: Instance, shares: Shares, rank: list[int]) -> None:
        self.base, self.held = instance.base_servers, instance.held
        self.parts = shares.parts
        self.unit = shares.units()
        n = len(instance.servers)
        self.rank = rank
        self.server = np.argsort(rank).tolist()
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
        self.key = [(cost, -1, rank[s]) for s, cost in enumerate(self.cost)]
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
            cost, known, rank = key
            s = self.server[rank]
            if self.taken[s] or key != self.key[s]:
                continue
            if not collateral:
                return int(s)
            if known < 0:
                self.vacated[s] = self.measure(s)
            lasting, idle = self.vacated[s]
            lasting += sum(idle[: max(0, len(idle) - left)])
            if lasting == known:
                return int(s)
            self.push((cost, lasting, rank))

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
        self.key[self.server[key[2]]] = key
        heapq.heappush(self.heap, key)

    def take(self, server: int) -> None:
        """Return a server: remove its jobs from all their servers and update the costs of these."""
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
                self.push((self.cost[s], -1, self.rank[s]))

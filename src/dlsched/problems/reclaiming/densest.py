"""A heuristic of this library: the group of servers with the least weight per server."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dlsched.problems.reclaiming.components import Units
from dlsched.problems.reclaiming.schema import Instance, Solution, solution_of
from dlsched.registry import method


@method("reclaiming", kind="heuristic")
def densest(instance: Instance, rng: np.random.Generator) -> Solution:
    """Return the group of servers that frees the most servers per weight of preempted jobs.

    A heuristic of this library, not the paper's. A candidate is the group of servers that become
    idle when all jobs of one server, or all jobs on the servers of one job, are preempted; its
    score is the preempted weight divided by its number of servers, counted up to the remaining
    demand. (Lyra's cost of 1 / servers assumes that every server of a job will be returned.) Ties
    go to the larger group, then to the earlier server or job in the file.
    """
    groups = _Groups(instance)
    returned: list[int] = []
    while len(returned) < instance.demand:
        left = instance.demand - len(returned)
        returned += groups.take(groups.cheapest(left), left)
    return solution_of(instance, returned)


class _Groups:
    """The candidates: the first `size` numbers are those of servers, the following of jobs."""

    def __init__(self, instance: Instance) -> None:
        self.base = instance.base_servers
        self.weights = Units(instance, collateral=False).weights
        self.jobs: list[set[int]] = [set() for _ in instance.servers]
        for j, base in enumerate(self.base):
            for s in base:
                self.jobs[s].add(j)
        self.size = len(instance.servers)
        self.known = {c: self.measure(c) for c in range(self.size)}
        self.known |= {
            self.size + j: self.measure(self.size + j) for j, b in enumerate(self.base) if b
        }

    def seeds(self, c: int) -> Iterable[int]:
        """Return the servers whose jobs the candidate preempts."""
        return (c,) if c < self.size else self.base[c - self.size]

    def measure(self, c: int) -> tuple[int, tuple[int, ...]]:
        """Return the weight that a candidate preempts, and the servers that become idle."""
        preempted = {j for s in self.seeds(c) for j in self.jobs[s]}
        near = {s for j in preempted for s in self.base[j]} or set(self.seeds(c))
        idle = tuple(sorted(s for s in near if self.jobs[s] <= preempted))
        return sum(self.weights[j] for j in preempted), idle

    def cheapest(self, left: int) -> int:
        """Return the candidate with the least weight per server, counted up to `left` servers."""
        best, least, most = -1, 0, 0
        for c, (weight, idle) in self.known.items():
            useful = min(len(idle), left)
            here, there = weight * most, least * useful  # weight / useful against least / most
            if best < 0 or here < there or (here == there and (-useful, c) < (-most, best)):
                best, least, most = c, weight, useful
        return best

    def take(self, c: int, most: int) -> list[int]:
        """Return up to `most` servers of a candidate, those with the least weight first."""
        idle = sorted(self.known[c][1], key=lambda s: sum(self.weights[j] for j in self.jobs[s]))
        taken = idle[:most]
        gone = {j for s in taken for j in self.jobs[s]}
        touched = {s for j in gone for s in self.base[j]}
        around = touched | {s for t in touched for j in self.jobs[t] for s in self.base[j]}
        stale = around | {self.size + j for s in around for j in self.jobs[s]}
        for s in touched:
            self.jobs[s] -= gone
        for settled in {self.size + j for j in gone} | set(taken):
            self.known.pop(settled, None)
        for other in stale & self.known.keys():
            self.known[other] = self.measure(other)
        return taken

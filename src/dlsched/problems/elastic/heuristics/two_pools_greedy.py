"""The rule `greedy` on two pools: most jobs first, then the most seconds per GPU."""

from __future__ import annotations

import heapq
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.elastic.definition.schema import Instance, Solution
from dlsched.problems.elastic.programs.two_pools_lagrangian import launch
from dlsched.problems.elastic.structures.two_pools_knapsack import PoolItems, items_of

_Step: TypeAlias = tuple[float, int, int]


def greedy(instance: Instance) -> Solution:
    """Return what the heuristic `greedy` does, for an instance with two pools; see there."""
    items = items_of(instance)
    training, loan = (float(pool.speed) for pool in instance.by_pool)
    growth = _Growth(items, loan / training)
    growth.run()
    return items.solution(instance, [i for i in growth.now if i >= 0])


class _Growth:
    """Steps of started jobs from one item to another.

    Attributes
    ----------
    now
        For each job with items its item, -1 at its base; pending jobs start with the smallest.
    free
        GPUs left by pool.
    """

    def __init__(self, items: PoolItems, relative: float) -> None:
        self.items = items
        top = max((abs(int(v)) for v in items.value), default=0) or 1
        self.value = np.array([int(v) / top for v in items.value])
        self.weight = items.gpus @ np.array([1.0, relative])
        self.now = [-1] * len(items.starts)
        self.free = np.array(items.capacity)
        for i in launch(items).chosen:
            self.move(int(items.row[i]), i)

    def run(self) -> None:
        """Take the step with the most seconds per GPU until none fits."""
        items = self.items
        running = items.launch[items.starts] == 0
        ready = [r for r in range(len(running)) if running[r] or self.now[r] >= 0]
        heap = [step for r in ready if (step := self.best(r))]
        heapq.heapify(heap)
        while heap:
            _, r, i = heapq.heappop(heap)
            if (items.gpus[i] - self.held(r) <= self.free).all():
                self.move(r, i)
            if step := self.best(r):
                heapq.heappush(heap, step)

    def best(self, r: int) -> _Step | None:
        """Return a job's best step among those that fit, as a key that is least for the best."""
        mine = slice(int(self.items.starts[r]), int(self.items.ends[r]))
        now = self.now[r]
        value, weight = (self.value[now], self.weight[now]) if now >= 0 else (0.0, 0.0)
        saved, more = self.value[mine] - value, self.weight[mine] - weight
        fits = (self.items.gpus[mine] - self.held(r) <= self.free).all(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(more > 0, saved / more, np.inf)
        rate[~fits | (saved <= 0)] = -1.0
        at = int(np.argmax(rate))
        return (-float(rate[at]), r, mine.start + at) if rate[at] >= 0 else None

    def held(self, r: int) -> NDArray[np.int64]:
        """Return the GPUs that a job has beside its base."""
        nothing = np.zeros(2, dtype=np.int64)
        return self.items.gpus[self.now[r]] if self.now[r] >= 0 else nothing

    def move(self, r: int, i: int) -> None:
        """Let a job take an item instead of its own."""
        self.free = self.free - self.items.gpus[i] + self.held(r)
        self.now[r] = i

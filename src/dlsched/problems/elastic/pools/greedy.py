"""The rule `greedy` on two pools: most jobs first, then the most seconds per GPU."""

from __future__ import annotations

import heapq
from typing import TypeAlias

from dlsched.problems.elastic.pools.knapsack import PoolItems, items_of
from dlsched.problems.elastic.pools.lagrangian import launch
from dlsched.problems.elastic.schema import Instance, Solution

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
        self.value = [int(v) / top for v in items.value]
        self.gpus: list[list[int]] = items.gpus.tolist()
        self.weight = [g + relative * h for g, h in self.gpus]
        self.now = [-1] * len(items.starts)
        self.free = list(items.capacity)
        self.taken = [0] * len(items.starts)
        for i in launch(items).chosen:
            self.move(int(items.row[i]), i)

    def run(self) -> None:
        """Take the step with the most seconds per GPU until none fits."""
        starts = self.items.starts
        heap = [
            step
            for r in range(len(starts))
            if (self.now[r] >= 0 or not self.items.launch[starts[r]]) and (step := self.best(r))
        ]
        heapq.heapify(heap)
        while heap:
            _, r, i = heapq.heappop(heap)
            if self.fits(r, i):
                self.move(r, i)
            if step := self.best(r):
                heapq.heappush(heap, step)

    def best(self, r: int) -> _Step | None:
        """Return a job's best step among those that fit, as a key that is least for the best."""
        held = self.now[r]
        value, weight = (self.value[held], self.weight[held]) if held >= 0 else (0.0, 0.0)
        steps = []
        for i in range(int(self.items.starts[r]), int(self.items.ends[r])):
            saved, more = self.value[i] - value, self.weight[i] - weight
            if saved > 0 and self.fits(r, i):
                rate = saved / more if more > 0 else float("inf")
                steps.append((-rate, r, i))
        return min(steps, default=None)

    def fits(self, r: int, i: int) -> bool:
        """Whether a job's step to an item fits, with the GPUs that it gives back."""
        held = self.gpus[self.now[r]] if self.now[r] >= 0 else (0, 0)
        return all(g - h <= free for g, h, free in zip(self.gpus[i], held, self.free, strict=True))

    def move(self, r: int, i: int) -> None:
        """Let a job take an item instead of its own."""
        held = self.gpus[self.now[r]] if self.now[r] >= 0 else (0, 0)
        self.free = [f - g + h for f, g, h in zip(self.free, self.gpus[i], held, strict=True)]
        self.now[r] = i

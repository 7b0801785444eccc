"""Hadar as its proof has it: each job gets a schedule when it arrives, and keeps it."""

import math

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.utility.definition.schema import Held, Instance, Solution
from dlsched.problems.utility.heuristics.hadar_prices import HadarPrices, on_machines, pools_of
from dlsched.problems.utility.kernels.pricing import Jobs, price_all
from dlsched.problems.utility.structures.gangs import Gangs, require_gangs
from dlsched.problems.utility.structures.work_stages import Stages
from dlsched.results.result import Claim, Status
from dlsched.run import Run


def hadar_committed(instance: Instance, run: Run) -> Claim:
    """Hadar as the proof of Theorem 2 has it: a job is decided on once, and keeps its schedule.

    In the order of arrival, a job gets the schedule over all slots to come of the largest utility
    minus cost (eq. 4 and 8), each slot with its own price by machine and type (eq. 5) before the
    job's own GPUs; it is admitted if that is above 0. The terms of the prices are those of all jobs
    of the instance, as Theorem 2 has them.
    """
    require_gangs(instance)
    gangs = Gangs(instance, run.stop_reason)
    order = [j for j, speeds in enumerate(instance.speeds) if speeds]
    if not order:
        return Claim(solution=Solution(schedule={}))
    order.sort(key=lambda j: instance.jobs[j].arrival)
    offers = _Offers(instance, order)
    work = Stages(gangs, False, gangs.most_units)
    rows = {}
    for j in order:
        if run.stop_reason():
            break
        levels = np.full(instance.slots, -1, dtype=np.int8)
        count = len(instance.speeds[j])
        cost = np.stack([offers.take(j, v)[1] for v in range(count)], axis=1)
        ends = np.array([[0], [len(work.of(j))], [count], [gangs.first[j]], [1]])
        speeds = np.arange(count)[None, :]
        after = np.ascontiguousarray(work.of(j)[:, :count])
        priced = Jobs(speeds, after, *ends, gangs.worth[j][None, :])
        cost = np.ascontiguousarray(np.ldexp(cost, -gangs.exponent))
        payoff = np.empty(1)
        price_all(cost, priced, False, payoff, levels[None, :])
        if payoff[0] > 0 and (levels >= 0).any():
            rows[instance.jobs[j].id] = tuple(offers.book(j, levels))
    if instance.must_finish and len(rows) < len(instance.jobs):
        return Claim(status=Status.NO_SOLUTION, reason="a job is not admitted")
    return Claim(solution=Solution(schedule=rows), termination=run.stop_reason())


class _Offers:
    """The GPUs that are free in each slot, and their prices, by machine and type."""

    def __init__(self, instance: Instance, jobs: list[int]) -> None:
        self.instance = instance
        self.pools = pools_of(instance)
        self.prices = HadarPrices(instance, jobs, self.pools).matrix()
        self.gpus = np.array([pool.gpus for pool in self.pools])
        self.used = np.zeros((instance.slots, len(self.pools)), dtype=np.int64)

    def take(self, job: int, speed: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return slots x pools, the cheapest GPUs of a gang at a speed, and its cost by slot.

        At equal prices the pools with the most free GPUs; the cost is infinite where too few are.
        """
        types = self.instance.speeds[job][speed].types
        usable = np.array([pool.kind in types for pool in self.pools])
        free = np.where(usable, self.gpus - self.used, 0)
        price = self.prices[np.arange(len(self.pools)), self.used]
        order = np.lexsort((-free, np.where(free > 0, price, math.inf)), axis=-1)
        sizes = np.take_along_axis(free, order, axis=1)
        before = np.cumsum(sizes, axis=1) - sizes
        need = self.instance.jobs[job].workers
        counts = np.empty_like(free)
        np.put_along_axis(counts, order, np.clip(need - before, 0, sizes), axis=1)
        cost = (counts * price).sum(axis=1)
        return counts, np.where(counts.sum(axis=1) == need, cost, math.inf)

    def book(self, job: int, levels: NDArray[np.int8]) -> list[Held]:
        """Give a job its GPUs at these speeds by slot, and return them."""
        taken = [self.take(job, v)[0] for v in range(len(self.instance.speeds[job]))]
        held = []
        for t in np.flatnonzero(levels >= 0).tolist():
            row = taken[levels[t]][t]
            self.used[t] += row
            by_pool = {p: n for p, n in enumerate(row.tolist()) if n}
            held.append(Held(slot=t + 1, gpus=on_machines(self.pools, by_pool)))
        return held

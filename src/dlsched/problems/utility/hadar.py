"""Hadar's online algorithm (section III): prices that grow with use, and a program over the queue.

Repairs to Algorithm 2, each with a test: read literally it minimises cost, and the empty allocation
costs nothing; here it maximises the sum of payoffs, each at the prices before the job's own GPUs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.utility.knapsack import fill
from dlsched.problems.utility.rounds import Grants, Rounds
from dlsched.problems.utility.schema import Instance

MOST_STATES = 100_000_000
"""Jobs times states of the program; beyond it jobs are scanned by payoff instead."""
_LEAST_SHARE = 1e-6
"""Of the highest price the lowest one, where a utility of 0 at the horizon would make it 0."""


class Prices:
    """The price of a GPU by type and use (eq. 5-7).

    Attributes
    ----------
    table
        For each type the price when 0, 1, ... of its GPUs are in use.
    alpha
        The larger of 1 and ln of highest over lowest price: Theorem 2 promises 2 alpha.
    """

    def __init__(self, instance: Instance, queue: Sequence[int], kinds: Sequence[str]) -> None:
        total = sum(instance.supply.values())
        slowest, least, per_slot = [], [], []
        highest = dict.fromkeys(kinds, 0.0)
        for j in queue:
            job, speeds = instance.jobs[j], instance.speeds[j]
            last = instance.slots - job.arrival + 1
            quickest = int(-(-job.iterations // speeds[0].gain))
            longest = int(-(-job.iterations // speeds[-1].gain))  # eq. 7, rounded up
            if quickest <= last:
                worth = float(instance.worth(job, quickest)) / job.workers  # eq. 6
                for kind in speeds[-1].types:
                    highest[kind] = max(highest[kind], worth)
            slowest.append(longest * job.workers)
            least.append(float(instance.worth(job, last)))
            per_slot.append(least[-1] / slowest[-1])
        eta = instance.slots * total / min(slowest)
        lowest = min(per_slot) / (4 * eta)
        self.table: list[NDArray[np.float64]] = []
        self.alpha = 1.0
        for kind in kinds:
            top = highest[kind]
            low = lowest if lowest > 0 else _LEAST_SHARE * top
            used = np.arange(instance.supply[kind] + 1) / instance.supply[kind]
            if top > low > 0:
                self.table.append(low * (top / low) ** used)  # eq. 5
                self.alpha = max(self.alpha, float(np.log(top / low)))
            else:
                self.table.append(np.full(len(used), top))


class Hadar:
    """Decides slot by slot (Algorithm 1)."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.kinds = list(instance.supply)

    def offers(self, rounds: Rounds, job: int) -> list[tuple[float, int]]:
        """Return the worth of each speed, if the job goes on with it until it is done.

        Finishing after the horizon is worth nothing. With it comes the types' bit mask.
        """
        inst, found = self.instance, []
        owner = inst.jobs[job]
        for v, speed in enumerate(inst.speeds[job]):
            completion = rounds.slot - owner.arrival + rounds.slots_left(job, v)
            mask = sum(1 << i for i, kind in enumerate(self.kinds) if kind in speed.types)
            in_time = completion <= inst.slots - owner.arrival + 1
            found.append((float(inst.worth(owner, completion)) if in_time else 0.0, mask))
        return found

    def decide(self, rounds: Rounds) -> Grants:
        """Return the slot's allocation of the largest sum of payoffs (Algorithm 2, repaired).

        A program over jobs in the queue's order and the GPUs of each type in use: a job is left
        out, or takes at one of its speeds the cheapest GPUs, if they cost less than it is worth.
        """
        queue = rounds.queue
        caps = np.array([self.instance.supply[k] for k in self.kinds], dtype=np.int64)
        states = int(np.prod(caps + 1))
        if not queue:
            return {}
        prices = Prices(self.instance, queue, self.kinds)
        if states * len(queue) > MOST_STATES:
            return self.scan(rounds, prices, self._by_payoff(rounds, prices), stop=False)
        table = np.zeros((len(caps), int(caps.max()) + 1))
        for r, row in enumerate(prices.table):
            table[r, : len(row)] = row
        offers = [self.offers(rounds, j) for j in queue]
        width = max(map(len, offers))
        worth, masks = np.zeros((len(queue), width)), np.zeros((len(queue), width), dtype=np.int64)
        for i, offer in enumerate(offers):
            worth[i, : len(offer)] = [u for u, _ in offer]
            masks[i, : len(offer)] = [m for _, m in offer]
        workers = np.array([self.instance.jobs[j].workers for j in queue], dtype=np.int64)
        taken = fill(caps, table, worth, masks, workers)
        return {
            j: {k: int(n) for k, n in zip(self.kinds, row, strict=True) if n}
            for j, row in zip(queue, taken, strict=True)
            if row.any()
        }

    def _by_payoff(self, rounds: Rounds, prices: Prices) -> list[int]:
        queue = rounds.queue
        start = {k: float(row[0]) for k, row in zip(self.kinds, prices.table, strict=True)}
        dearest = min(start.values())
        payoff = {
            j: max(u for u, _ in self.offers(rounds, j)) / self.instance.jobs[j].workers - dearest
            for j in queue
        }
        return sorted(queue, key=lambda j: -payoff[j])

    def scan(self, rounds: Rounds, prices: Prices, order: Sequence[int], stop: bool) -> Grants:
        """Admit jobs one after the other, each at its best payoff at the prices so far.

        Parameters
        ----------
        stop
            Whether a job that fits nowhere ends the scan, as Algorithm 2 has it.
        """
        inst = self.instance
        used = dict.fromkeys(self.kinds, 0)
        table = dict(zip(self.kinds, prices.table, strict=True))
        grants: dict[int, dict[str, int]] = {}
        for j in order:
            need, best, chosen = inst.jobs[j].workers, 0.0, None
            fits = False
            price = {k: float(table[k][used[k]]) for k in self.kinds}
            for (worth, _), speed in zip(self.offers(rounds, j), inst.speeds[j], strict=True):
                left = {k: inst.supply[k] - used[k] for k in speed.types}
                if sum(left.values()) < need:
                    continue
                fits = True
                gpus, cost, rest = {}, 0.0, need
                for k in sorted(left, key=lambda k: (price[k], self.kinds.index(k))):
                    count = min(rest, left[k])
                    if count:
                        gpus[k], cost, rest = count, cost + count * price[k], rest - count
                if worth - cost > best:
                    best, chosen = worth - cost, gpus
            if not fits and stop:
                break
            if chosen is not None:
                grants[j] = chosen
                for k, count in chosen.items():
                    used[k] += count
        return grants

    def literal(self, rounds: Rounds) -> Grants:
        """Return what a scan by arrival admits, ended by the first job that fits nowhere."""
        queue = rounds.queue
        if not queue:
            return {}
        return self.scan(rounds, Prices(self.instance, queue, self.kinds), queue, stop=True)

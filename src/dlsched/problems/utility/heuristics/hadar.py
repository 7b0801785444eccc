"""Hadar's online algorithm (section III): prices that grow with use, and a program over the queue.

Repairs to Algorithm 2, each with a test: read literally it minimises cost, and the empty allocation
costs 0; here it maximises the sum of payoffs, each at the prices before the job's own GPUs.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from dlsched.problems.utility.definition.schema import Instance, Speed
from dlsched.problems.utility.heuristics.hadar_prices import (
    TUNABLES,
    HadarPrices,
    on_machines,
    pools_of,
    terms_of,
)
from dlsched.problems.utility.kernels.hadar_program import States, fill
from dlsched.problems.utility.structures.slot_simulation import Grants, Rounds
from dlsched.schema import Id


class Hadar:
    """Decides slot by slot (Algorithm 1).

    Parameters
    ----------
    factors
        What each job's utility is multiplied by; None for 1.
    machines
        For each job the only machine on which it may run; None where each may run on all.

    Attributes
    ----------
    scanned
        The number of slots in which the program would have been too large.
    """

    def __init__(
        self,
        instance: Instance,
        factors: Sequence[Fraction] | None = None,
        machines: Sequence[Id] | None = None,
    ) -> None:
        self.instance = instance
        self.factors = factors or [Fraction(1)] * len(instance.jobs)
        self.pools = pools_of(instance)
        self.usable = [
            [self._pools(s, machines[j] if machines else None) for s in speeds]
            for j, speeds in enumerate(instance.speeds)
        ]
        self.states = math.prod(pool.gpus + 1 for pool in self.pools)
        self.terms = {
            j: terms_of(instance, j, factor)
            for j, (factor, speeds) in enumerate(zip(self.factors, instance.speeds, strict=True))
            if speeds
        }
        self.rates = [
            float(factor * Fraction(instance.worth(job, 1)))
            for factor, job in zip(self.factors, instance.jobs, strict=True)
        ]
        self.scanned = 0

    def _pools(self, speed: Speed, machine: Id | None) -> frozenset[int]:
        """Return the pools that a job may use at a speed, on one machine or on all."""
        return frozenset(
            p
            for p, pool in enumerate(self.pools)
            if pool.kind in speed.types and machine in (None, pool.machine)
        )

    @cached_property
    def _all_states(self) -> States:
        return States(np.array([pool.gpus for pool in self.pools], dtype=np.int64))

    def worth(self, job: int, completion: int) -> float:
        """Return a job's utility, `Instance.worth` times its factor, as a float."""
        if self.instance.utility.kind == "effective_throughput":
            return self.rates[job] / completion
        worth = self.instance.worth(self.instance.jobs[job], completion)
        return float(self.factors[job] * Fraction(worth))

    def utilities(self, rounds: Rounds, job: int) -> list[float]:
        """Return the utility at each speed, if the job runs at it in every slot from now on.

        Finishing after the horizon has utility 0.
        """
        before = rounds.slot - self.instance.jobs[job].arrival
        horizon = self.instance.slots + 1 - rounds.slot
        slots_left = rounds.slots_left(job)
        return [self.worth(job, before + n) if n <= horizon else 0.0 for n in slots_left]

    def decide(self, rounds: Rounds, literal: bool = False) -> Grants:
        """Return the slot's allocation of the largest sum of payoffs (Algorithm 2, repaired).

        A dynamic program over jobs in the queue's order and the GPUs of each pool in use: a job is
        left out, or takes the cheapest GPUs at one of its speeds, if they cost less than its
        utility. Where that is too large (`Tunables`), jobs are scanned instead, in
        the order of utility per GPU. With `literal` they are scanned in the queue's order, up to
        the first that does not fit.
        """
        queue = rounds.queue
        if not queue:
            return {}
        prices = HadarPrices(self.instance, queue, self.pools, self.terms)
        utilities = {j: self.utilities(rounds, j) for j in queue}
        if literal:
            return self.scan(utilities, prices, queue, stop=True)
        memory = self.states * (4 * len(queue) + 16 * len(self.pools) + 16)
        steps = self.states * len(queue)
        if steps > TUNABLES.most_steps or memory > TUNABLES.most_bytes:
            self.scanned += 1
            order = sorted(queue, key=lambda j: -max(utilities[j]) / self.instance.jobs[j].workers)
            return self.scan(utilities, prices, order, stop=False)
        width = max(map(len, utilities.values()))
        worth = np.zeros((len(queue), width))
        masks = np.zeros((len(queue), width), dtype=np.int64)
        for i, (j, offer) in enumerate(utilities.items()):
            worth[i, : len(offer)] = offer
            masks[i, : len(offer)] = [sum(1 << p for p in pools) for pools in self.usable[j]]
        workers = np.array([self.instance.jobs[j].workers for j in queue], dtype=np.int64)
        rows = fill(self._all_states, prices.matrix(), worth, masks, workers).tolist()
        by_pool = [{p: n for p, n in enumerate(row) if n} for row in rows]
        return {j: on_machines(self.pools, n) for j, n in zip(queue, by_pool, strict=True) if n}

    def scan(
        self,
        utilities: Mapping[int, Sequence[float]],
        prices: HadarPrices,
        order: Sequence[int],
        stop: bool,
    ) -> Grants:
        """Admit jobs one after the other, each at its best payoff at the prices so far.

        Parameters
        ----------
        utilities
            For each job its utility at each speed.
        stop
            Whether a job that does not fit ends the scan, as in Algorithm 2.
        """
        left = [pool.gpus for pool in self.pools]
        price = [float(row[0]) for row in prices.table]
        cheapest = self.cheapest(price, left)
        taken: dict[int, dict[int, int]] = {}
        for j in order:
            if not cheapest:
                break
            chosen, fits = self.best(utilities[j], j, cheapest, price, left)
            if not fits and stop:
                break
            if chosen is not None:
                taken[j] = chosen
                for p, count in chosen.items():
                    left[p] -= count
                    price[p] = float(prices.table[p][self.pools[p].gpus - left[p]])
                cheapest = self.cheapest(price, left)
        return {j: on_machines(self.pools, row) for j, row in taken.items()}

    def best(
        self,
        utilities: Sequence[float],
        job: int,
        cheapest: Sequence[int],
        price: Sequence[float],
        left: Sequence[int],
    ) -> tuple[dict[int, int] | None, bool]:
        """Return the GPUs of a job's best payoff above 0, and whether it fits at all."""
        best, chosen, fits = 0.0, None, False
        for utility, usable in zip(utilities, self.usable[job], strict=True):
            gpus, cost = self._take(cheapest, usable, self.instance.jobs[job].workers, price, left)
            if gpus is None:
                continue
            fits = True
            if utility - cost > best:
                best, chosen = utility - cost, gpus
        return chosen, fits

    def cheapest(self, price: Sequence[float], left: Sequence[int]) -> list[int]:
        """Return the pools with free GPUs, cheapest first, ties by the most free GPUs."""
        return sorted((p for p, n in enumerate(left) if n), key=lambda p: (price[p], -left[p], p))

    def _take(
        self,
        order: Sequence[int],
        usable: Collection[int],
        need: int,
        price: Sequence[float],
        left: Sequence[int],
    ) -> tuple[dict[int, int] | None, float]:
        """Return a gang's cheapest GPUs of usable pools and their cost; ``None`` if too few."""
        gpus: dict[int, int] = {}
        cost = 0.0
        for p in order:
            if p in usable:
                count = min(need, left[p])
                gpus[p] = count
                cost += count * price[p]
                need -= count
                if not need:
                    return gpus, cost
        return None, 0.0

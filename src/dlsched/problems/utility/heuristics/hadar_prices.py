"""Hadar's prices of GPUs, which grow with their use (section III-B, eq. 5 to 7)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.utility.definition.schema import Instance
from dlsched.problems.utility.structures.machines import GpusByMachine


@dataclass(frozen=True)
class Tunables:
    """Tunables of `hadar`, chosen by hand, as the paper gives none.

    What the limit of steps changes: "Algorithm 2's program, the scan, and Gavel" of
    benchmarks/figures/hadar_simulation.md.
    """

    most_steps: int = 10_000_000
    """The most jobs times states of the program; above it jobs are scanned by payoff instead."""
    most_bytes: int = 400_000_000
    """The most memory of the program; above it likewise."""
    least_share: float = 1e-6
    """Lowest price as a share of the highest, where a utility of 0 at the horizon makes it 0."""


TUNABLES = Tunables()


class GpuPool(NamedTuple):
    """GPUs with one price: those of a type on a machine."""

    machine: str
    kind: str
    gpus: int


def pools_of(instance: Instance) -> list[GpuPool]:
    """Return the pools with a price each: per machine and type (eq. 5)."""
    return [
        GpuPool(machine.id, kind, count)
        for machine in instance.machines
        for kind, count in machine.gpus.items()
        if count
    ]


def on_machines(pools: Sequence[GpuPool], taken: Mapping[int, int]) -> GpusByMachine:
    """Return GPUs by pool as GPUs on machines."""
    gpus: GpusByMachine = {}
    for p, count in taken.items():
        gpus.setdefault(pools[p].machine, {})[pools[p].kind] = count
    return gpus


class Terms(NamedTuple):
    """The terms of a job in eq. 6: its highest and lowest utility of a GPU and slot.

    `longest` is t_max of eq. 7, in slots and rounded up, times the job's workers.
    """

    highest: float
    lowest: Fraction
    longest: int


def terms_of(instance: Instance, j: int, factor: Fraction = Fraction(1)) -> Terms:
    """Return a job's terms in eq. 6, its utility times a factor; 0 if it cannot finish in time."""
    job = instance.jobs[j]
    speeds = instance.speeds[j]
    last = instance.slots - job.arrival + 1
    quickest = int(-(-job.iterations // speeds[0].gain))
    longest = int(-(-job.iterations // speeds[-1].gain)) * job.workers
    highest = 0.0
    if quickest <= last:
        highest = float(factor) * float(Fraction(instance.worth(job, quickest)) / job.workers)
    return Terms(highest, factor * Fraction(instance.worth(job, last)) / longest, longest)


class HadarPrices:
    """The price of a GPU by pool and use (eq. 5-7).

    Attributes
    ----------
    table
        For each pool the price when 0, 1, ... of its GPUs are in use.
    alpha
        The larger of 1 and ln of highest over lowest price: Theorem 2 promises 2 alpha.
    """

    def __init__(
        self,
        instance: Instance,
        queue: Sequence[int],
        pools: Sequence[GpuPool] | None = None,
        terms: Mapping[int, Terms] | None = None,
    ) -> None:
        pools = pools_of(instance) if pools is None else pools
        of_queue = [terms[j] if terms else terms_of(instance, j) for j in queue]
        total = sum(instance.supply.values())
        highest = dict.fromkeys(instance.supply, 0.0)
        for j, term in zip(queue, of_queue, strict=True):
            for kind in instance.speeds[j][-1].types:
                highest[kind] = max(highest[kind], term.highest)
        eta = Fraction(instance.slots * total, min(term.longest for term in of_queue))
        lowest = float(min(term.lowest for term in of_queue) / (4 * eta))
        self.alpha = 1.0
        keys = [(highest[pool.kind], pool.gpus) for pool in pools]
        rows = {(top, gpus): self._row(top, gpus, lowest) for top, gpus in dict.fromkeys(keys)}
        self.table = [rows[key] for key in keys]

    def matrix(self) -> NDArray[np.float64]:
        """Return pools x GPUs in use: the prices, 0 where a pool has fewer GPUs."""
        matrix = np.zeros((len(self.table), max(map(len, self.table))))
        for row, prices in zip(matrix, self.table, strict=True):
            row[: len(prices)] = prices
        return matrix

    def _row(self, top: float, gpus: int, lowest: float) -> NDArray[np.float64]:
        """Return the prices of a pool by use (eq. 5), from the lowest to `top`."""
        low = lowest if lowest > 0 else TUNABLES.least_share * top
        if not top > low > 0:
            return np.full(gpus + 1, top)
        ratio = math.log(top) - math.log(low)
        self.alpha = max(self.alpha, ratio)
        row = np.exp(math.log(low) + ratio * np.arange(gpus + 1) / gpus)
        row[-1] = top
        return row

"""Gang jobs as arrays: speeds, sets of types, and schedules of speeds given out to machines.

Machines matter only through what they hold of each type, so methods decide at which speed a job
runs in a slot, not on which GPUs. That so many gangs fit together is Hall's condition: for every
set of types, the gangs that can use nothing else need no more GPUs than there are of these types.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError
from dlsched.problems.utility.schema import Instance, Solution
from dlsched.problems.utility.work import UNITS, Work

Indices = NDArray[np.int64]
Vector = NDArray[np.float64]
Levels = NDArray[np.int8]
"""Jobs x slots: the index of the speed at which a job runs, -1 where it does not."""

MOST_SETS = 127
"""Hall's condition has a row for each union of speeds' types; more are refused.

It bounds the speeds of a job too, whose indices are kept in 8 bits.
"""
UNIT_STEPS = 1_200_000_000
"""Units of work are so few that a pricing pass takes about as many steps, ..."""
FEWEST_UNITS = 300
"""... but not fewer than this."""


class Gangs:
    """The instance's gang jobs as arrays.

    Attributes
    ----------
    kinds
        The GPU types; sets of them are bit masks.
    masks
        The sets of types that a speed of some job may use.
    sets
        All unions of these: Hall's condition needs no others.
    capacity
        GPUs of each of `sets`.
    within
        masks x sets: whether the one is part of the other.
    of
        For each job, and each of its speeds, the position of its mask in `masks`.

    stop
        Says why to stop, or nothing; looked at between jobs.

    Raises
    ------
    OptionError
        If there are more than `MOST_SETS` unions.
    """

    def __init__(self, instance: Instance, stop: Callable[[], str | None] = lambda: None) -> None:
        self.instance, self.stop = instance, stop
        self.kinds = tuple(instance.supply)
        bit = {kind: 1 << i for i, kind in enumerate(self.kinds)}
        rows = [[sum(bit[k] for k in s.types) for s in speeds] for speeds in instance.speeds]
        self.masks = sorted({mask for row in rows for mask in row})
        self.of = [[self.masks.index(mask) for mask in row] for row in rows]
        self.sets = self._unions()
        self.capacity = np.array([self.gpus(s) for s in self.sets], dtype=np.int64)
        self.within = np.array(
            [[mask & s == mask for s in self.sets] for mask in self.masks], dtype=bool
        ).reshape(len(self.masks), len(self.sets))
        self.workers = np.array([job.workers for job in instance.jobs], dtype=np.int64)
        self.first = np.array([job.arrival - 1 for job in instance.jobs], dtype=np.int64)

    def _unions(self) -> list[int]:
        found = set(self.masks)
        frontier = set(found)
        while frontier:
            frontier = {a | b for a in frontier for b in self.masks} - found
            found |= frontier
            if len(found) > MOST_SETS:
                raise OptionError(
                    f"the jobs rank {len(self.kinds)} GPU types in too many ways: over {MOST_SETS} "
                    f"sets of types; merge types that are alike"
                )
        return sorted(found)

    def gpus(self, mask: int) -> int:
        """Return the GPUs of a set of types."""
        supply = self.instance.supply
        return sum(supply[kind] for i, kind in enumerate(self.kinds) if mask >> i & 1)

    @cached_property
    def exponent(self) -> int:
        """Utilities are counted here in units of two to this power.

        The largest that a job can have is then between 1/2 and 1, whatever the instance's own
        units are: tolerances of solvers are absolute.
        """
        inst = self.instance
        most = max(
            (
                Fraction(inst.worth(job, least))
                for job, least in zip(inst.jobs, self.fewest, strict=True)
                if least
            ),
            default=Fraction(0),
        )
        if not most:
            return 0
        e = most.numerator.bit_length() - most.denominator.bit_length()
        return e + (most >= Fraction(2) ** e)

    def real(self, value: float) -> float:
        """Return a sum of utilities in the instance's own units; infinite beyond the floats."""
        try:
            return math.ldexp(value, self.exponent)
        except OverflowError:
            return math.inf

    @cached_property
    def worth(self) -> Vector:
        """Jobs x slots: the utility of finishing in a slot, in the units here.

        Where a job cannot finish it is that of the first slot in which it could, and 0 if there is
        none, or before its arrival. Each is off by a relative 2 EPS at most, or by the smallest
        float.
        """
        inst, unit = self.instance, Fraction(2) ** self.exponent
        table = np.zeros((len(inst.jobs), inst.slots))
        for j, (job, least) in enumerate(zip(inst.jobs, self.fewest, strict=True)):
            if not least:
                continue
            first, last = job.arrival - 1, inst.slots - job.arrival + 1
            if inst.utility.kind == "effective_throughput":
                highest = float(inst.worth(job, least) / unit)
                row = highest * (least / np.arange(least, last + 1))
            else:
                row = np.array([float(inst.worth(job, c) / unit) for c in range(least, last + 1)])
            table[j, first : first + least - 1] = row[0]
            table[j, first + least - 1 :] = row
        return table

    @cached_property
    def fewest(self) -> list[int]:
        """The fewest slots in which each job can finish, alone; 0 if it cannot."""
        inst, found = self.instance, []
        for job, speeds in zip(inst.jobs, inst.speeds, strict=True):
            least = int(-(-job.iterations // speeds[0].gain)) if speeds else 0
            found.append(least if least <= inst.slots - job.arrival + 1 else 0)
        return found

    @cached_property
    def most_units(self) -> int:
        """Units that a job's work may have here, the size of the instance considered."""
        runs = max(1, len(self.instance.jobs) * self.instance.slots * 3)
        return min(UNITS, max(FEWEST_UNITS, UNIT_STEPS // runs))

    @cached_property
    def safe(self) -> Work:
        """The jobs' work rounded down: what is scheduled by it finishes in truth."""
        return Work(self.instance, up=False, most=self.most_units)

    def free(self, levels: Levels) -> Indices:
        """Return slots x sets: the GPUs that Hall's condition leaves."""
        left = np.tile(self.capacity, (self.instance.slots, 1))
        for j, row in enumerate(levels):
            self.book(left, j, row)
        return left

    def book(self, free: Indices, job: int, row: NDArray[np.int8], sign: int = 1) -> None:
        """Take what a job's row of levels needs from the free GPUs; give it back with sign -1."""
        slots = np.flatnonzero(row >= 0)
        masks = np.array(self.of[job], dtype=np.int64)[row[slots]]
        free[slots] -= sign * self.workers[job] * self.within[masks]

    def solution(self, levels: Levels, method: str) -> Solution:
        """Return the schedule on machines, each gang on few of them where that is easy."""
        inst = self.instance
        schedule: dict[str, list[dict[str, object]]] = {job.id: [] for job in inst.jobs}
        known: dict[tuple[tuple[int, int], ...], dict[int, dict[str, dict[str, int]]]] = {}
        for t in range(inst.slots):
            jobs = np.flatnonzero(levels[:, t] >= 0).tolist()
            running = tuple((j, int(levels[j, t])) for j in jobs)
            if running not in known:
                known[running] = place(inst, self._types(running))
            for j, gpus in known[running].items():
                schedule[inst.jobs[j].id].append({"slot": t + 1, "gpus": gpus})
        held = {name: tuple(rows) for name, rows in schedule.items() if rows}
        return Solution(
            schedule=held,
        )

    def _types(self, running: Sequence[tuple[int, int]]) -> dict[int, dict[str, int]]:
        """Return how many GPUs of each type every gang gets: a maximum flow.

        Gangs that can use the fewest types go first; where each can use all that an earlier one
        could, that is a flow already.
        """
        supply = self.instance.supply
        speeds = self.instance.speeds
        free, given = dict(supply), {}
        for j, level in sorted(running, key=lambda pair: len(speeds[pair[0]][pair[1]].types)):
            left, gpus = int(self.workers[j]), {}
            for kind in sorted(speeds[j][level].types, key=lambda k: (-free[k], k)):
                count = min(left, free[kind])
                if count:
                    gpus[kind] = count
                    free[kind] -= count
                    left -= count
            if left:
                return self._flow(running)
            given[j] = gpus
        return {j: given[j] for j, _ in running}

    def _flow(self, running: Sequence[tuple[int, int]]) -> dict[int, dict[str, int]]:
        graph = nx.DiGraph()
        supply = self.instance.supply
        for kind, count in supply.items():
            graph.add_edge(("type", kind), "sink", capacity=count)
        for j, level in running:
            need = int(self.workers[j])
            graph.add_edge("source", ("job", j), capacity=need)
            for kind in self.instance.speeds[j][level].types:
                graph.add_edge(("job", j), ("type", kind), capacity=need)
        _, flow = nx.maximum_flow(graph, "source", "sink")
        return {
            j: {k: flow["job", j]["type", k] for k in supply if flow["job", j].get(("type", k), 0)}
            for j, _ in running
        }


def place(
    instance: Instance,
    counts: Mapping[int, Mapping[str, int]],
    free: list[dict[str, int]] | None = None,
) -> dict[int, dict[str, dict[str, int]]]:
    """Give the GPUs of gangs, by type, out to machines, on few of them where that is easy.

    Largest gangs first; each on the fullest machine that has all it needs of a type, else on the
    emptiest ones.

    Parameters
    ----------
    counts
        For each job its GPUs by type.
    free
        The free GPUs of each machine, from which they are taken; all of them by default.
    """
    machines = instance.machines
    if free is None:
        free = [dict(machine.gpus) for machine in machines]
    placed: dict[int, dict[str, dict[str, int]]] = {j: {} for j in counts}
    for j in sorted(counts, key=lambda j: -sum(counts[j].values())):
        for kind, need in counts[j].items():
            left = need
            while left:
                options = [m for m, gpus in enumerate(free) if gpus.get(kind, 0)]
                whole = [m for m in options if free[m][kind] >= left]
                if whole:
                    m = min(whole, key=lambda m: free[m][kind])
                else:
                    m = max(options, key=lambda m: free[m][kind])
                taken = min(left, free[m][kind])
                free[m][kind] -= taken
                left -= taken
                row = placed[j].setdefault(machines[m].id, {})
                row[kind] = row.get(kind, 0) + taken
    return placed

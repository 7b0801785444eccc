"""What running workloads hold on the machines of a cluster, in the order of preemption."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]


class Holding(NamedTuple):
    """What victims hold in a cluster: an entry for each victim and machine.

    Attributes
    ----------
    victim, machine
        Positions of workloads and of machines; the entries of a victim are adjacent.
    amount
        Array (3, entries) of GPUs, CPUs and memory.
    last
        Position of the last entry of each victim.
    """

    victim: Array
    machine: Array
    amount: Array
    last: Array

    @classmethod
    def of(cls, victim: Array, machine: Array, amount: Array) -> Holding:
        """Return the holding of entries in which those of a victim are adjacent."""
        ends = np.flatnonzero(victim[1:] != victim[:-1])
        last = np.append(ends, victim.size - 1) if victim.size else ends
        return cls(victim, machine, amount, last)

    def first(self, victims: int) -> Holding:
        """Return the entries of the first victims."""
        if victims >= self.last.size:
            return self
        end = int(self.last[victims - 1]) + 1 if victims else 0
        return Holding(
            self.victim[:end], self.machine[:end], self.amount[:, :end], self.last[:victims]
        )

    def only(self, entries: Array) -> Holding:
        """Return some entries, by a mask."""
        if entries.all():
            return self
        return Holding.of(self.victim[entries], self.machine[entries], self.amount[:, entries])

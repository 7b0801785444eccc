"""What running workloads hold on the machines of a cluster, in the order of preemption."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
"""Integers, of 64 bits unless amounts are too large for them."""
Amounts: TypeAlias = tuple[int, int, int]
"""GPUs, CPUs and memory in the integers of the fleet."""
Occupants: TypeAlias = tuple[tuple[int, Amounts], ...]
"""Running workloads on a machine, with what each holds there."""


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
        last = np.flatnonzero(np.append(victim[1:] != victim[:-1], victim.size > 0))
        return cls(victim, machine, amount, last)

    def first(self, victims: int) -> Holding:
        """Return the entries of the first victims."""
        end = int(self.last[:victims].max(initial=-1)) + 1
        return Holding(
            self.victim[:end], self.machine[:end], self.amount[:, :end], self.last[:victims]
        )

    def only(self, entries: Array) -> Holding:
        """Return some entries, by a mask."""
        if entries.all():
            return self
        return Holding.of(self.victim[entries], self.machine[entries], self.amount[:, entries])

    def occupants(self, victims: Collection[int]) -> dict[int, Occupants]:
        """Return by machine those of some running workloads that hold something there."""
        held = self.only(np.isin(self.victim, list(victims)))
        occupants: dict[int, Occupants] = {}
        entries = zip(
            held.victim.tolist(), held.machine.tolist(), held.amount.T.tolist(), strict=True
        )
        for victim, machine, amount in entries:
            others = occupants.get(machine, ())
            occupants[machine] = tuple(sorted([*others, (victim, tuple(amount))]))
        return occupants

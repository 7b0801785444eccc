"""Positions of jobs in a workload, ascending: a vector, into which changes are merged when read."""

from __future__ import annotations

import numpy as np

from dlsched.simulation.engine.vectors import Vector


class Positions:
    """A set of positions: a change takes constant time, reading after a change linear time."""

    def __init__(self) -> None:
        self._sorted: Vector = np.zeros(0, np.int64)
        self._added: set[int] = set()
        self._removed: set[int] = set()

    def add(self, job: int) -> None:
        """Add a position that is not there."""
        if job in self._removed:
            self._removed.remove(job)
        else:
            self._added.add(job)

    def remove(self, job: int) -> None:
        """Remove a position that is there."""
        if job in self._added:
            self._added.remove(job)
        else:
            self._removed.add(job)

    def read(self) -> Vector:
        """Return the positions; the vector is never changed."""
        if self._removed:
            stays = np.ones(len(self._sorted), bool)
            stays[np.searchsorted(self._sorted, list(self._removed))] = False
            self._sorted = self._sorted[stays]
            self._removed.clear()
        if self._added:
            # Nearly sorted, which the stable sort makes use of.
            self._sorted = np.concatenate((self._sorted, list(self._added)))
            self._sorted.sort(kind="stable")
            self._added.clear()
        # A view: a policy may keep what it was shown.
        shown = self._sorted.view()
        shown.flags.writeable = False
        return shown

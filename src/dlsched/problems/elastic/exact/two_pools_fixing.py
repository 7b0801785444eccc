"""Parts of the choices on two pools, and tables of them that improve the incumbent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.elastic.programs.incumbent import Incumbent
from dlsched.problems.elastic.structures.items import Ints
from dlsched.problems.elastic.structures.two_pools_knapsack import PoolItems
from dlsched.problems.elastic.structures.two_pools_table import (
    Table,
    fill_table,
    proves,
    read_table,
)
from dlsched.results.result import Termination

Mask: TypeAlias = NDArray[np.bool_]


class Part(NamedTuple):
    """A part of the choices: the items to choose from, and the jobs with items that are not idle.

    ``busy`` has an entry per job with items.
    """

    keep: Mask
    busy: Mask


class Filled(NamedTuple):
    """A table, the worth that fixed items add to its entries, ``None`` if these do not fit."""

    table: Table | None
    fixed: int


@dataclass
class Fixing(Incumbent[PoolItems]):
    """The incumbent, and tables that improve it or show that it is the best of a part."""

    def everything(self) -> Part:
        """Return the part with all choices."""
        items = self.items
        return Part(np.ones(len(items), dtype=bool), np.zeros(len(items.starts), dtype=bool))

    def fill(self, part: Part, worth: Ints) -> Filled | None:
        """Fix the jobs with one choice left, fill the table of the others, offer its optimum.

        Parameters
        ----------
        part
            The choices; a job that is busy without an item in it counts as idle.
        worth
            Worth of all items.

        Returns
        -------
        Filled or None
            ``None`` if a limit is reached.
        """
        items = self.items
        fixed, free, left = self.split(part)
        if min(left) < 0:
            return Filled(None, 0)
        numbers = np.flatnonzero(free & (items.gpus <= left).all(axis=1))
        rows = len(np.unique(items.row[numbers]))
        entries = (rows + 1) * (left[0] + 1) * (left[1] + 1)
        if not self.fits_in_memory(entries, worth.dtype.name):
            return None
        table = fill_table(items, numbers, worth[numbers], (left[0], left[1]), self.stop)
        if table is None:
            return None
        self.offer([*fixed.tolist(), *read_table(table)])
        return Filled(table, sum(worth[fixed].tolist()))

    def split(self, part: Part) -> tuple[NDArray[np.int64], Mask, list[int]]:
        """Return the items of jobs without another choice, the other items, and the GPUs left."""
        items = self.items
        counts = np.bincount(items.row[part.keep], minlength=len(part.busy))
        alone = part.keep & (part.busy & (counts == 1))[items.row]
        fixed = np.flatnonzero(alone)
        taken = items.gpus[fixed].sum(axis=0).tolist()
        return (
            fixed,
            part.keep & ~alone,
            [c - g for c, g in zip(items.capacity, taken, strict=True)],
        )

    def holds(self, filled: Filled | None, worth: Ints) -> bool:
        """Whether a checked table shows that the incumbent is worth as much as any choice."""
        if filled is None:
            return False
        if filled.table is None:  # what must be used does not fit, so nothing beats the incumbent
            return True
        held = sum(worth[np.array(self.incumbent, dtype=np.int64)].tolist())
        most = filled.fixed + int(filled.table.entries[-1, -1, -1])
        return held >= most and proves(filled.table, self.stop)

    def stop(self) -> Termination | None:
        """Return the reason to stop now, if any."""
        return self.run.stop_reason()

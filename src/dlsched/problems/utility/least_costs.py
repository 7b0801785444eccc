"""The least cost of each job's work at integer prices of GPUs: in integers, without a solver.

One pass over the slots for each job: ``least[p]`` is the least cost of doing the work of stage p
(see `stages`) in the slots so far. Work is rounded up where its stages are too many, so a cost is
never more than that of any slots in which the job does its iterations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.utility.schema import Instance
from dlsched.problems.utility.stages import Stages
from dlsched.problems.utility.work import UNITS

NEVER = 2**61
"""The cost of work that cannot be done."""
_HIGHEST = 2**60
"""No sum of costs may be as high, so that sums of it and of `NEVER` fit 64 bits."""


class LeastCosts:
    """The jobs of an instance of gangs, by stages of their work."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.work = Stages(instance, True, UNITS)

    def of(self, prices: Mapping[str, Sequence[int]]) -> NDArray[np.int64]:
        """Return jobs x slots: the least cost of a job's work from its arrival to the slot's end.

        It is at least `NEVER` where the work cannot be done.

        Parameters
        ----------
        prices
            For each GPU type the price of a GPU in every slot, an integer from 0; a type left out
            costs nothing.

        Raises
        ------
        ValueError
            If they are not that, or too high for integers of 64 bits.
        """
        inst = self.instance
        for kind, row in prices.items():
            if kind not in inst.supply or len(row) != inst.slots or min(row) < 0:
                raise ValueError(f"prices of {kind} must be {inst.slots} integers from 0")
        most = max((job.workers for job in inst.jobs), default=1)
        if most * sum(max(row) for row in prices.values()) * inst.slots >= _HIGHEST:
            raise ValueError("prices are too high")
        free = [0] * inst.slots
        table = {kind: np.array(prices.get(kind, free), dtype=np.int64) for kind in inst.supply}
        found = np.full((len(inst.jobs), inst.slots), NEVER, dtype=np.int64)
        for j, (job, speeds) in enumerate(zip(inst.jobs, inst.speeds, strict=True)):
            if speeds:
                cheapest = [np.min([table[k] for k in s.types], axis=0) for s in speeds]
                self._pass(j, job.workers * np.column_stack(cheapest), found[j])
        return found

    def _pass(self, job: int, cost: NDArray[np.int64], found: NDArray[np.int64]) -> None:
        """Write a job's costs by slot.

        Parameters
        ----------
        cost
            Slots x speeds.
        """
        after = self.work.after[self.work.begin[job] : self.work.end[job], : cost.shape[1]]
        least = np.full(len(after), NEVER, dtype=np.int64)
        least[0] = 0
        for t in range(self.instance.jobs[job].arrival - 1, len(found)):
            least = np.minimum(least, (least[after] + cost[t]).min(axis=1))
            found[t] = least[-1]

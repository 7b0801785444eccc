"""Where a job's GPUs are: best fit, kept up to date while jobs are placed one by one."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dlsched.schema import Id
from dlsched.simulation.engine.decision import Allocation, Share
from dlsched.simulation.engine.jobs import Vector
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.job import Job


class Placement:
    """Free GPUs of the usable servers, while a decision is made.

    Parameters
    ----------
    cluster
        The servers; they are tried in this order where they are equally good.
    free
        Free GPUs by position in the cluster, as `State.free` has them; placing a job changes it.
    """

    def __init__(self, cluster: Cluster, free: Vector) -> None:
        self._names, self.index, self._size = cluster.order
        self.free = free

    def release(self, allocation: Allocation) -> None:
        """Free what a job holds that stops or moves."""
        for share in allocation.shares:
            self.free[self.index[share.server]] += share.gpus

    def place(
        self, gpus: int, worker: int = 1, usable: NDArray[np.bool_] | None = None
    ) -> Allocation | None:
        """Take GPUs for a job, and return them; None, with nothing taken, if too few are free.

        One server, the one with the fewest free GPUs that suffice; else whole empty servers while
        they are not larger than what is missing, and one server for the rest; else single GPUs,
        from the servers with the fewest free ones on **(D)**: a job never waits while as many GPUs
        are free as it needs, unless it has workers of several GPUs.

        Parameters
        ----------
        worker
            GPUs of one worker, which are on one server.
        usable
            Servers where the job may run; None for all.
        """
        free = self.free
        if usable is not None:
            self.free = np.where(usable, free, 0)
        places = self._one(gpus)
        if not places and gpus <= self.free.sum():
            places = self._whole(gpus, worker) or self._spread(gpus, worker)
        self.free = free
        if not places:
            return None
        for i, count in places:
            self.free[i] -= count
        return Allocation(tuple(Share(self._names[i], count) for i, count in places))

    def place_all(self, jobs: Iterable[Job]) -> dict[Id, Allocation]:
        """Place jobs in the order given; one that does not fit is left out."""
        placed = ((job.id, self.place(job.gpus, job.gpus_per_worker)) for job in jobs)
        return {name: allocation for name, allocation in placed if allocation is not None}

    def _one(self, gpus: int, skip: frozenset[int] = frozenset()) -> list[tuple[int, int]]:
        # As unsigned numbers those below 0 are the largest, so that too small servers come last.
        left = (self.free - gpus).view(np.uint64)
        for i in skip:
            left[i] = np.iinfo(np.uint64).max
        best = int(left.argmin())
        return [(best, gpus)] if self.free[best] >= gpus and best not in skip else []

    def _whole(self, gpus: int, worker: int) -> list[tuple[int, int]]:
        places, missing = [], gpus
        for i in np.flatnonzero(self.free == self._size):
            if self._size[i] <= missing and not self._size[i] % worker:
                places.append((int(i), int(self._size[i])))
                missing -= int(self._size[i])
            if not missing:
                return places
        rest = self._one(missing, frozenset(i for i, _ in places)) if places else []
        return places + rest if rest else []

    def _spread(self, gpus: int, worker: int) -> list[tuple[int, int]]:
        places, missing = [], gpus
        order = self.free.argsort(kind="stable")
        ascending = self.free[order]
        # The others have no room for a worker.
        first = int(ascending.searchsorted(worker))
        for i, free in zip(order[first:].tolist(), ascending[first:].tolist(), strict=True):
            count = min(missing, free // worker * worker)
            if count:
                places.append((i, count))
                missing -= count
            if not missing:
                return places
        return []

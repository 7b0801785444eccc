"""Places for jobs with target choices: demands spread evenly over the servers."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.sensitivity.definition.schema import Instance
from dlsched.problems.sensitivity.structures.free_resources import Placed

_EPS = 1e-9
_MOST_KINDS = 256
"""Upper limit of the kinds of jobs, by GPUs and load, that exchanges distinguish."""
Loads: TypeAlias = NDArray[np.float64]


class Wanted(NamedTuple):
    """What a job needs.

    Attributes
    ----------
    load
        Load of each of its GPUs on a server; 1 is all that a server has.
    late
        Whether the job is placed after the others.
    """

    gpus: int
    load: float
    late: bool = False


def spread(instance: Instance, wanted: Sequence[Wanted]) -> list[Placed] | None:
    """Return a placement for each job: most GPUs first, then most load, to the least loaded server.

    Of the servers with enough free GPUs for the whole job. If there is none, the job is split over
    as few servers as possible if it may be. A job without a place has none if jobs may wait;
    otherwise there is no placement.
    """
    free = [instance.servers.gpus] * instance.servers.count
    load = [0.0] * instance.servers.count
    placed: list[Placed] = [{} for _ in wanted]
    order = sorted(
        range(len(wanted)),
        key=lambda k: (wanted[k].late, -wanted[k].gpus, -wanted[k].load, k),
    )
    heap: list[tuple[float, int]] = []
    size = 0
    for k in order:
        gpus, load_per_gpu, _ = wanted[k]
        if gpus != size:  # servers without room for the size before may have room for this one
            size = gpus
            heap = [(load[s], s) for s in range(len(free)) if free[s]]
            heapq.heapify(heap)
        while heap and free[heap[0][1]] < gpus:
            heapq.heappop(heap)
        if heap:
            s = heap[0][1]
            placed[k] = {s: gpus}
            free[s] -= gpus
            load[s] += gpus * load_per_gpu
            heapq.heapreplace(heap, (load[s], s))
        elif gpus > 1 and instance.allow_split and sum(free) >= gpus:
            for s in sorted(range(len(free)), key=lambda s: (-free[s], load[s])):
                placed[k][s] = min(free[s], gpus)
                free[s] -= placed[k][s]
                load[s] += placed[k][s] * load_per_gpu
                gpus -= placed[k][s]
                if not gpus:
                    break
        elif not instance.may_wait:
            return None
    return placed


class Exchanges:
    """Exchanges of jobs between servers that reduce the load beyond what servers have.

    Two jobs with equal GPUs, each on one server, change places. The most loaded server comes
    first; of all exchanges that reduce the sum of the excess most, the one of the smallest
    difference in load is made. A server without such an exchange is left as it is. Loads with
    more than `_MOST_KINDS` values are rounded.
    """

    def __init__(self, wanted: Sequence[Wanted], placed: Sequence[Placed], servers: int) -> None:
        self.placed = placed
        digits = next(d for d in (9, 3, 2, 1) if d == 1 or _count(wanted, d) <= _MOST_KINDS)
        kinds: dict[tuple[int, float], int] = {}
        self.on: list[dict[int, list[int]]] = [{} for _ in range(servers)]
        self.over = np.full(servers, -1.0)
        for k, where in enumerate(placed):
            gpus, load_per_gpu, _ = wanted[k]
            for s, count in where.items():
                self.over[s] += count * load_per_gpu
            if len(where) == 1:
                kind = kinds.setdefault((gpus, round(gpus * load_per_gpu, digits)), len(kinds))
                self.on[next(iter(where))].setdefault(kind, []).append(k)
        self.number = np.zeros((servers, len(kinds)), dtype=np.int64)
        for s, here in enumerate(self.on):
            for kind, jobs in here.items():
                self.number[s, kind] = len(jobs)
        self.gpus = np.array([gpus for gpus, _ in kinds])
        self.load = np.array([load for _, load in kinds])

    def run(self) -> None:
        """Make exchanges, at most four for each server."""
        if not len(self.load):
            return
        less = self.load[:, None] - self.load[None, :]
        useful = (self.gpus[:, None] == self.gpus[None, :]) & (less > _EPS)
        excess = self.over.copy()
        for _ in range(4 * len(excess)):
            a = int(np.argmax(excess))
            if excess[a] <= _EPS:
                break
            gives = np.flatnonzero(self.number[a])
            if not len(gives):
                excess[a] = 0.0
                continue
            d = less[gives]
            after = np.maximum(excess[a] - d, 0)[None] + np.maximum(
                self.over[:, None, None] + d[None], 0
            )
            before = excess[a] + np.maximum(self.over, 0)[:, None, None]
            gain = np.where(useful[gives][None] & (self.number[:, None, :] > 0), before - after, 0)
            gain[a] = 0
            best = int(np.argmax(gain - 1e-6 * d[None] * (gain > 0)))
            b, x, y = (int(i) for i in np.unravel_index(best, gain.shape))
            if gain[b, x, y] <= _EPS:
                excess[a] = 0.0
                continue
            self._exchange(a, int(gives[x]), b, y)
            excess[a] = self.over[a]
            excess[b] = self.over[b]

    def _exchange(self, a: int, x: int, b: int, y: int) -> None:
        """Exchange a job of kind x on server a and one of kind y on server b."""
        given = self.on[a][x].pop()
        other = self.on[b][y].pop()
        self.on[a].setdefault(y, []).append(other)
        self.on[b].setdefault(x, []).append(given)
        self.number[a, [x, y]] += (-1, 1)
        self.number[b, [x, y]] += (1, -1)
        gpus = int(self.gpus[x])
        self.placed[given].clear()
        self.placed[given][b] = gpus
        self.placed[other].clear()
        self.placed[other][a] = gpus
        moved = self.load[x] - self.load[y]
        self.over[a] -= moved
        self.over[b] += moved


def _count(wanted: Sequence[Wanted], digits: int) -> int:
    """Return the number of kinds of jobs by GPUs and rounded load."""
    return len({(w.gpus, round(w.gpus * w.load, digits)) for w in wanted})

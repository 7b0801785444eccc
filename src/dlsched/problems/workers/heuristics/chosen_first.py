"""The rule `chosen_first`: choose jobs that can be placed together, then place them best fit.

Level 1 counts jobs, so the chosen are those with the least base GPUs, as long as the workers fit in
number. A server with f free GPUs holds workers of w GPUs only if for every size t the sum of
floor(w / t) is at most floor(f / t); the sums over all servers are what is compared, for at most 64
of the jobs' sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from importlib import import_module
from itertools import cycle, islice, pairwise
from typing import NamedTuple

import numpy as np

from dlsched.problems.workers.definition.check import evaluate
from dlsched.problems.workers.definition.schema import POOLS, Instance, Job, Pool, Solution
from dlsched.problems.workers.heuristics.repair import Placement, repair
from dlsched.problems.workers.programs.room_program import RoomProgram
from dlsched.problems.workers.structures.best_fit import (
    Pools,
    loan_first,
    not_preferred,
    place_base,
    place_workers,
    preferred,
    solution_of,
)
from dlsched.problems.workers.structures.fleet import BestFit, Taken
from dlsched.results.objective import Objective
from dlsched.run import Run

_SIZES = 64
"""Most sizes t that are compared: all would take (jobs x sizes) steps."""
_NODES = 100
"""Most nodes of the search in `RoomProgram`, which takes 12 to 40 ms on 48 to 384 servers."""


class Way(NamedTuple):
    """How a trial places the chosen jobs.

    Attributes
    ----------
    by_pools
        Whether jobs confined to training get their flexible workers before other jobs are placed.
    smallest
        Whether flexible workers with few GPUs are placed first, instead of those with many.
    pools
        Pools in the order in which base workers try them.
    """

    by_pools: bool
    smallest: bool
    pools: Pools = preferred


WAYS = (
    Way(True, False),
    Way(False, True, loan_first),
    Way(True, True),
    Way(False, True, not_preferred),
    Way(False, True),
)


class Trial:
    """One placement, job after job."""

    def __init__(self, instance: Instance, way: Way) -> None:
        self.instance = instance
        self.way = way
        self.fleet = BestFit(instance)
        self.bases: dict[str, Taken] = {}
        self.flexible: dict[str, Taken] = {}
        self.home: dict[str, Pool] = {}

    @property
    def reached(self) -> tuple[int, int]:
        """Placed jobs, and their flexible workers."""
        return len(self.bases), sum(n for taken in self.flexible.values() for _, n in taken)

    def solution(self) -> Solution:
        """Return the placement."""
        return solution_of(self.instance, self.bases, self.flexible)

    def better_than(self, other: Trial) -> bool:
        """Whether it is better; the last levels are compared only where the first are equal."""
        if self.reached != other.reached:
            return self.reached > other.reached
        return self.objective.better_than(other.objective)

    @cached_property
    def objective(self) -> Objective:
        """The value on all levels, by the definition."""
        return evaluate(self.instance, self.solution())

    def place_all(self, first: Sequence[Job], others: Sequence[Job]) -> list[Job]:
        """Place all workers for which there is room; return the jobs of `first` without any.

        Parameters
        ----------
        first, others
            The chosen jobs, and those that are tried after them.
        """
        way = self.way
        confined = [job for job in first if len(job.pools) == 1]
        free = [job for job in first if len(job.pools) > 1]
        failed: list[Job] = []
        waiting: list[Job] = []
        for part in [confined, free] if way.by_pools else [confined + free]:
            placed, refused = self.place(part)
            failed += refused
            waiting += placed
            if way.by_pools:
                self.grow(waiting)
                waiting = []
        placed, _ = self.place(others)
        self.grow(waiting + placed)
        return failed

    def place(self, jobs: Iterable[Job]) -> tuple[list[Job], list[Job]]:
        """Place base workers; return the jobs that got them and those that did not.

        A job that is no smaller than one that failed is not tried: room only shrinks.
        """
        placed: list[Job] = []
        refused: list[Job] = []
        least_refused: dict[tuple[bool, int, int], int] = {}
        for job in jobs:
            key = (job.heterogeneous, len(job.pools), job.gpus_per_worker)
            base = None
            if job.base < least_refused.get(key, job.base + 1):
                base = place_base(self.fleet, job, self.way.pools)
            if base is None:
                least_refused[key] = min(job.base, least_refused.get(key, job.base))
                refused.append(job)
            else:
                self.bases[job.id], self.home[job.id] = base
                placed.append(job)
        return placed, refused

    def grow(self, jobs: Iterable[Job]) -> None:
        """Place flexible workers."""
        if self.way.smallest:
            jobs = sorted(jobs, key=lambda job: job.gpus_per_worker)
        for job in jobs:
            pools = preferred(job, "flexible") if job.heterogeneous else (self.home[job.id],)
            self.flexible[job.id] = place_workers(self.fleet, job, "flexible", job.flexible, pools)


def choose(instance: Instance) -> list[Job]:
    """Return the jobs with the least base GPUs of which the workers fit in number."""
    all_sizes = sorted({job.gpus_per_worker for job in instance.jobs})
    sizes = np.array(all_sizes[:: -(-len(all_sizes) // _SIZES) or 1], dtype=np.int64)
    room = {pool: np.zeros_like(sizes) for pool in POOLS}
    for server, kinds in zip(instance.servers, instance.kinds, strict=True):
        if kinds is None or "base" in kinds:
            room[server.pool] += server.free // sizes
    confined = room["training"]
    both = confined + room["loan"]
    chosen = []
    for job in sorted(instance.jobs, key=_order):
        needed = job.gpus_per_worker // sizes * job.base
        pools = [both] if len(job.pools) > 1 else [both, confined]
        if all((needed <= pool_room).all() for pool_room in pools):
            for pool_room in pools:
                np.subtract(pool_room, needed, out=pool_room)
            chosen.append(job)
    return chosen


def _order(job: Job) -> tuple[int, int, bool, int]:
    """Order jobs by base GPUs; of equal ones those come first that can have flexible workers."""
    gpus = job.base * job.gpus_per_worker
    return gpus, len(job.pools), not job.flexible, job.gpus_per_worker


def best_trial(instance: Instance, decreasing: Sequence[Job], trials: int, run: Run) -> Solution:
    """Return the best of some placements; see the method `chosen_first`."""
    chosen = {job.id for job in choose(instance)}
    first = [job for job in decreasing if job.id in chosen]
    others = sorted((job for job in instance.jobs if job.id not in chosen), key=_order)
    most = (len(chosen), most_flexible(instance, len(chosen)))
    best: Trial | None = None
    for way in islice(cycle(WAYS), trials):
        trial = Trial(instance, way)
        failed = trial.place_all(first, others)
        if best is None or trial.better_than(best):
            best = trial
        if best.reached >= most:
            break
        ids = {job.id for job in failed}
        first = [*failed, *(job for job in first if job.id not in ids)]
    assert best is not None
    if best.reached >= most:
        return best.solution()
    placed, flexible = best.reached
    counted = _counted(instance, placed, run) if sizes_divide(instance) else None
    if counted is None:
        repair(instance, Placement(best.fleet, best.bases, best.flexible, best.home))
        return best.solution()
    return counted if flexible_of(counted) > flexible else best.solution()


def sizes_divide(instance: Instance) -> bool:
    """Whether the GPUs of each worker divide those of the next larger one."""
    sizes = sorted({job.gpus_per_worker for job in instance.jobs})
    return all(large % small == 0 for small, large in pairwise(sizes))


def _counted(instance: Instance, placed: int, run: Run) -> Solution | None:
    """Return the placement of `RoomProgram`, if one is found."""
    if run.stop_reason():
        return None
    with run.paused():
        for name in ("highspy", "scipy.sparse"):
            import_module(name)
    return RoomProgram(instance, placed).solution(run.nested(), _NODES)


def flexible_of(solution: Solution) -> int:
    """Return the flexible workers that a solution places."""
    return sum(sum(placed.flexible.values()) for placed in solution.placement.values())


def most_flexible(instance: Instance, placed: int) -> int:
    """Return the flexible workers, smallest first, that the GPUs suffice for beside some jobs.

    Parameters
    ----------
    placed
        Jobs that are placed; those with the least base GPUs take no more than others.
    """
    room = sum(server.free for server in instance.servers)
    room -= sum(sorted(job.base * job.gpus_per_worker for job in instance.jobs)[:placed])
    most = 0
    for job in sorted(instance.jobs, key=lambda job: job.gpus_per_worker):
        count = min(job.flexible, room // job.gpus_per_worker)
        room -= count * job.gpus_per_worker
        most += count
    return most

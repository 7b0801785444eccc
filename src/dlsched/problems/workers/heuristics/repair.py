"""A repair of a placement that misses flexible workers: a job makes room and is placed again.

A missing flexible worker fits nowhere. So a placed job leaves, the worker takes the room, and the
job, or one that waits, is placed in the gaps that are left. A step is kept if it places more
flexible workers, so that the number of placed jobs stays and the repair ends.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from dlsched.problems.workers.definition.schema import Instance, Job, Pool
from dlsched.problems.workers.structures.best_fit import (
    Pools,
    loan_first,
    place_base,
    place_workers,
    preferred,
    training_first,
)
from dlsched.problems.workers.structures.fleet import BestFit, Taken

_ATTEMPTS = 100
"""Most jobs that leave in one repair, to keep it within some milliseconds."""
_TOGETHER = 8
"""Most jobs that leave together."""
_OTHERS = 3
"""Most jobs of different sizes that are tried instead of the one that left."""


class Placement(NamedTuple):
    """Where the workers of the placed jobs are."""

    fleet: BestFit
    """Free GPUs of the servers."""
    bases: dict[str, Taken]
    """Base workers by job."""
    flexible: dict[str, Taken]
    """Flexible workers by job."""
    home: dict[str, Pool]
    """Pool of each placed job; of a heterogeneous one that of its first worker."""


def repair(instance: Instance, placement: Placement) -> None:
    """Place missing flexible workers, changing the placement.

    Parameters
    ----------
    placement
        A placement with no room left for a flexible worker that is missing.
    """
    state = _Repair(instance, placement)
    for job in sorted(instance.jobs, key=lambda job: job.gpus_per_worker):
        while state.missing(job) and state.step(job):
            pass


class _Entered(NamedTuple):
    """Workers of a job that was placed again."""

    base: Taken
    flexible: Taken
    home: Pool


class _Repair:
    """A placement while it is repaired."""

    def __init__(self, instance: Instance, placement: Placement) -> None:
        self.placement = placement
        self.fleet = placement.fleet
        self.jobs = sorted(instance.jobs, key=lambda job: job.base * job.gpus_per_worker)
        self.left = _ATTEMPTS
        self.hopeless: set[tuple[int, tuple[Pool, ...]]] = set()

    def missing(self, job: Job) -> int:
        """Return the flexible workers that a placed job could still get."""
        if job.id not in self.placement.bases:
            return 0
        return job.flexible - _total(self.placement.flexible[job.id])

    def step(self, job: Job) -> bool:
        """Place a missing flexible worker of a job by letting another job leave."""
        home = self.placement.home[job.id]
        pools = preferred(job, "flexible") if job.heterogeneous else (home,)
        key = (job.gpus_per_worker, pools)
        if key in self.hopeless:
            return False
        for leaving in chain(self._single(job, pools), self._together(pools)):
            self.left -= 1
            if self.left < 0:
                return False
            if self._exchange(job, pools, leaving):
                self.hopeless.clear()
                return True
        self.hopeless.add(key)
        return False

    def _single(self, job: Job, pools: Sequence[Pool]) -> Iterator[list[Job]]:
        """Yield jobs that would make room for a worker, small ones first, of equal ones one."""
        fleet = self.fleet
        seen = set()
        for other in self.jobs:
            if other is job or other.id not in self.placement.bases:
                continue
            workers = self._workers(other)
            size = other.gpus_per_worker
            if any(
                fleet.pool[s] in pools and fleet.free[s] + n * size >= job.gpus_per_worker
                for s, n in workers
            ):
                where = sorted(
                    (fleet.pool[s], fleet.group[s], fleet.free[s], n) for s, n in workers
                )
                kind = (size, other.base, other.flexible, other.pools, other.heterogeneous)
                key = (kind, tuple(where))
                if key not in seen:
                    seen.add(key)
                    yield [other]

    def _together(self, pools: Sequence[Pool]) -> Iterator[list[Job]]:
        """Yield the jobs on one loan server, which then may get flexible workers."""
        if "loan" not in pools:
            return
        on: defaultdict[int, list[Job]] = defaultdict(list)
        for job in self.jobs:
            for s, _ in self.placement.bases.get(job.id, ()):
                if self.fleet.pool[s] == "loan" and self.fleet.first_group[s] != "base":
                    on[s].append(job)
        yield from (jobs for jobs in sorted(on.values(), key=len) if 1 < len(jobs) <= _TOGETHER)

    def _workers(self, job: Job) -> Taken:
        return self.placement.bases[job.id] + self.placement.flexible[job.id]

    def _exchange(self, job: Job, pools: Sequence[Pool], leaving: list[Job]) -> bool:
        """Let jobs leave for a worker of another, and place them again; or one that waits."""
        if job in leaving:
            return False
        fleet = self.fleet
        fleet.keep()
        for other in leaving:
            fleet.withdraw(self._workers(other), other.gpus_per_worker)
        extra = place_workers(fleet, job, "flexible", 1, pools)
        if extra and self._again(leaving):
            counts = Counter(dict(self.placement.flexible[job.id]))
            counts.update(dict(extra))
            self.placement.flexible[job.id] = list(counts.items())
            return True
        fleet.undo()
        return False

    def _again(self, leaving: list[Job]) -> bool:
        """Place the jobs that left; instead of a single one, also one that waits."""
        sets = [leaving]
        if len(leaving) == 1:
            sets += [[job] for job in self._waiting()]
        flexible = sum(_total(self.placement.flexible[job.id]) for job in leaving)
        before = len(self.fleet.changes)
        for entering in sets:
            for order in (preferred, loan_first, training_first):
                placed = self._enter(entering, order)
                if placed is not None and sum(_total(p.flexible) for p in placed) >= flexible:
                    for job in leaving:
                        del self.placement.bases[job.id], self.placement.flexible[job.id]
                    for job, made in zip(entering, placed, strict=True):
                        self.placement.bases[job.id] = made.base
                        self.placement.flexible[job.id] = made.flexible
                        self.placement.home[job.id] = made.home
                    return True
                self.fleet.undo(before)
        return False

    def _enter(self, jobs: list[Job], order: Pools) -> list[_Entered] | None:
        """Place all base workers of jobs, then flexible ones."""
        bases = []
        for job in jobs:
            placed = place_base(self.fleet, job, order)
            if placed is None:
                return None
            bases.append(placed)
        made = []
        for job, (base, home) in zip(jobs, bases, strict=True):
            pools = preferred(job, "flexible") if job.heterogeneous else (home,)
            more = place_workers(self.fleet, job, "flexible", job.flexible, pools)
            made.append(_Entered(base, more, home))
        return made

    def _waiting(self) -> Iterator[Job]:
        """Yield some jobs without workers, of different sizes, small ones first."""
        seen: set[tuple[int, int, tuple[Pool, ...], bool]] = set()
        for job in self.jobs:
            key = (job.gpus_per_worker, job.base, job.pools, job.heterogeneous)
            if job.id not in self.placement.bases and key not in seen:
                if len(seen) == _OTHERS:
                    return
                seen.add(key)
                yield job


def _total(taken: Taken) -> int:
    return sum(count for _, count in taken)

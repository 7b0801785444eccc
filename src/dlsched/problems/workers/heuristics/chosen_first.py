"""The rule `chosen_first`: choose jobs that can be placed together, then place them best fit.

Level 1 counts jobs, so the chosen are those with the least base GPUs, as long as the workers fit in
number. A server with f free GPUs holds workers of w GPUs only if for every size t the sum of
floor(w / t) is at most floor(f / t); the sums over all servers are what is compared, for at most 64
of the jobs' sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from dlsched.problems.workers.definition.schema import Instance, Job, Pool
from dlsched.problems.workers.structures.best_fit import place_base, place_workers, preferred
from dlsched.problems.workers.structures.fleet import BestFit, Taken

Value: TypeAlias = tuple[int, int, int, int]
"""Jobs and flexible workers; GPUs off preference and servers opened with their signs changed."""
_SIZES = 64
"""Most sizes t that are compared: all would take (jobs x sizes) steps."""


class Way(NamedTuple):
    """How a trial places the chosen jobs.

    Attributes
    ----------
    by_pools
        Whether jobs confined to training get their flexible workers before other jobs are placed.
    smallest
        Whether flexible workers with few GPUs are placed first, instead of those with many.
    """

    by_pools: bool
    smallest: bool


WAYS = (Way(True, False), Way(True, True), Way(False, True))


class Trial:
    """One placement, job after job."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.fleet = BestFit(instance)
        self.bases: dict[str, Taken] = {}
        self.flexible: dict[str, Taken] = {}
        self.home: dict[str, Pool] = {}

    def place(self, jobs: Iterable[Job]) -> tuple[list[Job], list[Job]]:
        """Place base workers; return the jobs that got them and those that did not.

        A job that is no smaller than one that failed is not tried: room only shrinks.
        """
        placed: list[Job] = []
        left: list[Job] = []
        failed: dict[tuple[bool, int, int], int] = {}
        for job in jobs:
            key = (job.heterogeneous, len(job.pools), job.gpus_per_worker)
            found = None
            if job.base < failed.get(key, job.base + 1):
                found = place_base(self.fleet, job, preferred)
            if found is None:
                failed[key] = min(job.base, failed.get(key, job.base))
                left.append(job)
            else:
                self.bases[job.id], self.home[job.id] = found
                placed.append(job)
        return placed, left

    def grow(self, jobs: Iterable[Job], smallest: bool) -> None:
        """Place flexible workers."""
        jobs = sorted(jobs, key=lambda job: job.gpus_per_worker) if smallest else jobs
        for job in jobs:
            pools = preferred(job, "flexible") if job.heterogeneous else (self.home[job.id],)
            self.flexible[job.id] = place_workers(self.fleet, job, "flexible", job.flexible, pools)

    def value(self) -> Value:
        """Return the levels of the placement."""
        servers = self.instance.servers
        flexible = off = 0
        used: set[int] = set()
        for name, base in self.bases.items():
            job = self.instance.jobs[self.instance.job_index[name]]
            more = self.flexible[name]
            flexible += sum(count for _, count in more)
            workers = [*base, *more]
            used.update(s for s, _ in workers)
            if len(job.pools) > 1:
                first = job.pools[0]
                away = sum(count for s, count in workers if servers[s].pool != first)
                off += away * job.gpus_per_worker
        opened = sum(servers[s].empty for s in used)
        return len(self.bases), flexible, -off, -opened


def choose(instance: Instance) -> list[Job]:
    """Return the jobs with the least base GPUs of which the workers fit in number."""
    sizes = sorted({job.gpus_per_worker for job in instance.jobs})
    sizes = sizes[:: -(-len(sizes) // _SIZES) or 1]
    room: dict[Pool, list[int]] = {"training": [0] * len(sizes), "loan": [0] * len(sizes)}
    for server, kinds in zip(instance.servers, instance.kinds, strict=True):
        if kinds is None or "base" in kinds:
            for k, size in enumerate(sizes):
                room[server.pool][k] += server.free // size
    confined = room["training"]
    both = [a + b for a, b in zip(confined, room["loan"], strict=True)]
    chosen = []
    for job in sorted(instance.jobs, key=_order):
        needs = [job.gpus_per_worker // size * job.base for size in sizes]
        rooms = [both] if len(job.pools) > 1 else [both, confined]
        if all(n <= have for own in rooms for n, have in zip(needs, own, strict=True)):
            for own in rooms:
                own[:] = [have - n for n, have in zip(needs, own, strict=True)]
            chosen.append(job)
    return chosen


def _order(job: Job) -> tuple[int, int, bool, int]:
    """Order jobs by base GPUs; of equal ones those come first that can have flexible workers."""
    gpus = job.base * job.gpus_per_worker
    return gpus, len(job.pools), not job.flexible, job.gpus_per_worker


def trial(
    instance: Instance, first: Sequence[Job], others: Sequence[Job], way: Way
) -> tuple[Trial, list[Job]]:
    """Return a placement of jobs in an order, and those of the first for which there is no room.

    Parameters
    ----------
    first, others
        The chosen jobs, and those that are tried after them.
    """
    made = Trial(instance)
    confined = [job for job in first if len(job.pools) == 1]
    free = [job for job in first if len(job.pools) > 1]
    failed: list[Job] = []
    waiting: list[Job] = []
    for part in (confined, free) if way.by_pools else ([*confined, *free],):
        placed, left = made.place(part)
        failed += left
        if way.by_pools:
            made.grow(placed, way.smallest)
        else:
            waiting += placed
    placed, _ = made.place(others)
    made.grow([*waiting, *placed], way.smallest)
    return made, failed


def best_trial(instance: Instance, decreasing: Sequence[Job], trials: int) -> Trial:
    """Return the best of some placements; see the method `chosen_first`."""
    chosen = {job.id for job in choose(instance)}
    first = [job for job in decreasing if job.id in chosen]
    others = sorted((job for job in instance.jobs if job.id not in chosen), key=_order)
    everything = len(instance.jobs), sum(job.flexible for job in instance.jobs)
    best: Trial | None = None
    value: Value | None = None
    for turn in range(trials):
        made, failed = trial(instance, first, others, WAYS[turn % len(WAYS)])
        worth = made.value()
        if value is None or worth > value:
            best, value = made, worth
        if value[:2] == everything:
            break
        if failed:
            ids = {job.id for job in failed}
            first = [*failed, *(job for job in first if job.id not in ids)]
    assert best is not None
    return best

"""Placing the workers of one job after the other: pools in order, base workers all or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from dlsched.problems.workers.definition.schema import Instance, Job, Kind, Placed, Pool, Solution
from dlsched.problems.workers.structures.fleet import Fleet, Taken
from dlsched.schema import FrozenDict

Pools = Callable[[Job, Kind], tuple[Pool, ...]]
"""Pools for a kind of worker of a job, in the order in which they are tried."""


def preferred(job: Job, kind: Kind) -> tuple[Pool, ...]:
    """Return the pools for a kind of worker of a job, the preferred one first."""
    if not job.heterogeneous:
        return job.pools
    return ("training", "loan") if kind == "base" else ("loan", "training")


def training_first(job: Job, kind: Kind) -> tuple[Pool, ...]:
    """Return the pools for a worker of a job, training servers first."""
    return ("training", "loan") if len(job.pools) > 1 else job.pools


def place_base(fleet: Fleet, job: Job, pools: Pools) -> tuple[Taken, Pool] | None:
    """Place all base workers of a job, or none; return where, and the pool of the first."""
    tried = pools(job, "base")
    before = len(fleet.changes)
    for choice in [tried] if job.heterogeneous else [(pool,) for pool in tried]:
        placed = place_workers(fleet, job, "base", job.base, choice)
        if sum(count for _, count in placed) == job.base:
            return placed, choice[0]
        fleet.undo(before)
    return None


def place_workers(fleet: Fleet, job: Job, kind: Kind, count: int, pools: Iterable[Pool]) -> Taken:
    """Place up to `count` workers of a job, in the first pool as long as they fit there."""
    placed: Taken = []
    for pool in pools:
        if count:
            here = fleet.place(pool, kind, job.gpus_per_worker, count)
            placed += here
            count -= sum(workers for _, workers in here)
    return placed


def solution_of(
    instance: Instance, bases: Mapping[str, Taken], flexible: Mapping[str, Taken]
) -> Solution:
    """Return the solution, without validation, which would take longer than the placement."""
    ids = [server.id for server in instance.servers]
    placement = {
        name: Placed.model_construct(
            base=FrozenDict({ids[s]: count for s, count in base}),
            flexible=FrozenDict({ids[s]: count for s, count in flexible[name]}),
        )
        for name, base in bases.items()
    }
    return Solution.model_construct(placement=FrozenDict(placement))

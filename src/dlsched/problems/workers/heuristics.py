"""Lyra's best-fit decreasing for workers (section 5.3), two variants of it, and two baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.workers.fleet import BestFit, FirstFit, Fleet, Taken
from dlsched.problems.workers.schema import Instance, Job, Kind, Placed, Pool, Solution
from dlsched.registry import method
from dlsched.schema import FrozenDict

Pools = Callable[[Job, Kind], tuple[Pool, ...]]
"""Pools for a kind of worker of a job, in the order in which they are tried."""


@method("workers", kind="heuristic")
def bfd(instance: Instance, rng: np.random.Generator) -> Solution:
    """Best-fit decreasing: jobs by GPUs per worker, base workers before flexible, job by job.

    Lyra, section 5.3: jobs with larger workers first, each worker on the non-empty server that fits
    it best, else on an empty one; elastic jobs prefer loan servers, others training servers; base
    and flexible workers of loan servers are in separate groups. Section 6: heterogeneous jobs come
    after all others, with base workers on training servers and flexible workers on loan servers
    whenever possible. Ties between jobs go to the one with more GPUs, then to the file's order.
    """
    return _place(instance, BestFit(instance), _decreasing(instance), preferred)


@method("workers", kind="heuristic")
def bases_first(instance: Instance, rng: np.random.Generator) -> Solution:
    """Best-fit decreasing with the base workers of all jobs before any flexible worker.

    The other reading of Lyra, section 5.3, which does not say when flexible workers are placed;
    apart from that it is `bfd`.
    """
    order = _decreasing(instance)
    return _place(instance, BestFit(instance), order, preferred, bases_first=True)


@method("workers", kind="heuristic")
def confined_first(instance: Instance, rng: np.random.Generator) -> Solution:
    """As `bfd`, but jobs that must be on training servers come first, of this library.

    In `bfd` inelastic jobs that could be on loan servers fill training servers before jobs that
    have no other choice.
    """
    order = sorted(_decreasing(instance), key=lambda job: len(job.pools))
    return _place(instance, BestFit(instance), order, preferred)


@method("workers", kind="baseline")
def naive_bfd(instance: Instance, rng: np.random.Generator) -> Solution:
    """Best-fit decreasing without groups, and all jobs prefer training servers.

    Lyra, section 7.2 and Table 6: elastic jobs are treated as inelastic ones.

    Raises
    ------
    OptionError
        If the instance has separate groups, which its placements would not keep.
    """
    if instance.separate_groups:
        raise OptionError(
            f"naive_bfd has no groups; set separate_groups to false in {instance.name}"
        )
    return _place(instance, BestFit(instance), _decreasing(instance), training_first)


@method("workers", kind="baseline")
def first_fit(instance: Instance, rng: np.random.Generator) -> Solution:
    """First fit, a baseline of this library: jobs and servers in the file's order.

    Pools and groups are those of `bfd` (Lyra, section 5.3).
    """
    return _place(instance, FirstFit(instance), instance.jobs, preferred)


def _decreasing(instance: Instance) -> list[Job]:
    """Return the jobs by GPUs per worker, then by all their GPUs, heterogeneous ones last."""
    return sorted(
        instance.jobs,
        key=lambda job: (
            job.heterogeneous,
            -job.gpus_per_worker,
            -(job.base + job.flexible) * job.gpus_per_worker,
        ),
    )


def preferred(job: Job, kind: Kind) -> tuple[Pool, ...]:
    """Return the pools for a kind of worker of a job, the preferred one first."""
    if not job.heterogeneous:
        return job.pools
    return ("training", "loan") if kind == "base" else ("loan", "training")


def training_first(job: Job, kind: Kind) -> tuple[Pool, ...]:
    """Return the pools for a worker of a job, training servers first."""
    return ("training", "loan") if len(job.pools) > 1 else job.pools


def _place(
    instance: Instance,
    fleet: Fleet,
    jobs: Iterable[Job],
    pools: Pools,
    *,
    bases_first: bool = False,
) -> Solution:
    """Place jobs in their order; one whose base workers do not all fit is left out."""
    bases: dict[str, Taken] = {}
    flexible: dict[str, Taken] = {}
    waiting: list[tuple[Job, tuple[Pool, ...]]] = []
    for job in jobs:
        placed = place_base(fleet, job, pools)
        if placed is None:
            continue
        bases[job.id], home = placed
        more = pools(job, "flexible") if job.heterogeneous else (home,)
        if bases_first:
            waiting.append((job, more))
        else:
            flexible[job.id] = place_workers(fleet, job, "flexible", job.flexible, more)
    for job, more in waiting:
        flexible[job.id] = place_workers(fleet, job, "flexible", job.flexible, more)
    return _solution(instance, bases, flexible)


def _solution(
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


def place_base(fleet: Fleet, job: Job, pools: Pools) -> tuple[Taken, Pool] | None:
    """Place all base workers of a job, or none; return where, and the pool of the first."""
    tried = pools(job, "base")
    for choice in [tried] if job.heterogeneous else [(pool,) for pool in tried]:
        taken = place_workers(fleet, job, "base", job.base, choice)
        if sum(count for _, count in taken) == job.base:
            fleet.keep()
            return taken, choice[0]
        fleet.undo()
    return None


def place_workers(fleet: Fleet, job: Job, kind: Kind, count: int, pools: tuple[Pool, ...]) -> Taken:
    """Place up to `count` workers of a job, in the first pool as long as they fit there."""
    taken: Taken = []
    for pool in pools:
        if count:
            here = fleet.place(pool, kind, job.gpus_per_worker, count)
            taken += here
            count -= sum(workers for _, workers in here)
    if kind == "flexible":
        fleet.keep()
    return taken

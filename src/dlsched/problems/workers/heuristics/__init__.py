"""Lyra's best-fit decreasing for workers (section 5.3), two variants of it, and a baseline."""

from collections.abc import Iterable

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.workers.definition.schema import Instance, Job, Pool, Solution
from dlsched.problems.workers.structures.fleet import (
    BestFit,
    Pools,
    Taken,
    place_base,
    place_workers,
    preferred,
    solution_of,
    training_first,
)
from dlsched.registry.own import method


@method("workers", kind="heuristic")
def bfd(instance: Instance, rng: np.random.Generator) -> Solution:
    """Best-fit decreasing: jobs by GPUs per worker, base workers before flexible, job by job.

    Lyra, section 5.3: jobs with larger workers first, each worker on the non-empty server that fits
    it best, else on an empty one; elastic jobs prefer loan servers, others training servers; base
    and flexible workers of loan servers are in separate groups. Section 6: heterogeneous jobs come
    after all others, with base workers on training servers and flexible workers on loan servers
    whenever possible. Ties between jobs go to the one with more GPUs, then to the file's order.
    """
    return _place(instance, _decreasing(instance), preferred)


@method("workers", kind="heuristic")
def bases_first(instance: Instance, rng: np.random.Generator) -> Solution:
    """Best-fit decreasing with the base workers of all jobs before any flexible worker.

    The other reading of Lyra, section 5.3, which does not say when flexible workers are placed;
    apart from that it is `bfd`.
    """
    order = _decreasing(instance)
    return _place(instance, order, preferred, bases_first=True)


@method("workers", kind="heuristic")
def confined_first(instance: Instance, rng: np.random.Generator) -> Solution:
    """As `bfd`, but jobs that must be on training servers come first, of this library.

    In `bfd` inelastic jobs that could be on loan servers fill training servers before jobs that
    have no other choice.
    """
    return confined_placement(instance)


def confined_placement(instance: Instance) -> Solution:
    """Return the placement of `confined_first`, from which exact methods begin."""
    order = sorted(_decreasing(instance), key=lambda job: len(job.pools))
    return _place(instance, order, preferred)


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
    return _place(instance, _decreasing(instance), training_first)


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


def _place(
    instance: Instance, jobs: Iterable[Job], pools: Pools, *, bases_first: bool = False
) -> Solution:
    """Place jobs in their order; one whose base workers do not all fit is left out."""
    fleet = BestFit(instance)
    bases: dict[str, Taken] = {}
    flexible: dict[str, Taken] = {}
    waiting: list[tuple[Job, tuple[Pool, ...]]] = []
    for job in jobs:
        base = place_base(fleet, job, pools)
        if base is None:
            continue
        bases[job.id], home = base
        waiting.append((job, pools(job, "flexible") if job.heterogeneous else (home,)))
        if not bases_first:
            _grow(fleet, waiting, flexible)
    _grow(fleet, waiting, flexible)
    return solution_of(instance, bases, flexible)


def _grow(
    fleet: BestFit, waiting: list[tuple[Job, tuple[Pool, ...]]], flexible: dict[str, Taken]
) -> None:
    """Place the flexible workers of waiting jobs, each in some pools; then none waits."""
    for job, pools in waiting:
        flexible[job.id] = place_workers(fleet, job, "flexible", job.flexible, pools)
    waiting.clear()

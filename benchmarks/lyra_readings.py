"""Other readings of Lyra's rules and baselines, which its simulation is compared with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import dlsched
from dlsched.errors import OptionError
from dlsched.problems.elastic.definition.schema import Instance, Job, Solution
from dlsched.simulation import Decision, State
from dlsched.simulation.policies.lyra import Lyra
from dlsched.simulation.policies.ordering import Fifo


class SkippingFifo(Fifo):
    """First in, first out; a job that does not fit is skipped."""

    name = "fifo_skipping"
    strict = False


class OnLoanOnly(Lyra):
    """Fungible jobs that are not elastic run on loan only; preempted ones wait like all others.

    A reading that section 5.3 contradicts, by which such jobs prefer training servers.
    """

    name = "on_loan_only"

    def __init__(self, method: Any = None, **options: Any) -> None:
        super().__init__(method, elastic=fungible_on_loan, **options)

    def decide(self, state: State) -> Decision:
        """Return the changes of this round."""
        stopped = set(self.memory.get("stopped", ()))
        self.memory = {**self.memory, "head": []}
        decision = super().decide(state)
        left = (stopped | set(decision.preempt)) - set(decision.start)
        self.memory = {**self.memory, "head": [], "stopped": sorted(left)}
        jobs = state.workload.by_id
        restart = {name: jobs[name].restart for name in decision.start if name in stopped}
        return replace(decision, overhead={**decision.overhead, **restart})


def fungible_on_loan(instance: Instance, rng: np.random.Generator) -> Solution:
    """Start inelastic fungible jobs on loan, the shortest first; `lyra` for all others."""
    if not instance.pools:
        return _lyra(instance)
    room = {pool.id: pool.capacity for pool in instance.pools}
    confined = [
        job
        for job in instance.jobs
        if job.fungible and not job.running and job.min_workers == job.max_workers
    ]
    started: dict[str, dict[str, int]] = {}
    for job in sorted(confined, key=lambda job: job.running_time(job.min_workers)):
        gpus = job.min_workers * job.gpus_per_worker
        if gpus <= room["loan"]:
            room["loan"] -= gpus
            started[job.id] = {"loan": job.min_workers}
    names = {job.id for job in confined}
    rest = instance.model_copy(
        update={
            "pools": tuple(
                pool.model_copy(update={"capacity": room[pool.id]}) for pool in instance.pools
            ),
            "jobs": tuple(job for job in instance.jobs if job.id not in names),
        }
    )
    return Solution(workers={**_lyra(rest).workers, **started})


def _lyra(instance: Instance) -> Solution:
    solution = dlsched.solve(instance, "lyra").solution
    assert isinstance(solution, Solution)
    return solution


def afs_pairs(instance: Instance, rng: np.random.Generator) -> Solution:
    """Return workers by AFS's own rule (Hwang et al., NSDI'21), after every job has its base.

    Of a pair of jobs, a with less time left and b, b is to grow if (p'_b - p_b) / p'_b is above
    (p'_a - p_a) / p_a, with the throughputs p now and p' with one more worker: then the sum of both
    completion times is less. The winner of all pairs in turn gets a worker, until nothing fits.
    Gains are per GPU of a worker, as Lyra's authors have it; base demands are served as by `afs`.

    Raises
    ------
    OptionError
        If there are two pools.
    """
    if instance.pools:
        raise OptionError("afs_pairs is for clusters without a loan")
    workers, free = {job.id: job.min_workers for job in instance.jobs if job.running}, instance.gpus
    for job in instance.jobs:
        if not job.running and job.gpus(job.min_workers) <= free:
            workers[job.id] = job.min_workers
            free -= job.gpus(job.min_workers)
    growing = [
        job for job in instance.jobs if job.id in workers and job.max_workers > job.min_workers
    ]
    while growing:
        growing = [
            job
            for job in growing
            if workers[job.id] < job.max_workers and job.gpus_per_worker <= free
        ]
        best: Job | None = None
        for job in growing:
            if best is None or _comes_first(job, best, workers):
                best = job
        if best is not None:
            workers[best.id] += 1
            free -= best.gpus_per_worker
    return Solution(workers=workers)


def _comes_first(job: Job, best: Job, workers: dict[str, int]) -> bool:
    """Return whether a job is to grow before the best one so far."""
    pair = (job, best)
    now, then = ([float(j.running_time(workers[j.id] + more)) for j in pair] for more in (0, 1))
    # Relative gains: of the one with more time left by p', of the other one by p.
    of_new = [(1 - then[k] / now[k]) / j.gpus_per_worker for k, j in enumerate(pair)]
    of_old = [(now[k] / then[k] - 1) / j.gpus_per_worker for k, j in enumerate(pair)]
    return of_new[0] > of_old[1] if now[0] >= now[1] else of_new[1] <= of_old[0]

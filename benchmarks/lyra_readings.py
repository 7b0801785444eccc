"""Other readings of Lyra's rules and baselines, which its simulation is compared with."""

from dataclasses import replace
from typing import Any

import numpy as np

import dlsched
from dlsched.problems.elastic.definition.schema import Instance, Solution
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

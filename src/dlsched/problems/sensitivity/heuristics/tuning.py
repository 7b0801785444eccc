"""Synergy-TUNE (Synergy, section 4.2): the method, and the placement of one job."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dlsched.problems.sensitivity.definition.schema import Choice, Instance, Job
from dlsched.problems.sensitivity.structures.free_resources import (
    Cluster,
    Placed,
    filled,
    solution_of,
)
from dlsched.registry.own import method
from dlsched.results.result import Claim, Status, Termination
from dlsched.schema import Number


@method("sensitivity", kind="heuristic")
def tune(instance: Instance) -> Claim:
    """Synergy-TUNE (section 4.2): best-case demands, back to the proportional share on conflict.

    Jobs are placed in descending order of their best-case demands, see `Instance.best_cases`, by
    GPUs, then CPUs, then memory. (1) A job is placed with its demand on the server with the least
    free resources that can take it, or on as few servers as possible. (2) If it does not fit and
    its demand for CPUs or memory is above the proportional share, both become the share, and it is
    tried again. (3) If it still does not fit, its demand is kept, and it goes to the server with
    the fewest free GPUs that suffice, or to as few servers as possible: jobs there that are above
    their share revert to it, on all their servers, until the demand fits. A server that this
    overloads (a job above its share of CPUs may be below that of memory) reverts its own jobs in
    turn.

    Where jobs may wait, the jobs considered are those of `runnable`. A job waits, or there is no
    solution, only if the servers that it may use have too few free GPUs.
    """
    jobs = runnable(instance)
    jobs.sort(key=lambda job: tuple(-d for d in best_demand(instance, job)))
    return _tuned_in_order(instance, jobs)


@method("sensitivity", kind="heuristic")
def tune_public(instance: Instance) -> Claim:
    """TUNE as in the authors' public code: in the file's order, first fit, peers by CPUs per GPU.

    That is msr-fiddle/synergy, ``_tune`` in ``simulator/resources/cluster.py``, with the placement
    of ``FIFO+tune``. Where that code would stop because a reverted job needs more memory than is
    free, further jobs are reverted as in `tune`.
    """
    return _tuned_in_order(instance, runnable(instance), public=True)


def runnable(instance: Instance) -> list[Job]:
    """Return the jobs of the round (section 4.2): the first that fit the cluster's GPUs.

    All jobs unless they may wait. As in the public code, a job with more GPUs than are left is
    skipped, and smaller ones after it are taken.
    """
    if not instance.may_wait:
        return list(instance.jobs)
    servers = instance.servers
    chosen = []
    free = servers.count * servers.gpus
    for job in instance.jobs:
        gpus = instance.profile(job).gpus
        if gpus <= free and (gpus <= servers.gpus or instance.allow_split):
            free -= gpus
            chosen.append(job)
    return chosen


def _tuned_in_order(instance: Instance, jobs: Iterable[Job], public: bool = False) -> Claim:
    """Place jobs in their order by a `Tuner`."""
    cluster = Cluster(instance)
    tuner = Tuner(cluster, public)
    return claim_of(cluster, [job for job in jobs if not tuner.place(job)])


def claim_of(cluster: Cluster, waiting: Sequence[Job]) -> Claim:
    """Return the allocation, or no solution if a job waits that may not."""
    if waiting and not cluster.instance.may_wait:
        others = f" and {len(waiting) - 1} more" if len(waiting) > 1 else ""
        reason = f"job {waiting[0].id}{others} would wait: its demand fits on no servers"
        return Claim(status=Status.NO_SOLUTION, termination=Termination.FINISHED, reason=reason)
    return Claim(solution=solution_of(cluster.instance, cluster.given))


def best_demand(instance: Instance, job: Job) -> tuple[Number, Number, Number]:
    """Return GPUs, CPUs and memory of a job's best-case demand."""
    gpus = instance.profile(job).gpus
    choice = instance.best_cases[job.profile]
    return gpus, gpus * choice.cpus, gpus * choice.memory


class Tuner:
    """Places jobs one by one; reverts earlier ones to their proportional share on conflict.

    A job goes to the server with the least free resources that can take it, else to the fewest
    servers. Of the jobs above their share the one is reverted that alone releases the missing
    amount, with the least surplus; if none does, the one that releases most of it.

    With `public` as in the authors' public code: servers in their order, and jobs on the fewest
    servers are reverted first, of these the one with most CPUs per GPU, then most memory.
    """

    def __init__(self, cluster: Cluster, public: bool) -> None:
        self.cluster = cluster
        self.instance = cluster.instance
        self.first = public
        self.fit = cluster.first_fit if public else cluster.best_fit
        self.rank = self._cpu_per_gpu if public else self._just_enough

    def place(self, job: Job) -> bool:
        """Place a job, reverting others if necessary; false if there are too few free GPUs."""
        cluster = self.cluster
        fair = self.instance.shares[job.profile]
        demand = self.instance.best_cases[job.profile]
        placed = self.fit(job, demand)
        if placed is None and (demand.cpus > fair.cpus or demand.memory > fair.memory):
            demand = fair
            placed = self.fit(job, demand)
        if placed is None:
            placed = self._with_gpus(self.instance.profile(job).gpus)
            if placed is None:
                return False
            self._release(placed, demand)
        cluster.place(job, demand, placed)
        return True

    def _with_gpus(self, gpus: int) -> Placed | None:
        """Return servers with enough free GPUs, regardless of their free CPUs and memory.

        The server with the fewest free GPUs that suffice, else as few servers as possible. With
        first fit, as in the public code, a job of several GPUs goes to the first server that has
        enough, or is split over those with the fewest free GPUs.
        """
        free = self.cluster.free[:, 0]
        whole = np.flatnonzero(free >= gpus)
        if len(whole):
            chosen = whole[0] if self.first and gpus > 1 else whole[np.argmin(free[whole])]
            return {int(chosen): gpus}
        if not self.cluster.may_split(gpus) or free.sum() < gpus:
            return None
        order = np.argsort(free if self.first else -free, kind="stable").tolist()
        return filled(order, free, gpus)

    def _release(self, placed: Placed, demand: Choice) -> None:
        """Revert jobs to their share until these servers have the demand free.

        A job is reverted on all its servers, where its CPUs or its memory may increase. A server
        that this overloads reverts its own jobs in turn. The loop terminates because each step
        reduces the number of jobs above their share, and it succeeds because on a server without
        jobs above the share of a resource every free GPU has its share of it free, and the
        demand is at most that.
        """
        need = {s: gpus * self.cluster.demand(demand) for s, gpus in placed.items()}
        waiting = list(placed)
        while waiting:
            server = waiting[-1]
            short = need.get(server, 0 * self.cluster.full) - self.cluster.free[server]
            missing = np.maximum(short, 0)
            if not missing.any():
                waiting.pop()
                continue
            name = min(self._above(server, missing), key=lambda n: self.rank(n, server, missing))
            job = self.cluster.jobs[name]
            self.cluster.change(name, self.instance.shares[job.profile])
            # Servers that had enough may be short of a resource now.
            waiting = [s for s in self.cluster.given[name][1] if s not in waiting] + waiting

    def _above(self, server: int, missing: Any) -> list[str]:
        """Return the jobs on a server that are above their share of a missing resource."""
        cpus, memory = self.cluster.share
        choices = {name: self.cluster.given[name][0] for name in self.cluster.hosts[server]}
        return [
            name
            for name, choice in choices.items()
            if (missing[1] and choice.cpus > cpus) or (missing[2] and choice.memory > memory)
        ]

    def _cpu_per_gpu(self, name: str, server: int, missing: Any) -> Any:
        choice, placed = self.cluster.given[name]
        return len(placed), -choice.cpus, -choice.memory

    def _just_enough(self, name: str, server: int, missing: Any) -> Any:
        """Order by the amount missing after a job is reverted, then by the surplus.

        Both are sums of fractions of the server's CPUs and memory **(D)**.
        """
        cluster = self.cluster
        now = cluster.given[name][0]
        fair = self.instance.shares[cluster.jobs[name].profile]
        released = cluster.hosts[server][name] * (cluster.demand(now) - cluster.demand(fair))
        left = [Fraction(int(missing[r] - released[r]), int(cluster.full[r])) for r in (1, 2)]
        return sum(max(m, Fraction(0)) for m in left), -sum(left)

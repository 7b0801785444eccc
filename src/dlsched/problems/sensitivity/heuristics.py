"""Synergy's TUNE (section 4.2) and GREEDY (section 3.3), and the baselines."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from dlsched.problem import method
from dlsched.problems.sensitivity.cluster import Cluster
from dlsched.problems.sensitivity.schema import Choice, Instance, Job, Solution
from dlsched.result import Claim, Status


@method("sensitivity", kind="heuristic")
def tune(instance: Instance) -> Claim:
    """Synergy-TUNE (section 4.2): best-case demands first, back to proportional where they clash.

    Jobs are taken by GPUs, then CPUs, then memory of their best-case demand, largest first. A job
    goes to the server with least free resources that takes it, or is split over as few as can be.
    (1) If its demand fits nowhere and exceeds the proportional share, it reverts to that and is
    tried again. (2) If it still does not fit, the server with most free GPUs is found, and jobs
    on it that hold more than their proportional share are switched to it, one by one, until the
    job fits; for a job to be split, the next server follows.
    """
    cluster = Cluster(instance)
    for job in _by_demand(instance):
        if not _place_tuned(cluster, job):
            return _stuck(job)
    return Claim(solution=cluster.solution("tune"))


@method("sensitivity", kind="heuristic")
def greedy(instance: Instance) -> Claim:
    """Synergy-GREEDY (section 3.3): first fit of best-case demands in the file's order.

    A job whose demand fits nowhere is skipped in the paper, and waits for the next round. Here
    every job must be placed **(D)**: those skipped come last, as in `tune`.
    """
    cluster = Cluster(instance)
    skipped = []
    for job in instance.jobs:
        choice = best_case(instance, job)
        placed = _first_fit(cluster, job, choice)
        if placed is None:
            skipped.append(job)
        else:
            cluster.place(job, choice, placed)
    for job in sorted(skipped, key=lambda job: -instance.profile(job).gpus):
        if not _place_tuned(cluster, job):
            return _stuck(job)
    return Claim(solution=cluster.solution("greedy"))


@method("sensitivity", kind="baseline")
def proportional(instance: Instance) -> Claim:
    """Every GPU comes with its server's share of CPUs and memory: today's schedulers."""
    cluster = Cluster(instance)
    stuck = _place_proportional(cluster)
    return _stuck(stuck) if stuck else Claim(solution=cluster.solution("proportional"))


@method("sensitivity", kind="baseline")
def drf(instance: Instance) -> Claim:
    """Dominant resource fairness: who dominates least may grow next.

    Jobs are placed at the proportional share and shrink to the least that is as fast **(D)**. Then
    the job whose larger share of the cluster's CPUs and memory is smallest takes its next better
    choice if its servers have room, and else stays as it is, until nobody can grow.
    """
    cluster = Cluster(instance)
    stuck = _place_proportional(cluster)
    if stuck:
        return _stuck(stuck)
    total = cluster.free.sum(axis=0) + sum(
        (n * cluster.demand(c) for c, p in cluster.given.values() for n in p.values()),
        start=np.zeros(3, dtype=np.int64),
    )
    ladders = {
        name: sorted(choices, key=lambda c: (c.throughput, -c.cpus, -c.memory))
        for name, choices in instance.undominated.items()
    }

    def dominant(job: Job, choice: Choice) -> float:
        each = instance.profile(job).gpus * cluster.demand(choice)
        return float((each[1:] / total[1:]).max())

    cpus, memory = instance.servers.proportional
    least = {
        name: next(c for c in ladder if c.cpus <= cpus and c.memory <= memory)
        for name, ladder in ladders.items()
    }
    for job in instance.jobs:
        cluster.change(job.id, least[job.profile])
    heap = [(dominant(job, least[job.profile]), i) for i, job in enumerate(instance.jobs)]
    heapq.heapify(heap)
    while heap:
        _, i = heapq.heappop(heap)
        job = instance.jobs[i]
        now = cluster.given[job.id][0]
        better = [c for c in ladders[job.profile] if c.throughput > now.throughput]
        if better and cluster.fits_changed(job.id, better[0]):
            cluster.change(job.id, better[0])
            heapq.heappush(heap, (dominant(job, better[0]), i))
    return Claim(solution=cluster.solution("drf"))


def best_case(instance: Instance, job: Job) -> Choice:
    """Return the least that saturates a job's throughput: its best-case demand (section 3.1)."""
    choices = instance.choices[job.profile]
    return max(choices, key=lambda c: (c.throughput, -c.cpus, -c.memory))


def start_solution(instance: Instance) -> Solution | None:
    """Return a feasible solution by `tune`, or ``None`` if it got stuck."""
    return tune(instance).solution  # type: ignore[return-value]


def _by_demand(instance: Instance) -> Sequence[Job]:
    def key(job: Job) -> tuple[object, ...]:
        gpus, demand = instance.profile(job).gpus, best_case(instance, job)
        return -gpus, -gpus * demand.cpus, -gpus * demand.memory

    return sorted(instance.jobs, key=key)


def _first_fit(cluster: Cluster, job: Job, choice: Choice) -> dict[int, int] | None:
    gpus = cluster.instance.profile(job).gpus
    room = (cluster.free // cluster.demand(choice)).min(axis=1)
    whole = np.flatnonzero(room >= gpus)
    return {int(whole[0]): gpus} if len(whole) else cluster.fit(job, choice)


def _place_tuned(cluster: Cluster, job: Job) -> bool:
    instance = cluster.instance
    fair = instance.proportional(job.profile)
    for choice in (best_case(instance, job), fair):
        placed = cluster.fit(job, choice)
        if placed is not None:
            cluster.place(job, choice, placed)
            return True
    gpus = instance.profile(job).gpus
    enough = cluster.free[:, 0] >= (1 if instance.allow_split and gpus > 1 else gpus)
    order = np.flatnonzero(enough)
    whole_first = np.lexsort((cluster.free[order, 0], cluster.free[order, 0] < gpus))
    if len(order) and cluster.free[order, 0].max() < gpus:
        whole_first = np.argsort(-cluster.free[order, 0], kind="stable")
    for server in order[whole_first].tolist():
        for name in cluster.above_proportional(server):
            cluster.change(name, instance.proportional(cluster.index[name].profile))
            placed = cluster.fit(job, fair)
            if placed is not None:
                cluster.place(job, fair, placed)
                return True
    return False


def _place_proportional(cluster: Cluster) -> Job | None:
    """Place everybody at the proportional share, largest first; return who does not fit."""
    instance = cluster.instance
    for job in sorted(instance.jobs, key=lambda job: -instance.profile(job).gpus):
        choice = instance.proportional(job.profile)
        placed = cluster.fit(job, choice)
        if placed is None:
            return job
        cluster.place(job, choice, placed)
    return None


def _stuck(job: Job) -> Claim:
    reason = f"job {job.id} fits on no server, and the rule moves nobody"
    return Claim(status=Status.NO_SOLUTION, reason=reason)

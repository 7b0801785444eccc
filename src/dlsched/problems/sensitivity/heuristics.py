"""Synergy's TUNE (section 4.2) and GREEDY (section 3.3), what they are compared with, and ours."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dlsched.errors import OptionError
from dlsched.problems.sensitivity.cluster import Cluster
from dlsched.problems.sensitivity.schema import Choice, Instance, Job, Solution
from dlsched.problems.sensitivity.tuning import FITS, Tuner, best_case
from dlsched.registry import method
from dlsched.result import Claim, Status
from dlsched.schema import Number

ORDERS = ("descending demand", "given", "gpus")


@method("sensitivity", kind="heuristic")
def tune(
    instance: Instance,
    *,
    order: str = "descending demand",
    fit: str = "best",
    peers: str = "just enough",
) -> Claim:
    """Synergy-TUNE (section 4.2): best-case demands, back to the proportional share on conflict.

    (1) A job is placed with its best-case demand, see `best_case`, on the server with least free
    resources that takes it, or on the fewest servers that together do. (2) If it does not fit and
    any demand is above the proportional share, CPUs and memory become the share, and it is tried
    again. (3) If it still does not fit, its demand stays as it is, and a server with just enough
    free GPUs is found, or the fewest servers: jobs there that are above their share revert to it,
    on all their servers, until the lack is covered. A server that this overloads, as a job above
    its share of CPUs may be below that of memory, reverts its own jobs in turn.

    Where jobs may wait, those taken are the first of the file whose GPUs there are. A job waits,
    or the rule ends without a solution, only if no servers that may hold it have its GPUs.

    Parameters
    ----------
    order
        ``"descending demand"``: GPUs, then CPUs, then memory of the best-case demand, largest
        first. ``"given"``: the file's order, as in the authors' public code (msr-fiddle/synergy,
        ``simulator/resources/cluster.py``) under all policies but LAS, which sorts by ``"gpus"``.
    fit, peers
        ``"best"`` or ``"first"`` (public code); ``"just enough"`` or ``"cpu per gpu"`` (public
        code). See `Tuner`.
    """
    jobs = runnable(instance)
    if order == "descending demand":
        jobs = sorted(jobs, key=lambda job: tuple(-d for d in _best_demand(instance, job)))
    elif order == "gpus":
        jobs = sorted(jobs, key=lambda job: -instance.profile(job).gpus)
    elif order != "given":
        raise OptionError(f"order={order!r} must be one of {', '.join(ORDERS)}")
    return _tuned(instance, jobs, "tune", fit, peers)


@method("sensitivity", kind="heuristic")
def tune_public(instance: Instance) -> Claim:
    """TUNE as in the authors' public code: in the file's order, first fit, peers by CPUs per GPU.

    `tune` with ``order="given"``, ``fit="first"`` and ``peers="cpu per gpu"`` (msr-fiddle/synergy,
    ``_tune`` in ``simulator/resources/cluster.py``, with the placement of ``FIFO+tune``). Where
    that code would give up because a reverted job needs more memory than is free, the steps of
    `tune` go on.
    """
    return _tuned(instance, runnable(instance), "tune_public", "first", "cpu per gpu")


@method("sensitivity", kind="heuristic")
def greedy(instance: Instance, *, fit: str = "first") -> Claim:
    """Synergy-GREEDY (section 3.3): first fit of best-case demands in the file's order.

    A job whose demand fits on no server is skipped and waits, and GPUs may stay idle. Where jobs
    may not wait (``may_wait`` false) and one is skipped, there is no solution.

    Parameters
    ----------
    fit
        ``"first"``: a job of several GPUs goes to the first server that takes it whole, else it
        is split over the first servers that together do. ``"best"``: see `tune`.
    """
    return _static(instance, instance.jobs, "greedy", fit)


@method("sensitivity", kind="baseline")
def proportional(instance: Instance) -> Claim:
    """Every GPU comes with its server's share of CPUs and memory: today's schedulers."""
    cluster = Cluster(instance)
    return _claim(cluster, "proportional", _place_proportional(cluster))


@method("sensitivity", kind="baseline")
def drf(instance: Instance, *, tuned: bool = False) -> Claim:
    """Dominant resource fairness (section 5.7): smallest dominant share of best-case demand.

    The dominant share is the largest of the shares of the cluster's GPUs, CPUs and memory that
    the best-case demand asks for, as in the authors' public code; the section gives DRF best-case
    demands and prints no rule. Jobs are taken from the smallest on and placed with that static
    demand by first fit, as in `greedy`: a job that does not fit waits.

    Parameters
    ----------
    tuned
        Place them by TUNE in this order instead: Synergy's variant in Figure 13.
    """
    return _in_order(instance, "drf", lambda job: max(_shares(instance, job)), tuned)


@method("sensitivity", kind="baseline")
def tetris(
    instance: Instance, *, tuned: bool = False, remaining: Mapping[str, Any] | None = None
) -> Claim:
    """Tetris (section 5.7): the least product of remaining time and resource share first.

    The resource share is the sum of the shares of the cluster's GPUs, CPUs and memory that the
    best-case demand asks for, and the time is that at the best-case throughput, both as in the
    authors' public code; the section prints no rule. Placed as in `drf`.

    Parameters
    ----------
    tuned
        Place them by TUNE in this order instead: Synergy's variant in Figure 13.
    remaining
        Seconds left of each job at its proportional share, by its id; the same for all by
        default **(D)**, as an instance is one round and has no times.

    Raises
    ------
    OptionError
        If a job has no remaining time, or none above 0.
    """
    times = {job.id: _seconds(remaining, job.id) for job in instance.jobs}

    def weighted(job: Job) -> Fraction:
        speedup = Fraction(best_case(instance, job).throughput) / Fraction(
            instance.proportional(job.profile).throughput
        )
        return times[job.id] / speedup * sum(_shares(instance, job))

    return _in_order(instance, "tetris", weighted, tuned)


@method("sensitivity", kind="heuristic")
def greedy_then_tune(instance: Instance) -> Claim:
    """Jobs that fit with their best-case demand in the file's order, then the rest by TUNE (ours).

    Unlike GREEDY it leaves no job waiting that TUNE can place: those that GREEDY skips come last,
    most GPUs first, by the steps of `tune`.
    """
    cluster = Cluster(instance)
    skipped = []
    for job in runnable(instance):
        choice = best_case(instance, job)
        placed = cluster.first_fit(job, choice, together=True)
        if placed is None:
            skipped.append(job)
        else:
            cluster.place(job, choice, placed)
    tuner = Tuner(cluster, "best", "just enough")
    skipped.sort(key=lambda job: -instance.profile(job).gpus)
    return _claim(cluster, "greedy_then_tune", [job for job in skipped if not tuner.place(job)])


@method("sensitivity", kind="heuristic")
def water_filling(instance: Instance) -> Claim:
    """Jobs grow one choice at a time, the one with the smallest dominant share first (ours).

    Jobs are placed at the proportional share and shrink to the least that is as fast. Then the
    job whose larger share of the cluster's CPUs and memory is smallest takes its next better
    choice if its servers have enough free, and else stays as it is, until no job can grow.
    """
    cluster = Cluster(instance)
    waiting = _place_proportional(cluster)
    total = instance.servers.count * cluster.full.astype(object)
    ladders = {
        name: sorted(choices, key=lambda c: (c.throughput, -c.cpus, -c.memory))
        for name, choices in instance.undominated.items()
    }

    def dominant(job: Job, choice: Choice) -> Fraction:
        each = instance.profile(job).gpus * cluster.demand(choice)
        return max(Fraction(int(each[r]), int(total[r])) for r in (1, 2))

    cpus, memory = cluster.share
    least = {
        name: next(c for c in ladder if c.cpus <= cpus and c.memory <= memory)
        for name, ladder in ladders.items()
    }
    placed = [(i, job) for i, job in enumerate(instance.jobs) if job.id in cluster.given]
    for _, job in placed:
        cluster.change(job.id, least[job.profile])
    heap = [(dominant(job, least[job.profile]), i) for i, job in placed]
    heapq.heapify(heap)
    while heap:
        _, i = heapq.heappop(heap)
        job = instance.jobs[i]
        now = cluster.given[job.id][0]
        better = [c for c in ladders[job.profile] if c.throughput > now.throughput]
        if better and cluster.fits_changed(job.id, better[0]):
            cluster.change(job.id, better[0])
            heapq.heappush(heap, (dominant(job, better[0]), i))
    return _claim(cluster, "water_filling", waiting)


def starts(instance: Instance) -> Iterator[Solution]:
    """Yield solutions for an exact method to start from, by the rules that place every job.

    Of an instance with many jobs only the first one found.
    """
    for rule in (water_filling, tune, greedy_then_tune, tune_public):
        found = rule(instance).solution
        if isinstance(found, Solution):
            yield found
            if len(instance.jobs) > _MANY_JOBS:
                return


_MANY_JOBS = 500


def runnable(instance: Instance, queue: Sequence[Job] | None = None) -> list[Job]:
    """Return the jobs of the round (section 4.2): the first whose GPUs the cluster has.

    All of them unless jobs may wait. As in the public code, a job with more GPUs than are left is
    passed over, and smaller ones behind it are taken.

    Parameters
    ----------
    queue
        The jobs in the order of the scheduling policy; by default the file's.
    """
    queue = instance.jobs if queue is None else queue
    if not instance.may_wait:
        return list(queue)
    servers, chosen = instance.servers, []
    left = servers.count * servers.gpus
    for job in queue:
        gpus = instance.profile(job).gpus
        if gpus <= left and (gpus <= servers.gpus or instance.allow_split):
            left -= gpus
            chosen.append(job)
    return chosen


def _tuned(instance: Instance, jobs: Iterable[Job], name: str, fit: str, peers: str) -> Claim:
    cluster = Cluster(instance)
    tuner = Tuner(cluster, fit, peers)
    return _claim(cluster, name, [job for job in jobs if not tuner.place(job)])


def _static(instance: Instance, jobs: Iterable[Job], name: str, fit: str) -> Claim:
    """Place jobs with their best-case demands; those that do not fit wait."""
    if fit not in FITS:
        raise OptionError(f"fit={fit!r} must be one of {', '.join(FITS)}")
    cluster = Cluster(instance)
    waiting = []
    for job in jobs:
        choice = best_case(instance, job)
        if fit == "first":
            placed = cluster.first_fit(job, choice, together=True)
        else:
            placed = cluster.best_fit(job, choice)
        if placed is None:
            waiting.append(job)
        else:
            cluster.place(job, choice, placed)
    return _claim(cluster, name, waiting)


def _in_order(instance: Instance, name: str, key: Any, tuned: bool) -> Claim:
    """Place jobs by rising key, ties in the file's order, with static demands or by TUNE."""
    ordered = sorted(instance.jobs, key=key)
    if not tuned:
        return _static(instance, ordered, name, "first")
    return _tuned(instance, runnable(instance, ordered), name, "best", "just enough")


def _place_proportional(cluster: Cluster) -> list[Job]:
    """Place jobs at the proportional share, most GPUs first; return those that do not fit."""
    instance, waiting = cluster.instance, []
    for job in sorted(runnable(instance), key=lambda job: -instance.profile(job).gpus):
        choice = instance.proportional(job.profile)
        placed = cluster.best_fit(job, choice)
        if placed is None:
            waiting.append(job)
        else:
            cluster.place(job, choice, placed)
    return waiting


def _claim(cluster: Cluster, name: str, waiting: Sequence[Job]) -> Claim:
    """Return what was placed, unless a job waits that may not."""
    if waiting and not cluster.instance.may_wait:
        others = f" and {len(waiting) - 1} more" if len(waiting) > 1 else ""
        reason = f"job {waiting[0].id}{others} would wait: no servers have what it asks for"
        return Claim(status=Status.NO_SOLUTION, reason=reason)
    return Claim(solution=cluster.solution(name))


def _best_demand(instance: Instance, job: Job) -> tuple[Number, Number, Number]:
    """Return GPUs, CPUs and memory of a job's best-case demand."""
    gpus, choice = instance.profile(job).gpus, best_case(instance, job)
    return gpus, gpus * choice.cpus, gpus * choice.memory


def _shares(instance: Instance, job: Job) -> tuple[Fraction, Fraction, Fraction]:
    """Return the shares of the cluster's GPUs, CPUs and memory in a job's best-case demand."""
    servers, (gpus, cpus, memory) = instance.servers, _best_demand(instance, job)
    return (
        Fraction(gpus, servers.count * servers.gpus),
        Fraction(cpus) / (servers.count * servers.cpus),
        Fraction(memory) / (servers.count * servers.memory),
    )


def _seconds(remaining: Mapping[str, Any] | None, name: str) -> Fraction:
    """Return a job's remaining time, or 1 where none are given."""
    if remaining is None:
        return Fraction(1)
    try:
        seconds = Fraction(remaining[name])
    except (KeyError, TypeError, ValueError, OverflowError):
        seconds = Fraction(0)
    if seconds <= 0:
        raise OptionError(f"remaining must have a time above 0 for job {name!r}")
    return seconds

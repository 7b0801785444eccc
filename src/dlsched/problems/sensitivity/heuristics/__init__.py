"""Synergy's TUNE (section 4.2) and GREEDY (section 3.3), their baselines, and our heuristics."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import partial

from dlsched.errors import OptionError
from dlsched.problems.sensitivity.definition.schema import Choice, Instance, Job
from dlsched.problems.sensitivity.heuristics.price_round import price_round  # noqa: F401  (registers it)
from dlsched.problems.sensitivity.heuristics.tuning import (
    best_demand,
    claim_of,
    runnable,
)
from dlsched.problems.sensitivity.structures.free_resources import Cluster
from dlsched.registry.own import method
from dlsched.results.result import Claim


@method("sensitivity", kind="heuristic")
def greedy(instance: Instance) -> Claim:
    """Synergy-GREEDY (section 3.3): first fit of best-case demands in the file's order.

    A job whose demand does not fit waits, and GPUs may stay idle. If a job would wait although
    ``may_wait`` is false, there is no solution.

    A job of several GPUs goes to the first server that can take the whole job, else it is split
    over the first servers with free capacity.
    """
    return _place(instance, instance.jobs, instance.best_cases)


@method("sensitivity", kind="baseline")
def proportional(instance: Instance) -> Claim:
    """Every GPU comes with its server's share of CPUs and memory: today's schedulers."""
    jobs = sorted(runnable(instance), key=lambda job: -instance.profile(job).gpus)
    return _place(instance, jobs, instance.shares, best=True)


@method("sensitivity", kind="baseline")
def drf(instance: Instance) -> Claim:
    """Dominant resource fairness (section 5.7): smallest dominant share of best-case demand first.

    The dominant share is the largest of the best-case demand's shares of the cluster's GPUs, CPUs
    and memory, as in the authors' public code; the section gives DRF best-case demands and states
    no algorithm. Jobs are placed in ascending order, with these demands, by first fit as in
    `greedy`: a job that does not fit waits.
    """
    ordered = sorted(instance.jobs, key=lambda job: max(_shares(instance, job)))
    return _place(instance, ordered, instance.best_cases)


@method("sensitivity", kind="baseline")
def tetris(instance: Instance, *, remaining: Mapping[str, float] | None = None) -> Claim:
    """Tetris (section 5.7): smallest product of remaining time and resource share first.

    The resource share is the sum of the best-case demand's shares of the cluster's GPUs, CPUs and
    memory, the time that at the best-case throughput, as in the public code, which has no alignment
    with free resources as Tetris itself; the section states no algorithm. Placed as in `drf`.

    Parameters
    ----------
    remaining
        Remaining seconds of each job at its proportional share, by its id; the same for all by
        default **(D)**, as an instance is one round and has no times.

    Raises
    ------
    OptionError
        If `remaining` has no time above 0 for a job.
    """

    def weighted(job: Job) -> Fraction:
        seconds = 1 if remaining is None else remaining.get(job.id, 0)
        if seconds <= 0:
            raise OptionError(f"remaining must have a time above 0 for job {job.id!r}")
        best = instance.best_cases[job.profile]
        share = instance.shares[job.profile]
        speedup = Fraction(best.throughput) / share.throughput
        return Fraction(seconds) / speedup * sum(_shares(instance, job))

    return _place(instance, sorted(instance.jobs, key=weighted), instance.best_cases)


def _place(
    instance: Instance, jobs: Iterable[Job], choices: Mapping[str, Choice], best: bool = False
) -> Claim:
    """Place jobs by first fit or `best` fit with their profile's choice; others wait."""
    cluster = Cluster(instance)
    waiting = []
    for job in jobs:
        choice = choices[job.profile]
        fit = cluster.best_fit if best else partial(cluster.first_fit, together=True)
        placed = fit(job, choice)
        if placed is None:
            waiting.append(job)
        else:
            cluster.place(job, choice, placed)
    return claim_of(cluster, waiting)


def _shares(instance: Instance, job: Job) -> tuple[Fraction, Fraction, Fraction]:
    """Return a job's best-case demand as shares of the cluster's GPUs, CPUs and memory."""
    servers = instance.servers
    gpus, cpus, memory = map(Fraction, best_demand(instance, job))
    return (
        gpus / (servers.count * servers.gpus),
        cpus / (servers.count * servers.cpus),
        memory / (servers.count * servers.memory),
    )

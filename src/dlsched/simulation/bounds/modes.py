"""The demands of jobs that have their GPUs to themselves: GPUs by type, CPUs and memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from dlsched.errors import OptionError
from dlsched.simulation.bounds.capacity import AmountSteps
from dlsched.simulation.bounds.demands import Demands, Mode, Resource
from dlsched.simulation.workload.clock import ticks
from dlsched.simulation.workload.cluster import LOAN, Cluster
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Matrix, Workload


class GpuClass(NamedTuple):
    """GPUs that are alike: their type, and the pool of their servers."""

    kind: str | None
    pool: str


class Throughput(NamedTuple):
    """Throughput with CPUs and memory per GPU, relative to that of the proportional share."""

    relative: Fraction
    cpus: Fraction = Fraction(0)
    memory: Fraction = Fraction(0)


def demands(workload: Workload, cluster: Cluster) -> Demands:
    """Return the demands of a workload. Overheads are left out: a policy may cause none.

    A mode of a job is a class of GPUs with CPUs and memory per GPU. GPUs above the fewest may add
    less than one GPU without loss, so GPU time counts those without loss (`Job.throughput`), and
    its time is that with most GPUs. On GPUs of several classes at once none does more than in its
    own mode: of several types all are as slow as the slowest, of both pools each is at most as fast
    as its type. A job with a matrix holds the CPUs and memory of its mode at least, as its
    throughput is that of the entries that its amounts reach: those that the policy states, or those
    of `Matrix.proportional`.

    Raises
    ------
    OptionError
        If a job can run on no GPU of the cluster.
    """
    classes = gpu_classes(cluster)
    amounts = limits(workload, cluster)
    resources = [Resource(f"GPUs {c.kind or ''}".strip(), steps) for c, steps in classes.items()]
    resources += [Resource(name, ((0, amount),)) for name, amount in amounts.items()]
    known: dict[tuple[object, ...], tuple[Mode, ...]] = {}
    rows = []
    for job in workload.jobs:
        like = (
            job.gpus,
            job.min_gpus,
            job.max_gpus,
            job.scaling_loss,
            job.gpu_type,
            job.profile,
            _may_borrow(job),
            *job.rates.items(),
        )
        modes = known.get(like)
        if modes is None:
            matrix = None if job.profile is None else workload.matrices[job.profile]
            modes = known[like] = _undominated(_modes(job, matrix, list(classes), list(amounts)))
        if not modes:
            raise OptionError(f"job {job.id} can run on no GPU of the cluster; it has no bound")
        rows.append((job.submit_ticks, job.work_ticks, modes))
    return Demands.of(resources, rows)


def gpu_classes(cluster: Cluster) -> Mapping[GpuClass, AmountSteps]:
    """Return the classes of GPUs, each with its numbers over time.

    Of the loan pool, as many servers as are lent count with the most GPUs that they can have.
    """
    sizes: dict[GpuClass, list[int]] = {}
    for server in cluster.servers:
        sizes.setdefault(GpuClass(server.gpu_type, server.pool), []).append(server.gpus)
    lent = {ticks(loan.time): loan.servers for loan in cluster.loans}
    classes = {}
    for gpu_class, gpus in sizes.items():
        gpus.sort(reverse=True)
        servers = {0: 0} | lent if gpu_class.pool == LOAN else {0: len(gpus)}
        classes[gpu_class] = tuple((t, Fraction(sum(gpus[:n]))) for t, n in servers.items())
    return classes


def limits(workload: Workload, cluster: Cluster) -> dict[str, Fraction]:
    """Return CPUs and memory of the cluster, where they are limited and matter to a job.

    They are left out where a server does not state them, and where servers are lent.
    """
    if cluster.loan_servers or all(job.profile is None for job in workload.jobs):
        return {}
    amounts = {}
    for name in ("cpus", "memory"):
        held = [getattr(server, name) for server in cluster.servers]
        if None not in held:
            amounts[name] = sum(map(Fraction, held), Fraction(0))
    return amounts


def _may_borrow(job: Job) -> bool:
    """Return whether a job may run on servers of the loan pool."""
    return job.fungible or job.heterogeneous


def _modes(
    job: Job, matrix: Matrix | None, classes: Sequence[GpuClass], amounts: Sequence[str]
) -> Iterator[Mode]:
    work = Fraction(job.throughput(job.gpus))
    most = Fraction(job.throughput(job.max_gpus))
    for i, gpu_class in enumerate(classes):
        speed = Fraction(1)
        if job.rates and job.gpu_type is not None:
            speed = Fraction(job.rates.get(gpu_class.kind or "", 0)) / job.rates[job.gpu_type]
        if not speed or (gpu_class.pool == LOAN and not _may_borrow(job)):
            continue
        for point in _throughputs(matrix):
            area = work / (speed * point.relative)
            uses = [Fraction(0)] * len(classes)
            uses[i] = area
            uses += [area * getattr(point, name) for name in amounts]
            yield Mode(area / most, tuple(uses))


def _throughputs(matrix: Matrix | None) -> Iterator[Throughput]:
    if matrix is None:
        yield Throughput(Fraction(1))
        return
    for cpus, memory in product(matrix.cpus, matrix.memory):
        relative = matrix.speed(cpus, memory)
        if relative:
            yield Throughput(relative, Fraction(cpus), Fraction(memory))


def _undominated(modes: Iterator[Mode]) -> tuple[Mode, ...]:
    """Return the modes of which no other takes less or as much of everything."""
    kept: list[Mode] = []
    for mode in sorted(set(modes)):
        if not any(map(mode.takes_no_less_than, kept)):
            kept.append(mode)
    return tuple(kept)

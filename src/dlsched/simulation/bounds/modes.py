"""The demands of jobs that have their GPUs to themselves: GPUs by type, CPUs and memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product

from dlsched.errors import OptionError
from dlsched.simulation.bounds.demands import Demands, Mode, Resource
from dlsched.simulation.workload.clock import ticks
from dlsched.simulation.workload.cluster import LOAN, Cluster
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Matrix, Workload

Class = tuple[str | None, str]
"""Type of GPUs, and pool of their servers."""


def demands(workload: Workload, cluster: Cluster) -> Demands:
    """Return the demands of a workload. Overheads are left out: a policy may cause none.

    A mode of a job is a class of GPUs with CPUs and memory per GPU. GPUs above the fewest may add
    less than one GPU without loss, so GPU time counts those without loss (`Job.throughput`), and
    its time is that with most GPUs. On GPUs of several classes at once a job is as slow as on the
    slowest, so that each does no more than in its own mode. CPUs and memory count where a job holds
    those of its mode; a share that states none holds the proportional ones **(D)**, as otherwise
    they would cost nothing.

    Raises
    ------
    OptionError
        If a job can run on no GPU of the cluster.
    """
    classes = gpu_classes(cluster)
    amounts = limits(workload, cluster)
    resources = [
        *(Resource(f"GPUs {kind or ''}".strip(), steps) for (kind, _), steps in classes.items()),
        *(Resource(name, ((0, amount),)) for name, amount in amounts.items()),
    ]
    known: dict[tuple[object, ...], tuple[Mode, ...]] = {}
    rows = []
    for job in workload.jobs:
        like = (
            job.gpus, job.min_gpus, job.max_gpus, job.scaling_loss, job.gpu_type, job.profile,
            job.fungible or job.heterogeneous, tuple(job.rates.items()),
        )  # fmt: skip
        if like not in known:
            matrix = None if job.profile is None else workload.matrices[job.profile]
            known[like] = _undominated(list(_modes(job, matrix, list(classes), list(amounts))))
        if not known[like]:
            raise OptionError(f"job {job.id} can run on no GPU of the cluster; it has no bound")
        rows.append((job.submit_ticks, job.work_ticks, known[like]))
    return Demands.of(resources, rows)


def gpu_classes(cluster: Cluster) -> Mapping[Class, tuple[tuple[int, Fraction], ...]]:
    """Return the classes of GPUs, each with its numbers over time.

    Of the loan pool, as many servers as are lent count with the most GPUs that they can have.
    """
    sizes: dict[Class, list[int]] = {}
    for server in cluster.servers:
        sizes.setdefault((server.gpu_type, server.pool), []).append(server.gpus)
    found = {}
    for (kind, owner), gpus in sizes.items():
        steps = [(0, Fraction(sum(gpus)))]
        if owner == LOAN:
            gpus.sort(reverse=True)
            steps = [(0, Fraction(0))] if not cluster.loans or cluster.loans[0].time else []
            steps += [(ticks(x.time), Fraction(sum(gpus[: x.servers]))) for x in cluster.loans]
        found[kind, owner] = tuple(steps)
    return found


def limits(workload: Workload, cluster: Cluster) -> dict[str, Fraction]:
    """Return CPUs and memory of the cluster, where they are limited and matter to a job.

    They are left out where servers have not the proportional share for all GPUs, which a policy
    that states no CPUs gives its jobs all the same, and where servers are lent.
    """
    used = {job.profile for job in workload.jobs}
    matrices = [matrix for name, matrix in workload.matrices.items() if name in used]
    found = {}
    for name, axis in (("cpus", 0), ("memory", 1)):
        share = max((Fraction(matrix.share[axis]) for matrix in matrices), default=None)
        held = [(getattr(server, name), server.gpus) for server in cluster.servers]
        limited = all(amount is not None and amount >= (share or 0) * g for amount, g in held)
        if share is not None and limited and not cluster.loan_servers:
            found[name] = sum((Fraction(amount) for amount, _ in held), Fraction(0))
    return found


def _modes(
    job: Job, matrix: Matrix | None, classes: Sequence[Class], amounts: Sequence[str]
) -> Iterator[Mode]:
    work = Fraction(job.throughput(job.gpus))
    most = Fraction(job.throughput(job.max_gpus))
    for i, (kind, owner) in enumerate(classes):
        speed = Fraction(1)
        if job.rates and job.gpu_type is not None:
            speed = Fraction(job.rates.get(kind or "", 0)) / job.rates[job.gpu_type]
        if not speed or (owner == LOAN and not (job.fungible or job.heterogeneous)):
            continue
        for faster, cpus, memory in _points(matrix):
            area = work / (speed * faster)
            gpus = [area if k == i else Fraction(0) for k in range(len(classes))]
            used = {"cpus": cpus, "memory": memory}
            yield Mode(area / most, (*gpus, *(area * used[name] for name in amounts)))


def _points(matrix: Matrix | None) -> Iterator[tuple[Fraction, Fraction, Fraction]]:
    """Yield throughput relative to the proportional share, CPUs and memory per GPU."""
    if matrix is None:
        yield Fraction(1), Fraction(0), Fraction(0)
        return
    usual = matrix.at(*matrix.share)
    for (i, cpus), (k, memory) in product(enumerate(matrix.cpus), enumerate(matrix.memory)):
        if matrix.throughput[i][k]:
            yield Fraction(matrix.throughput[i][k]) / usual, Fraction(cpus), Fraction(memory)


def _undominated(modes: Sequence[Mode]) -> tuple[Mode, ...]:
    """Return the modes of which no other takes less or as much of everything."""
    rows = sorted({(mode.length, *mode.uses) for mode in modes})
    kept: list[tuple[Fraction, ...]] = []
    for row in rows:
        if not any(all(a <= b for a, b in zip(other, row, strict=True)) for other in kept):
            kept.append(row)
    return tuple(Mode(row[0], row[1:]) for row in kept)

"""What any policy has to spend on the jobs: time, and resources that change over time."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, product
from operator import itemgetter, le, mul
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError
from dlsched.simulation.workload.clock import ticks
from dlsched.simulation.workload.cluster import LOAN, Cluster
from dlsched.simulation.workload.eligibility import Eligibility, eligibility
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Matrix, Workload

Floats = NDArray[np.float64]
Amount = TypeVar("Amount", int, Fraction)
Steps = tuple[tuple[int, int], ...]
"""(time in microseconds, work per microsecond from then on), the first at 0; whole numbers."""
AmountSteps = tuple[tuple[int, Fraction], ...]
"""(time in microseconds, amount from then on), the first at 0."""


def weighted_sum(weights: Iterable[Fraction | int], values: Iterable[Fraction | int]) -> Fraction:
    """Return the sum of weight x value, exactly."""
    return sum(map(mul, weights, values), Fraction(0))


def weighted_steps(
    weights: Sequence[Fraction | int], amounts: Sequence[AmountSteps]
) -> AmountSteps:
    """Return the weighted sum of amounts over time."""
    times = sorted({time for steps in amounts for time, _ in steps})
    total = []
    for time in times:
        last = [bisect_right(steps, time, key=itemgetter(0)) - 1 for steps in amounts]
        present = [steps[k][1] for steps, k in zip(amounts, last, strict=True)]
        total.append((time, weighted_sum(weights, present)))
    return tuple(total)


class Capacity(Generic[Amount]):
    """What a machine can do, if the work per microsecond changes at given times.

    Attributes
    ----------
    starts, rate, done
        By step: its start, the work per microsecond in it, and the work before it.
    """

    def __init__(self, steps: Sequence[tuple[int, Amount]]) -> None:
        self.starts: list[int] = [start for start, _ in steps]
        self.rate: list[Amount] = [rate for _, rate in steps]
        self.done: list[Amount] = [0 * self.rate[0]]
        for (start, rate), (end, _) in pairwise(steps):
            self.done.append(self.done[-1] + rate * (end - start))

    def until(self, time: int) -> Amount:
        """Return the work until a time."""
        k = bisect_right(self.starts, time) - 1
        return self.done[k] + self.rate[k] * (time - self.starts[k])

    def reached(self, done: Amount) -> Fraction:
        """Return the earliest time at which the work comes up to a number.

        If nothing is done any more, it is the time since when.
        """
        k = max(0, bisect_left(self.done, done) - 1)
        if not self.rate[k]:
            return Fraction(self.starts[k])
        return self.starts[k] + Fraction(done - self.done[k], self.rate[k])


class Resource(NamedTuple):
    """A resource whose amount in the cluster is limited: GPUs of a type, CPUs, GB of memory.

    Attributes
    ----------
    name
        For people.
    steps
        Times in microseconds from which on there is an amount, ascending from 0, and the amounts.
    """

    name: str
    steps: AmountSteps

    @property
    def most(self) -> Fraction:
        """The largest amount that there is at any time."""
        return max(amount for _, amount in self.steps)


class Mode(NamedTuple):
    """One way to do a job's work: microseconds at least, and resources, per microsecond of work.

    A job may change its mode at any time, and do parts of its work in several at once.
    """

    length: Fraction
    uses: tuple[Fraction, ...]

    def takes_no_less_than(self, other: Mode) -> bool:
        """Return whether another mode takes less or as much time, and of every resource."""
        return other.length <= self.length and all(map(le, other.uses, self.uses))


class Kind(NamedTuple):
    """The modes of jobs that are alike but for their work."""

    modes: tuple[Mode, ...]

    @property
    def length(self) -> Fraction:
        """Microseconds per microsecond of work in the fastest mode."""
        return min(mode.length for mode in self.modes)


class Demands(NamedTuple):
    """Lower bounds on what each job takes, in the order of submission.

    Attributes
    ----------
    resources
        What the cluster has.
    release, work
        Submission and work of each job, in whole microseconds.
    kind
        Of each job, its position in `kinds`.
    classes
        How many of the resources, the first, are classes of GPUs; each mode uses one of these.
    """

    resources: tuple[Resource, ...]
    release: tuple[int, ...]
    work: tuple[int, ...]
    kind: tuple[int, ...]
    kinds: tuple[Kind, ...]
    classes: int = 1

    def alone(self, k: int) -> list[Fraction]:
        """Return weights by which one resource counts alone."""
        return [Fraction(i == k) for i in range(len(self.resources))]

    @property
    def lengths(self) -> tuple[int, ...]:
        """Microseconds that each job takes at least, in its fastest mode; rounded down."""
        return self.scaled([kind.length for kind in self.kinds])

    def scaled(self, per_work: Sequence[Fraction]) -> tuple[int, ...]:
        """Return each job's work times what its kind takes per microsecond of it, rounded down."""
        jobs = zip(self.work, self.kind, strict=True)
        return tuple(math.floor(work * per_work[k]) for work, k in jobs)

    @classmethod
    def of(
        cls,
        resources: Sequence[Resource],
        jobs: Sequence[tuple[int, int, tuple[Mode, ...]]],
        classes: int = 1,
    ) -> Demands:
        """Return the demands of jobs, given by submission, work and modes."""
        release, work, modes_of_job = zip(*jobs, strict=True)
        number = {modes: k for k, modes in enumerate(dict.fromkeys(modes_of_job))}
        return cls(
            resources=tuple(resources),
            release=release,
            work=work,
            kind=tuple(number[modes] for modes in modes_of_job),
            kinds=tuple(map(Kind, number)),
            classes=classes,
        )


class Pool(NamedTuple):
    """One machine that does the jobs, for the whole cluster.

    Attributes
    ----------
    steps
        What it does per microsecond, over time.
    release, length
        Of each job, submission and time at least, in whole microseconds.
    area
        Of each job, what the machine has to do for it; a whole number.
    """

    steps: Steps
    release: tuple[int, ...]
    area: tuple[int, ...]
    length: tuple[int, ...]

    @property
    def capacity(self) -> Capacity[int]:
        """What it does until when."""
        return Capacity(self.steps)


def pool(d: Demands, weights: Sequence[Fraction]) -> Pool:
    """Return the machine that has all resources, each counted with a weight of 0 or more.

    A job counts for the weighted sum of the resources that it uses in its mode of least sum. So
    what is done in the cluster at any time is no more than what the machine has.
    """
    total = weighted_steps(weights, [resource.steps for resource in d.resources])
    unit = math.lcm(*(rate.denominator for _, rate in total))
    steps = tuple((time, int(rate * unit)) for time, rate in total)
    least = [unit * min(weighted_sum(weights, m.uses) for m in kind.modes) for kind in d.kinds]
    return Pool(steps, d.release, d.scaled(least), d.lengths)


class GpuClass(NamedTuple):
    """GPUs that are alike: their type, the pool of their servers, and which jobs may use them."""

    kind: str | None
    pool: str
    users: int


class Throughput(NamedTuple):
    """Throughput with CPUs and memory per GPU, relative to that of the proportional share."""

    relative: Fraction
    cpus: Fraction = Fraction(0)
    memory: Fraction = Fraction(0)


def demands(workload: Workload, cluster: Cluster) -> Demands:
    """Return the demands of a workload. Overheads are left out: a policy may cause none.

    A mode of a job is a class of GPUs that it may use, with CPUs and memory per GPU. GPUs above the
    fewest may add
    less than one GPU without loss, so GPU time counts those without loss (`Job.throughput`), and
    its time is that with most GPUs. On GPUs of several classes at once none does more than in its
    own mode: of several types all are as slow as the slowest, of both pools each is at most as fast
    as its type. A job with a matrix holds the CPUs and memory of its mode at least, as its
    throughput is that of the entries that its amounts reach: those that the policy states, or those
    of `Matrix.proportional`. A job with a goodput has a mode for each number of GPUs of a class, as
    fast as in the part of its training, and on as many servers, where it is fastest: of several
    types all are as slow as the slowest with all GPUs.

    Raises
    ------
    OptionError
        If a job can run on no GPU of the cluster.
    """
    where = eligibility(workload, cluster)
    classes = gpu_classes(cluster, where)
    resources = [
        Resource(f"GPUs {c.kind or ''}".strip(), gpus_over_time(cluster, servers))
        for c, servers in classes.items()
    ]
    lent = [c.pool == LOAN for c in classes]
    if sum(lent) > 1:
        # No more servers are lent than the loan has, whatever their classes.
        resources.append(
            Resource(
                "GPUs on loan",
                gpus_over_time(
                    cluster, [i for i, s in enumerate(cluster.servers) if s.pool == LOAN]
                ),
            )
        )
    amounts = limits(workload, cluster)
    resources += [Resource(name, ((0, amount),)) for name, amount in amounts.items()]
    known: dict[tuple[object, ...], tuple[Mode, ...]] = {}
    rows = []
    for job, place in zip(workload.jobs, where.of_job.tolist(), strict=True):
        like = (
            job.gpus,
            job.min_gpus,
            job.max_gpus,
            job.scaling_loss,
            job.gpu_type,
            job.profile,
            job.goodput and job.goodput.numbers,
            place,
            *job.rates.items(),
        )
        modes = known.get(like)
        if modes is None:
            matrix = None if job.profile is None else workload.matrices[job.profile]
            usable = [bool(where.table[place, c.users]) for c in classes]
            found = _modes(job, matrix, list(classes), usable, list(amounts))
            modes = known[like] = _undominated(found)
        if not modes:
            raise OptionError(f"job {job.id} can run on no GPU of the cluster; it has no bound")
        rows.append((job.submit_ticks, job.work_ticks, modes))
    return Demands.of(resources, rows, len(classes))


def gpu_classes(cluster: Cluster, where: Eligibility) -> dict[GpuClass, list[int]]:
    """Return the classes of GPUs, each with the positions of its servers."""
    classes: dict[GpuClass, list[int]] = {}
    for i, (server, users) in enumerate(
        zip(cluster.servers, where.of_server.tolist(), strict=True)
    ):
        classes.setdefault(GpuClass(server.gpu_type, server.pool, users), []).append(i)
    return classes


def gpus_over_time(cluster: Cluster, chosen: Iterable[int]) -> AmountSteps:
    """Return the most GPUs that servers, given by their positions, can have at any time.

    Of the loan pool, as many servers as are lent count, with the most GPUs that they can have; of
    the others those that are not away.
    """
    servers = [cluster.servers[i] for i in chosen]
    there = {server.id: server.gpus for server in servers if server.pool != LOAN}
    lent = sorted((server.gpus for server in servers if server.pool == LOAN), reverse=True)
    loans = {ticks(loan.time): loan.servers for loan in cluster.loans if lent}
    moves: Counter[int] = Counter()
    for time, goes, name in cluster.changes:
        moves[time] += there.get(name, 0) * (-1 if goes else 1)
    gpus, count, steps = sum(there.values()), 0, []
    for time in sorted({0, *loans, *(time for time, move in moves.items() if move)}):
        gpus += moves[time]
        count = loans.get(time, count)
        steps.append((time, Fraction(gpus + sum(lent[:count]))))
    return tuple(steps)


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


def _modes(
    job: Job,
    matrix: Matrix | None,
    classes: Sequence[GpuClass],
    usable: Sequence[bool],
    amounts: Sequence[str],
) -> Iterator[Mode]:
    lent = [c.pool == LOAN for c in classes]
    for i, gpu_class in enumerate(classes):
        if not usable[i]:
            continue
        for length, area, point in _paces(job, matrix, gpu_class.kind):
            uses = [area * (i == k) for k in range(len(classes))]
            uses += [area * lent[i]] * (sum(lent) > 1)
            uses += [area * getattr(point, name) for name in amounts]
            yield Mode(length, tuple(uses))


def _paces(
    job: Job, matrix: Matrix | None, kind: str | None
) -> Iterator[tuple[Fraction, Fraction, Throughput]]:
    """Yield time and GPU time per work on GPUs of a type, with CPUs and memory per GPU."""
    if job.goodput is not None:
        parts = range(len(job.goodput.noise))
        for gpus in range(job.min_gpus, job.max_gpus + 1):
            speeds = (job.goodput_speed(p, kind, n, gpus) for p in parts for n in (1, 2))
            if speed := max(speeds):
                yield 1 / speed, gpus / speed, Throughput(Fraction(1))
        return
    speed = Fraction(1)
    if job.rates and job.gpu_type is not None:
        speed = Fraction(job.rates.get(kind or "", 0)) / job.rates[job.gpu_type]
    work, most = (Fraction(job.throughput(gpus)) for gpus in (job.gpus, job.max_gpus))
    for point in _throughputs(matrix) if speed else ():
        area = work / (speed * point.relative)
        yield area / most, area, point


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

"""The choices of the jobs that no other choice of the same job dominates.

A choice dominates another one that takes no fewer GPUs of any capacity and saves no more.
Comparisons are exact, of integers where possible: fractions would take most of the time of `dp`.
"""

import bisect
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from dlsched.problems.elastic.definition.job_choices import Workers, base_of, splits
from dlsched.problems.elastic.definition.schema import Instance, Job
from dlsched.problems.elastic.structures.reduction_units import Ratio

Rate: TypeAlias = int | Fraction
"""Speed, or speed per work: of two choices of a job that with the larger one saves more."""


class Choice(NamedTuple):
    """The number of a job, its workers and GPUs by capacity, and the reduction in seconds."""

    job: int
    workers: Workers
    gpus: Workers
    launches: bool
    reduction: Ratio


def undominated(instance: Instance) -> list[Choice]:
    """Return the undominated choices of all jobs that fit, job by job, by number of workers.

    Those of a running job save more than its base, which takes no GPUs of the capacities.
    """
    if not instance.pools:
        jobs = enumerate(instance.jobs)
        return [choice for j, job in jobs for choice in _by_number(j, job, instance.gpus)]
    speeds = Speeds(instance)
    jobs = enumerate(instance.jobs)
    return [choice for j, job in jobs for choice in _by_pool(instance, j, job, speeds)]


def _by_number(j: int, job: Job, capacity: int) -> Iterator[Choice]:
    """Yield the undominated numbers of workers of a job on one capacity."""
    best = (0, 1) if job.running else None
    for workers, reduction in _reductions(job):
        gpus = job.gpus(workers)
        if gpus > capacity:
            break
        if best is None or reduction[0] * best[1] > best[0] * reduction[1]:
            best = reduction
            yield Choice(j, (workers,), (gpus,), not job.running, reduction)


def _reductions(job: Job) -> Iterator[tuple[int, Ratio]]:
    """Iterate over (workers, reduction as numerator and denominator)."""
    numbers = range(job.min_workers, job.max_workers + 1)
    if job.min_running_time is None:
        for workers in numbers:
            yield workers, Fraction(job.reduction(workers)).as_integer_ratio()
        return
    numerator, denominator = Fraction(job.min_running_time).as_integer_ratio()
    work = numerator * job.max_workers
    divisor = denominator * job.min_workers
    for workers in numbers:  # work / least - work / workers
        yield workers, (work * (workers - job.min_workers), divisor * workers)


class Speeds:
    """Speeds of the workers of an instance's jobs by pool, as multiples of 1 / ``unit``."""

    def __init__(self, instance: Instance) -> None:
        training, loan = (Fraction(pool.speed) for pool in instance.by_pool)
        self._mixed, self._whole = Fraction(instance.mixed_efficiency).as_integer_ratio()
        scale = math.lcm(training.denominator, loan.denominator)
        self._pools = int(training * scale), int(loan * scale)
        self.unit = scale * self._whole

    def of(self, workers: Workers) -> int:
        """Return the speed of a job's workers together."""
        a, b = workers
        return (self._mixed if a and b else self._whole) * (a * self._pools[0] + b * self._pools[1])


class _RunningTimes:
    """Running times of a job by its workers in both pools."""

    def __init__(self, job: Job, speeds: Speeds) -> None:
        self.job = job
        self.speeds = speeds
        self.linear: Ratio | None = None
        if job.min_running_time is not None:
            self.linear = Fraction(job.min_running_time * job.max_workers).as_integer_ratio()

    def work(self, workers: Workers) -> Ratio:
        """Return the seconds with as many workers of speed 1, times their number."""
        if self.linear is not None:
            return self.linear
        count = sum(workers)
        return Fraction(self.job.running_time(count) * count).as_integer_ratio()

    def rate(self, workers: Workers) -> Rate:
        """Return a number that is larger for a shorter running time."""
        speed = self.speeds.of(workers)
        if self.linear is not None:
            return speed
        numerator, denominator = self.work(workers)
        return Fraction(speed * denominator, numerator)

    def seconds(self, workers: Workers) -> Ratio:
        """Return the running time."""
        numerator, denominator = self.work(workers)
        return numerator * self.speeds.unit, denominator * self.speeds.of(workers)


def _by_pool(instance: Instance, j: int, job: Job, speeds: Speeds) -> Iterator[Choice]:
    """Yield the undominated choices of a job on two pools, in the order of `splits`."""
    base = base_of(instance, job)
    held = base if job.running else (0, 0)
    times = _RunningTimes(job, speeds)
    front = _Front()
    if job.running:
        front.add(held[1], times.rate(held))
    most = [
        n + free // job.gpus_per_worker for n, free in zip(held, instance.capacities, strict=True)
    ]
    fitting = [pair for pair in splits(instance, job) if pair[0] <= most[0] and pair[1] <= most[1]]
    kept = [pair for pair in sorted(fitting) if front.add(pair[1], times.rate(pair))]
    kept.sort(key=lambda pair: (sum(pair), pair[1]))
    base_seconds, base_part = Fraction(*times.seconds(base)).as_integer_ratio()
    for pair in kept:
        seconds, part = times.seconds(pair)
        numerator = base_seconds * part - seconds * base_part
        denominator = base_part * part
        divisor = math.gcd(numerator, denominator)
        gpus = tuple([job.gpus_per_worker * (n - h) for n, h in zip(pair, held, strict=True)])
        saved = (numerator // divisor, denominator // divisor)
        yield Choice(j, pair, gpus, not job.running, saved)


class _Front:
    """The largest rates among the choices offered so far, by their workers on loan.

    Choices are offered by their workers in training, so all earlier ones have no more of these.
    """

    def __init__(self) -> None:
        self.loan: list[int] = []
        self.rate: list[Rate] = []

    def add(self, loan: int, rate: Rate) -> bool:
        """Add a choice, unless one with no more workers is as fast; return whether it was added."""
        place = bisect.bisect_right(self.loan, loan)
        if place and self.rate[place - 1] >= rate:
            return False
        first = place - 1 if place and self.loan[place - 1] == loan else place
        end = place
        while end < len(self.rate) and self.rate[end] <= rate:
            end += 1
        self.loan[first:end] = [loan]
        self.rate[first:end] = [rate]
        return True

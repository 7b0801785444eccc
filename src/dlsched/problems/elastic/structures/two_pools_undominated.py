"""The choices of a job on two pools that no other choice of the job dominates.

A choice dominates another one that takes no fewer GPUs of either pool and saves no more.
Comparisons are exact, of integers where possible: fractions would take most of the time of `dp`.
"""

from __future__ import annotations

import bisect
import math
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from dlsched.problems.elastic.definition.schema import Instance, Job
from dlsched.problems.elastic.definition.two_pools_choices import Split, base_of, splits
from dlsched.problems.elastic.structures.items import Ratio

Rate: TypeAlias = int | Fraction
"""Speed, or speed per work: of two choices of a job that with the larger one saves more."""


class Choice(NamedTuple):
    """Workers and GPUs by pool, and the reduction in seconds."""

    workers: Split
    gpus: Split
    reduction: Ratio


class Speeds:
    """Speeds of the workers of an instance's jobs, as multiples of 1 / ``unit``."""

    def __init__(self, instance: Instance) -> None:
        training, loan = (Fraction(pool.speed) for pool in instance.by_pool)
        self._mixed, self._whole = Fraction(instance.mixed_efficiency).as_integer_ratio()
        per = math.lcm(training.denominator, loan.denominator)
        self._pools = int(training * per), int(loan * per)
        self.unit = per * self._whole

    def of(self, workers: Split) -> int:
        """Return the speed of a job's workers together."""
        a, b = workers
        return (self._mixed if a and b else self._whole) * (a * self._pools[0] + b * self._pools[1])


def undominated(instance: Instance, job: Job, speeds: Speeds) -> list[Choice]:
    """Return the undominated choices that fit, in the order of `splits`.

    Those of a running job save more than its base, which takes no GPUs of the capacities.
    """
    base = base_of(instance, job)
    held = base if job.running else (0, 0)
    per, (training, loan) = job.gpus_per_worker, instance.by_pool
    most = held[0] + training.capacity // per, held[1] + loan.capacity // per
    fitting = [pair for pair in splits(instance, job) if pair[0] <= most[0] and pair[1] <= most[1]]
    work = _Work(job)
    kept: list[Split] = []
    front = _Front()
    if job.running:
        front.add(held[1], work.rate(speeds.of(held), held))
    for pair in sorted(fitting):
        if front.add(pair[1], work.rate(speeds.of(pair), pair)):
            kept.append(pair)
    kept.sort(key=lambda pair: (sum(pair), pair[1]))
    slowest = Fraction(*work.seconds(speeds, base)).as_integer_ratio()
    return [
        Choice(
            pair,
            (per * (pair[0] - held[0]), per * (pair[1] - held[1])),
            _difference(slowest, work.seconds(speeds, pair)),
        )
        for pair in kept
    ]


class _Work:
    """Running times of a job on workers of speed 1, times their number."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.linear: Ratio | None = None
        if job.min_running_time is not None:
            self.linear = Fraction(job.min_running_time * job.max_workers).as_integer_ratio()

    def of(self, workers: Split) -> Ratio:
        """Return the seconds with workers of speed 1, times their number."""
        if self.linear is not None:
            return self.linear
        count = sum(workers)
        return Fraction(self.job.running_time(count) * count).as_integer_ratio()

    def rate(self, speed: int, workers: Split) -> Rate:
        """Return a number that is larger for a shorter running time."""
        if self.linear is not None:
            return speed
        seconds, part = self.of(workers)
        return Fraction(speed * part, seconds)

    def seconds(self, speeds: Speeds, workers: Split) -> Ratio:
        """Return the running time."""
        seconds, part = self.of(workers)
        return seconds * speeds.unit, part * speeds.of(workers)


class _Front:
    """The largest rates among the choices offered so far, by their workers on loan.

    Choices are offered by their workers in training, so all earlier ones have no more of these.
    """

    def __init__(self) -> None:
        self.loan: list[int] = []
        self.rate: list[Rate] = []

    def add(self, loan: int, rate: Rate) -> bool:
        """Add a choice, unless one with no more workers is as fast; return whether it was added."""
        at = bisect.bisect_right(self.loan, loan)
        if at and self.rate[at - 1] >= rate:
            return False
        first = at - 1 if at and self.loan[at - 1] == loan else at
        end = at
        while end < len(self.rate) and self.rate[end] <= rate:
            end += 1
        self.loan[first:end] = [loan]
        self.rate[first:end] = [rate]
        return True


def _difference(a: Ratio, b: Ratio) -> Ratio:
    """Return a - b in lowest terms."""
    top, bottom = a[0] * b[1] - b[0] * a[1], a[1] * b[1]
    divisor = math.gcd(top, bottom)
    return top // divisor, bottom // divisor

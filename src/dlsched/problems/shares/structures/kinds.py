"""Kinds of jobs: those that are equal in all that an objective reads have equal shares.

The mean of a solution over all permutations of equal jobs is as good, by symmetry, so programs are
over the total times of kinds.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from dlsched.problems.shares.definition.check import alone, combine, value
from dlsched.problems.shares.definition.schema import TIMED, Instance, Job
from dlsched.schema import Id, Number

Where: TypeAlias = tuple[Id, ...]
"""A kind of jobs, the model beside them where they share GPUs, and a type of GPU."""


@dataclass(frozen=True)
class Kind:
    """Jobs that are interchangeable; `name` is the id of the first."""

    name: Id
    example: Job
    jobs: tuple[Id, ...]
    gpus: int
    rates: Mapping[Id, Number]

    @property
    def count(self) -> int:
        """How many jobs there are."""
        return len(self.jobs)


def kinds_of(instance: Instance) -> dict[Id, Kind]:
    """Return the kinds of jobs by name, in the order of their first jobs."""
    timed = instance.objective in TIMED
    alike: dict[tuple[object, ...], list[Job]] = {}
    for job in instance.jobs:
        key = (job.steps, job.elapsed) if timed else (job.weight,)
        alike.setdefault((job.model, *key), []).append(job)
    kinds = {}
    for jobs in alike.values():
        first = jobs[0]
        ids = tuple(job.id for job in jobs)
        gpus = instance.by_id[first.model].gpus
        kinds[first.id] = Kind(first.id, first, ids, gpus, instance.usable[first.model])
    return kinds


class Part(NamedTuple):
    """A kind of jobs on a type of GPU, alone or beside a model."""

    kind: Kind
    type: Id
    halves: int  # twice the GPUs that a job holds: beside another one it holds half of them
    rate: Fraction
    time: Any  # of all its jobs, or the variable of it


def parts(
    instance: Instance, kinds: Mapping[Id, Kind], times: Mapping[Where, Any]
) -> Iterator[Part]:
    """Yield what times are times of."""
    for (c, *beside, k), time in times.items():
        kind = kinds[c]
        if beside:
            rate = instance.beside[kind.example.model, beside[0], k]
            yield Part(kind, k, kind.gpus, Fraction(rate), time)
        else:
            yield Part(kind, k, 2 * kind.gpus, Fraction(kind.rates[k]), time)


def line(instance: Instance, job: Job, at: Fraction) -> tuple[Fraction, Fraction]:
    """Return constant and slope of a line in its throughput that a job's value is never above.

    A finish time's value is concave; the line touches it at the value `at`. Others are lines.
    """
    if instance.objective != "finish_time" or not job.elapsed:
        return Fraction(0), value(instance, job, Fraction(1))
    steps, whole = Fraction(job.steps or 0), alone(instance, job)
    rest = whole - at * job.elapsed
    if rest <= 0:
        return at, Fraction(0)  # at any speed it is worth less
    speed = at * steps / rest
    slope = whole * steps / (job.elapsed * speed + steps) ** 2
    return at - slope * speed, slope


def pooled(instance: Instance, at: Fraction) -> Fraction:
    """Return a value that no solution exceeds, by the GPUs of all types together.

    A job at its best of e iterations a second on each GPU holds at least speed / e GPUs, two beside
    each other half of theirs. With `line`, value <= c + a speed, all values are at least v only if
    the sum over jobs of (v - c) / (a e) is at most the number of GPUs; so it is with less than
    1 / (a e) or more than c, as doubles are here, of which sums are fast.
    """
    best = _best_rates(instance, beside=2)
    gpus = Fraction(sum(instance.gpus.values()))
    weights = Fraction(0)
    for job in instance.jobs if instance.objective != "total" else ():
        constant, slope = line(instance, job, at)
        if slope:
            weight = instance.by_id[job.model].gpus / (slope * best[job.model])
            less = Fraction(math.nextafter(float(weight), 0.0))
            gpus += less * Fraction(math.nextafter(float(constant), math.inf))
            weights += less
    return min(ceiling(instance), gpus / weights) if weights else ceiling(instance)


def ceiling(instance: Instance) -> Fraction:
    """Return a value that no solution exceeds: each job at its best, alone or beside another."""
    best = _best_rates(instance)
    return combine(instance, {j.id: value(instance, j, best[j.model]) for j in instance.jobs})


def _best_rates(instance: Instance, beside: int = 1) -> dict[Id, Fraction]:
    """Return by model of a job the largest of its rates, those beside others times a number."""
    present = {job.model for job in instance.jobs}
    best = {model: max(map(Fraction, instance.usable[model].values())) for model in present}
    for (model, other, _), rate in instance.beside.items():
        if {model, other} <= present:
            best[model] = max(best[model], beside * Fraction(rate))
    return best

"""Kinds of jobs: those that are equal in all that an objective reads have equal shares.

The mean of a solution over all permutations of equal jobs is as good, by symmetry, so programs are
over the total times of kinds.
"""

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


def ceiling(instance: Instance) -> Fraction:
    """Return a value that no solution exceeds: each job at its best, alone or beside another."""
    present = {job.model for job in instance.jobs}
    best = {model: max(map(Fraction, instance.usable[model].values())) for model in present}
    for (model, other, _), rate in instance.beside.items():
        if {model, other} <= present:
            best[model] = max(best[model], Fraction(rate))
    return combine(instance, {j.id: value(instance, j, best[j.model]) for j in instance.jobs})

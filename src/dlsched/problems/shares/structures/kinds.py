"""Kinds of jobs: those that are equal in all that an objective reads have equal shares.

The mean of a solution over all permutations of equal jobs is as good, by symmetry, so programs are
over the total times of kinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dlsched.problems.shares.definition.check import alone, value
from dlsched.problems.shares.definition.schema import TIMED, Instance, Job
from dlsched.schema import Id, Number


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
    alike: dict[tuple[object, ...], list[Job]] = {}
    for job in instance.jobs:
        timed = instance.objective in TIMED
        key = (job.steps, job.elapsed) if timed else (job.weight,)
        alike.setdefault((job.model, *key), []).append(job)
    return {
        jobs[0].id: Kind(
            jobs[0].id,
            jobs[0],
            tuple(job.id for job in jobs),
            instance.by_id[jobs[0].model].gpus,
            instance.usable[jobs[0].model],
        )
        for jobs in alike.values()
    }


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
    best = {
        model: max(map(Fraction, rates.values()), default=Fraction(0))
        for model, rates in instance.usable.items()
    }
    present = {job.model for job in instance.jobs}
    for (model, other, _), rate in instance.beside.items():
        if other in present:
            best[model] = max(best[model], Fraction(rate))
    values = [value(instance, job, best[job.model]) for job in instance.jobs]
    if instance.objective == "total":
        return sum(values, Fraction(0))
    return min(values, default=Fraction(0))

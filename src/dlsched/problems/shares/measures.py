"""What the policies measure: the definition that programs and checker share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from dlsched.errors import InstanceError, UnknownName
from dlsched.problems.shares.jobs import Job
from dlsched.problems.shares.rates import Rates
from dlsched.schema.quantities import Number


@dataclass(frozen=True)
class Measure:
    """How a policy values an allocation: a value per job, and how they are combined."""

    name: str
    sense: Literal["min", "max"]
    combine: Literal["least", "largest", "sum"]
    needs_steps: bool = False


MEASURES = {
    measure.name: measure
    for measure in (
        Measure("max_min", "max", "least"),
        Measure("water_filling", "max", "least"),
        Measure("makespan", "min", "largest", needs_steps=True),
        Measure("finish_time_fairness", "min", "largest", needs_steps=True),
        Measure("max_sum_throughput", "max", "sum"),
    )
}
POLICIES = tuple(MEASURES)
Rated: TypeAlias = dict[str, Number]


def measure_of(policy: str) -> Measure:
    """Return the measure of a policy; raise `UnknownName` if there is none."""
    if not isinstance(policy, str) or policy not in MEASURES:
        raise UnknownName("policy", str(policy), POLICIES)
    return MEASURES[policy]


def require_steps(jobs: Iterable[Job], measure: Measure) -> None:
    """Raise `InstanceError` if a policy needs the jobs' remaining steps and one has none."""
    for i, job in enumerate(jobs if measure.needs_steps else ()):
        if job.steps is None:
            remedy = f"give the iterations that remain; {measure.name} needs them"
            raise InstanceError("jobs", f"[{i}].steps", f"of {job.id!r} is missing", remedy)


def usable_rates(job: Job, rates: Rates, gpus: Mapping[str, int]) -> Rated:
    """Return a job's rates alone on the types on which it can run.

    It cannot run on a type with fewer GPUs than its scale **(D)**: the program's fractions would
    give it such a type for part of the time.

    Raises
    ------
    InstanceError
        If its model has no rates, or it can run on no type: its share would be 0, and with it the
        least share of all.
    """
    if not rates.knows(job.model, job.scale):
        remedy = f"add rates for {job.model!r} at scale {job.scale}"
        raise InstanceError("jobs", job.id, f"has a model without rates: {job.model!r}", remedy)
    usable = {k: rates.rate(job.model, job.scale, k) for k, n in gpus.items() if n >= job.scale}
    usable = {k: rate for k, rate in usable.items() if rate}
    if not usable:
        problem = f"can run on no type of GPU (scale {job.scale}, {dict(gpus)})"
        raise InstanceError("jobs", job.id, problem, "leave it out, or add a rate above 0")
    return usable


def proportional(rated: Rated, gpus: Mapping[str, int]) -> Fraction:
    """Return the throughput of a job that is on each type as often as that type's share of GPUs."""
    total = sum((Fraction(rate) * gpus[k] for k, rate in rated.items()), Fraction(0))
    return total / sum(gpus.values())


def isolated(job: Job, share: Fraction, gpus: Mapping[str, int], jobs: int) -> Fraction:
    """Return the throughput of a job with its part of a cluster divided equally among all jobs.

    The part is the total number of GPUs divided by the number of jobs, the same share of each type,
    and at most all of the job's time **(D)**: the public code takes whatever optimum its solver
    finds for max-min fairness with all rates 1, of which there are many.

    Parameters
    ----------
    share
        The job's proportional throughput.
    jobs
        The number of all jobs.
    """
    part = Fraction(sum(gpus.values()), jobs * job.scale)
    return share * min(Fraction(1), part)


def value(
    policy: str, job: Job, throughput: Fraction, share: Fraction, gpus: Mapping[str, int], jobs: int
) -> Fraction | None:
    """Return a job's value under a policy; ``None`` if it is infinite (no throughput).

    The job's proportional throughput is `share`, the number of all jobs `jobs`.
    """
    if policy == "max_sum_throughput":
        return job.weight * throughput
    if policy in ("max_min", "water_filling"):
        return job.scale * throughput / (job.weight * share)
    assert job.steps is not None
    if not throughput:
        return None
    duration = Fraction(job.steps) / throughput
    if policy == "makespan":
        return duration
    alone = job.elapsed + Fraction(job.steps) / isolated(job, share, gpus, jobs)
    return (job.elapsed + duration) / alone


def combine(policy: str, values: Iterable[Fraction | None]) -> Fraction | None:
    """Return the objective from the jobs' values; ``None`` if it is infinite."""
    listed = list(values)
    finite = [v for v in listed if v is not None]
    if len(finite) < len(listed):
        return None
    how = {"least": min, "largest": max, "sum": sum}[MEASURES[policy].combine]
    return Fraction(how(finite))  # type: ignore[operator]

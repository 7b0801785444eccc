"""The definition of shares: what a job's time is worth, and which times are possible."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction

from dlsched.problems.shares.definition.schema import Instance, Job, Share, Solution
from dlsched.results.objective import ByLevel, Level
from dlsched.results.result import Report, Violation
from dlsched.schema import Id, Number

LEVELS = (Level("value", "max", ""),)


def check(instance: Instance, solution: Solution) -> Report:
    """Check a solution, and compute its value in exact arithmetic; details are throughputs by job.

    The violations are ``unknown_job``, ``unknown_type``, ``same_job`` (a job beside itself),
    ``cannot_run``, ``cannot_share``, ``time`` (a job has more than all of its time) and ``gpus``.
    """
    speeds = throughputs(instance, solution)
    objective: ByLevel[Number] = ByLevel(LEVELS, [_worth(instance, speeds)])
    details = {name: float(speed) for name, speed in speeds.items()}
    return Report(tuple(_violations(instance, solution)), objective, details)


def value_of(instance: Instance, solution: Solution) -> Fraction:
    """Return what a solution is worth, whatever it violates."""
    return _worth(instance, throughputs(instance, solution))


def _worth(instance: Instance, speeds: Mapping[Id, Fraction]) -> Fraction:
    """Return what throughputs of the jobs are worth."""
    return combine(instance, {j.id: value(instance, j, speeds[j.id]) for j in instance.jobs})


def throughputs(instance: Instance, solution: Solution) -> dict[Id, Fraction]:
    """Return the iterations per second of each job."""
    speeds: dict[Id, Fraction] = {job.id: Fraction(0) for job in instance.jobs}
    for share in solution.shares:
        for name, rate in _rates(instance, share).items():
            speeds[name] += rate * Fraction(share.time)
    return speeds


def explain(instance: Instance) -> str:
    """Return nothing: all GPUs may be idle."""
    return ""


def combine(instance: Instance, values: Mapping[Id, Fraction]) -> Fraction:
    """Return what the jobs' values are worth: their sum, or the least; 0 without jobs."""
    if instance.objective == "total":
        return sum(values.values(), Fraction(0))
    return min(values.values(), default=Fraction(0))


def value(instance: Instance, job: Job, speed: Fraction) -> Fraction:
    """Return a job's value at a throughput, in iterations per second.

    ``max_min``: its GPUs x throughput / (weight x `proportional`). ``makespan``: throughput /
    steps, 1 / the time that it takes. ``finish_time``: its time to finish with an equal part of the
    cluster by that with this throughput, see `alone`. ``total``: weight x throughput.
    """
    if instance.objective == "max_min":
        fair = job.weight * proportional(instance, job.model)
        return instance.by_id[job.model].gpus * speed / fair
    if instance.objective == "total":
        return job.weight * speed
    steps = Fraction(job.steps or 0)
    if instance.objective == "makespan":
        return speed / steps
    return alone(instance, job) * speed / (job.elapsed * speed + steps)


def proportional(instance: Instance, model: Id) -> Fraction:
    """Return the throughput of a job that is on each type as often as that type's share of GPUs."""
    rates = instance.usable[model]
    total = sum((Fraction(rate) * instance.gpus[kind] for kind, rate in rates.items()), Fraction(0))
    return total / sum(instance.gpus.values())


def isolated(instance: Instance, model: Id) -> Fraction:
    """Return the throughput of a job with an equal part of the cluster.

    The part is all GPUs by the number of jobs, the same share of each type, and at most all of the
    job's time **(D)**: the public code takes whatever optimum its solver finds for max-min fairness
    with all rates 1, of which there are many.
    """
    gpus = len(instance.jobs) * instance.by_id[model].gpus
    part = min(Fraction(1), Fraction(sum(instance.gpus.values()), gpus))
    return proportional(instance, model) * part


def alone(instance: Instance, job: Job) -> Fraction:
    """Return a job's time from submission to its end with an equal part of the cluster."""
    return job.elapsed + Fraction(job.steps or 0) / isolated(instance, job.model)


def _rates(instance: Instance, share: Share) -> dict[Id, Fraction]:
    """Return the rates of the jobs of a share, 0 where they cannot run so."""
    known = [instance.job_of[name] for name in share.jobs if name in instance.job_of]
    if len(known) < len(share.jobs) or len({job.id for job in known}) < len(known):
        return {}
    models = [job.model for job in known]
    if len(known) == 1:
        return {known[0].id: Fraction(instance.usable[models[0]].get(share.type, 0))}
    sides = zip(known, (models, models[::-1]), strict=True)
    return {
        job.id: Fraction(instance.beside.get((ours, theirs, share.type), 0))
        for job, (ours, theirs) in sides
    }


def _violations(instance: Instance, solution: Solution) -> Iterator[Violation]:
    time: dict[Id, Fraction] = defaultdict(Fraction)
    used: dict[Id, Fraction] = defaultdict(Fraction)
    for i, share in enumerate(solution.shares):
        yield from _of_share(instance, share, f"shares[{i}]")
        known = [instance.job_of[name] for name in share.jobs if name in instance.job_of]
        for job in known:
            time[job.id] += Fraction(share.time)
        if len(known) == len(share.jobs) and share.type in instance.gpus:
            used[share.type] += instance.by_id[known[0].model].gpus * Fraction(share.time)
    for name, amount in time.items():
        if amount > 1:
            message = f'"{name}" has {float(amount):.9g} times all of its time'
            yield Violation("time", f"jobs[{name!r}]", message, amount - 1)
    for kind, amount in used.items():
        excess = amount - instance.gpus[kind]
        if excess > 0:
            message = f'{float(amount):.9g} of {instance.gpus[kind]} GPUs of "{kind}" are used'
            yield Violation("gpus", f"gpus[{kind!r}]", message, excess)


def _of_share(instance: Instance, share: Share, where: str) -> Iterator[Violation]:
    """Yield what is wrong with a share alone."""
    unknown = [name for name in share.jobs if name not in instance.job_of]
    for name in unknown:
        yield Violation("unknown_job", f"{where}.jobs", f'there is no job "{name}"')
    if share.type not in instance.gpus:
        yield Violation("unknown_type", f"{where}.type", f'there is no type "{share.type}"')
    elif not unknown and len(set(share.jobs)) < len(share.jobs):
        yield Violation("same_job", f"{where}.jobs", f'"{share.jobs[0]}" is beside itself')
    elif not unknown and share.time and not all(_rates(instance, share).values()):
        kind = "cannot_run" if len(share.jobs) == 1 else "cannot_share"
        names = " and ".join(f'"{name}"' for name in share.jobs)
        yield Violation(kind, where, f'{names} cannot run on "{share.type}" so', share.time)

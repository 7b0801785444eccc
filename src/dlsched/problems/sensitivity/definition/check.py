"""The definition of sensitivity: violations and objective of an allocation."""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from dlsched.problems.sensitivity.definition.schema import Allocation, Instance, Job, Solution
from dlsched.results.objective import ByLevel, Level
from dlsched.results.result import Report, Violation
from dlsched.schema import Number, simplify

LEVELS = (Level("throughput", "max", "proportional shares"), Level("split", "min", "jobs"))

Used = dict[int, list[Number]]


def check(instance: Instance, solution: Solution) -> Report:
    """Check a solution against the definition.

    Violations: ``unknown_job``, ``missing_job`` (unless jobs may wait), ``off_axis`` (CPUs or
    memory that the profile does not have), ``not_measured``, ``below_proportional``,
    ``unknown_server``, ``too_few_gpus``, ``too_many_gpus``, ``split_forbidden``,
    ``gpus_exceeded``, ``cpus_exceeded``, ``memory_exceeded``.

    ``details`` has the fractions of the cluster's ``gpus``, ``cpus`` and ``memory`` that are in
    use, and the numbers of ``servers_used``, ``idle_gpus`` and ``waiting`` jobs.
    """
    known = {job.id for job in instance.jobs}
    given = {name: a for name, a in solution.allocation.items() if name in known}
    use = used(given)
    violations = list(_violations(instance, solution, use))
    servers = instance.servers
    details: dict[str, Number | float] = {"servers_used": len(use)}
    for i, name in enumerate(("gpus", "cpus", "memory")):
        total = sum((Fraction(row[i]) for row in use.values()), Fraction(0))
        details[name] = float(total / (servers.count * getattr(servers, name)))
    in_use = sum(row[0] for row in use.values())
    details["idle_gpus"] = servers.count * servers.gpus - in_use
    details["waiting"] = len(known) - len(given)
    return Report(tuple(violations), evaluate(instance, given), details)


def evaluate(instance: Instance, allocation: Mapping[str, Allocation]) -> ByLevel[Number]:
    """Return (sum of throughput, jobs on more than one server); off the axes throughput is 0."""
    throughput = Fraction(0)
    split = 0
    for job in instance.jobs:
        given = allocation.get(job.id)
        if given is not None:
            throughput += instance.profile(job).at(given.cpus, given.memory) or 0
            split += len(given.gpus) > 1
    return ByLevel(LEVELS, (simplify(throughput), split))


def value_of(instance: Instance, solution: Solution) -> ByLevel[Number] | None:
    """Return the value of a solution; ``None`` if it is not feasible."""
    feasible = check(instance, solution).feasible
    return evaluate(instance, solution.allocation) if feasible else None


def used(allocation: Mapping[str, Allocation]) -> Used:
    """Return GPUs, CPUs and memory in use on each server whose id is a valid index."""
    use: Used = {}
    for given in allocation.values():
        for server, gpus in given.gpus.items():
            index = _index(server)
            if index is not None:
                row = use.setdefault(index, [0, 0, 0])
                for i, amount in enumerate((1, given.cpus, given.memory)):
                    row[i] += gpus * amount
    return use


_MOST_DIGITS = 18
"""Longer indices are invalid; `int` raises an error for thousands of digits."""


def _index(server: str) -> int | None:
    """Return a server's index, or ``None`` if it is not a decimal without leading zeros."""
    decimal = server.isascii() and server.isdigit() and (server == "0" or server[0] != "0")
    return int(server) if decimal and len(server) <= _MOST_DIGITS else None


def _violations(instance: Instance, solution: Solution, use: Used) -> Iterable[Violation]:
    jobs = {job.id: job for job in instance.jobs}
    for name in solution.allocation:
        if name not in jobs:
            yield Violation("unknown_job", f"allocation.{name}", f'there is no job "{name}"')
    for name, job in jobs.items():
        if name in solution.allocation:
            where = f"allocation.{name}"
            yield from _of_job(instance, job, solution.allocation[name], where)
        elif not instance.may_wait:
            message = f'job "{name}" is not placed, and jobs may not wait'
            yield Violation("missing_job", "allocation", message)
    servers = instance.servers
    limits = (servers.gpus, servers.cpus, servers.memory)
    for server, row in sorted(use.items()):
        for kind, have, limit in zip(("gpus", "cpus", "memory"), row, limits, strict=True):
            if server < servers.count and have > limit:
                message = f"{float(have):g} {kind} in use, server {server} has {float(limit):g}"
                yield Violation(f"{kind}_exceeded", f"servers[{server}]", message, have - limit)


def _of_job(instance: Instance, job: Job, given: Allocation, where: str) -> Iterable[Violation]:
    profile = instance.profile(job)
    for axis in ("cpus", "memory"):
        value = getattr(given, axis)
        if value not in getattr(profile, axis):
            message = f"{float(value):g} is not on the profile's axis"
            yield Violation("off_axis", f"{where}.{axis}", message)
    throughput = profile.at(given.cpus, given.memory)
    least = instance.shares[job.profile].throughput
    if throughput == 0:
        yield Violation("not_measured", where, "the profile has no measurement of this choice")
    elif throughput is not None and throughput < least:
        message = f"throughput {float(throughput):g}, the proportional share gives {float(least):g}"
        yield Violation("below_proportional", where, message, least - throughput)
    for server in given.gpus:
        index = _index(server)
        if index is None or index >= instance.servers.count:
            message = f'there is no server "{server}"; they are 0 to {instance.servers.count - 1}'
            yield Violation("unknown_server", f"{where}.gpus.{server}", message)
    total = sum(given.gpus.values())
    message = f"{total} GPUs, the job needs {profile.gpus}"
    if total < profile.gpus:
        yield Violation("too_few_gpus", f"{where}.gpus", message, profile.gpus - total)
    if total > profile.gpus:
        yield Violation("too_many_gpus", f"{where}.gpus", message, total - profile.gpus)
    if len(given.gpus) > 1 and not instance.allow_split:
        message = f"on {len(given.gpus)} servers, and jobs may not be split"
        yield Violation("split_forbidden", f"{where}.gpus", message, len(given.gpus) - 1)


def explain(instance: Instance) -> str:
    """Return why no solution exists; an empty string if no reason is known."""
    servers = instance.servers
    if instance.may_wait:
        return ""
    wanted = sum(instance.profile(job).gpus for job in instance.jobs)
    if wanted > servers.count * servers.gpus:
        return f"the jobs need {wanted} GPUs, the servers have {servers.count * servers.gpus}"
    if not instance.allow_split:
        for job in instance.jobs:
            if instance.profile(job).gpus > servers.gpus:
                return (
                    f"job {job.id} needs {instance.profile(job).gpus} GPUs, a server has "
                    f"{servers.gpus}, and jobs may not be split"
                )
    return ""

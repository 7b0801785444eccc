"""The definition of sensitivity: what an allocation breaks, and what it is worth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from dlsched.objective import ByLevel, Level
from dlsched.problems.sensitivity.schema import Allocation, Instance, Job, Solution
from dlsched.result import Report, Violation
from dlsched.schema import Number

LEVELS = (Level("throughput", "max", "proportional shares"), Level("split", "min", "jobs"))

Used = dict[int, list[Number]]


def check(instance: Instance, solution: Solution) -> Report:
    """Judge a solution.

    Violations: ``instance`` (made for another one), ``unknown_job``, ``missing_job`` (unless jobs
    may wait), ``off_axis`` (CPUs or memory that the profile does not have), ``not_measured``,
    ``below_proportional``, ``unknown_server``, ``too_few_gpus``, ``too_many_gpus``,
    ``split_forbidden``, ``gpus_exceeded``, ``cpus_exceeded``, ``memory_exceeded``.

    ``details`` has the shares of the cluster's ``gpus``, ``cpus`` and ``memory`` that are in use,
    ``servers_used``, the number of ``idle_gpus``, and that of the ``waiting`` jobs.
    """
    violations = list(_violations(instance, solution))
    known = {job.id for job in instance.jobs}
    given = {name: a for name, a in solution.allocation.items() if name in known}
    use = used(given)
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
    """Return (sum of throughput, jobs on more than one server); what is off the axes counts 0."""
    throughput: Number = 0
    split = 0
    for job in instance.jobs:
        given = allocation.get(job.id)
        if given is not None:
            throughput += instance.profile(job).at(given.cpus, given.memory) or 0
            split += len(given.gpus) > 1
    if isinstance(throughput, Fraction) and throughput.denominator == 1:
        throughput = int(throughput)
    return ByLevel(LEVELS, (throughput, split))


def used(allocation: Mapping[str, Allocation]) -> Used:
    """Return GPUs, CPUs and memory in use on each server that is named by a number."""
    use: Used = {}
    for given in allocation.values():
        for server, gpus in given.gpus.items():
            if _is_index(server) and len(server) <= _MOST_DIGITS:  # a longer one is unknown
                row = use.setdefault(int(server), [0, 0, 0])
                for i, each in enumerate((1, given.cpus, given.memory)):
                    row[i] += gpus * each
    return use


_MOST_DIGITS = 18
"""No cluster has servers with longer numbers, and Python refuses to read thousands of digits."""


def _is_below(index: str, count: int) -> bool:
    return len(index) <= len(str(count)) and int(index) < count


def _is_index(server: str) -> bool:
    return server.isascii() and server.isdigit() and (server == "0" or server[0] != "0")


def _violations(instance: Instance, solution: Solution) -> Iterable[Violation]:
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
    placed = {name: a for name, a in solution.allocation.items() if name in jobs}
    for server, row in sorted(used(placed).items()):
        for kind, have, limit in zip(("gpus", "cpus", "memory"), row, limits, strict=True):
            if server < servers.count and have > limit:
                message = f"server {server} gives {float(have):g} {kind}, it has {float(limit):g}"
                yield Violation(f"{kind}_exceeded", f"servers[{server}]", message, have - limit)


def _of_job(instance: Instance, job: Job, given: Allocation, where: str) -> Iterable[Violation]:
    profile = instance.profile(job)
    for axis in ("cpus", "memory"):
        value = getattr(given, axis)
        if value not in getattr(profile, axis):
            message = f"{float(value):g} is not on the profile's axis"
            yield Violation("off_axis", f"{where}.{axis}", message)
    throughput = profile.at(given.cpus, given.memory)
    least = instance.proportional(job.profile).throughput
    if throughput == 0:
        yield Violation("not_measured", where, "there is no measurement for this share")
    elif throughput is not None and throughput < least:
        message = f"throughput {float(throughput):g}, the proportional share gives {float(least):g}"
        yield Violation("below_proportional", where, message, least - throughput)
    for server in given.gpus:
        if not _is_index(server) or not _is_below(server, instance.servers.count):
            message = f'there is no server "{server}"; they are 0 to {instance.servers.count - 1}'
            yield Violation("unknown_server", f"{where}.gpus.{server}", message)
    total = sum(given.gpus.values())
    message = f"{total} GPUs, the job has {profile.gpus}"
    if total < profile.gpus:
        yield Violation("too_few_gpus", f"{where}.gpus", message, profile.gpus - total)
    if total > profile.gpus:
        yield Violation("too_many_gpus", f"{where}.gpus", message, total - profile.gpus)
    if len(given.gpus) > 1 and not instance.allow_split:
        message = f"on {len(given.gpus)} servers, and jobs may not be split"
        yield Violation("split_forbidden", f"{where}.gpus", message, len(given.gpus) - 1)


def explain(instance: Instance) -> str:
    """Say why no solution exists; an empty string if one does, or none is known not to."""
    servers = instance.servers
    if instance.may_wait:
        return ""
    wanted = sum(instance.profile(job).gpus for job in instance.jobs)
    if wanted > servers.count * servers.gpus:
        return f"the jobs have {wanted} GPUs, the servers {servers.count * servers.gpus}"
    if not instance.allow_split:
        for job in instance.jobs:
            if instance.profile(job).gpus > servers.gpus:
                return (
                    f"job {job.id} has {instance.profile(job).gpus} GPUs, a server "
                    f"{servers.gpus}, and jobs may not be split"
                )
    return ""

"""The definition of workers: the violations and the objective of a placement."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from dlsched.problems.workers.definition.schema import KINDS, Instance, Job, Kind, Placed, Solution
from dlsched.results.objective import ByLevel, Level
from dlsched.results.result import Report, Violation
from dlsched.schema import Number

LEVELS = (
    Level("placed", "max", "jobs"),
    Level("flexible", "max", "workers"),
    Level("off_preference", "min", "GPUs"),
    Level("opened", "min", "servers"),
)


def check(instance: Instance, solution: Solution) -> Report:
    """Return the violations and the objective of a solution.

    Kinds of violations: ``unknown_job``, ``unknown_server``, ``too_few_base``, ``too_many_base``,
    ``too_many_flexible``, ``pool`` (a worker on loan of a job that must stay on training servers),
    ``two_pools`` (a fungible job that is not heterogeneous, on both), ``gpus``, ``group`` (a worker
    on a loan server of the other group) and ``mixed_group`` (new workers of both kinds on one).
    ``details`` has ``base_on_loan`` and ``flexible_on_loan``, workers on loan servers.
    """
    objective = evaluate(instance, solution)
    details = {f"{kind}_on_loan": 0 for kind in KINDS}
    for workers in _workers(instance, solution):
        if instance.servers[workers.server].pool == "loan":
            details[f"{workers.kind}_on_loan"] += workers.number
    violations = (*_of_jobs(instance, solution), *_of_servers(instance, solution))
    return Report(violations, objective, details)


def _of_jobs(instance: Instance, solution: Solution) -> Iterator[Violation]:
    for name, placed in solution.placement.items():
        where = f"placement[{name!r}]"
        if name not in instance.job_index:
            yield Violation("unknown_job", where, f'there is no job "{name}"')
            continue
        job = instance.jobs[instance.job_index[name]]
        for kind in KINDS:
            for server in placed.counts(kind):
                if server not in instance.server_index:
                    message = f'there is no server "{server}"'
                    yield Violation("unknown_server", f"{where}.{kind}", message)
        base, flexible = (sum(placed.counts(kind).values()) for kind in KINDS)
        if base != job.base:
            kind_of_flaw = "too_few_base" if base < job.base else "too_many_base"
            message = f'job "{name}" needs {job.base} base workers, {base} are placed'
            yield Violation(kind_of_flaw, f"{where}.base", message, abs(base - job.base))
        if flexible > job.flexible:
            message = f'job "{name}" may have {job.flexible} flexible workers, not {flexible}'
            excess = flexible - job.flexible
            yield Violation("too_many_flexible", f"{where}.flexible", message, excess)
        yield from _of_pools(instance, job, placed)


def _of_pools(instance: Instance, job: Job, placed: Placed) -> Iterator[Violation]:
    where = f"placement[{job.id!r}]"
    used = {
        instance.servers[instance.server_index[server]].pool
        for kind in KINDS
        for server in placed.counts(kind)
        if server in instance.server_index
    }
    if not used <= set(job.pools):
        message = f'job "{job.id}" is neither fungible nor heterogeneous, and is on loan servers'
        yield Violation("pool", where, message)
    elif len(used) > 1 and not job.heterogeneous:
        message = f'job "{job.id}" is not heterogeneous, and is on servers of both pools'
        yield Violation("two_pools", where, message)


def _of_servers(instance: Instance, solution: Solution) -> Iterator[Violation]:
    held = gpus_by_server(instance, solution)
    for s, server in enumerate(instance.servers):
        here = {kind: held[s, kind] for kind in KINDS if held[s, kind]}
        total = sum(here.values())
        if total > server.free:
            message = f'workers on "{server.id}" need {total} GPUs, {server.free} are free'
            yield Violation("gpus", f"servers[{s}]", message, total - server.free)
        allowed = instance.kinds[s]
        if allowed is None:
            continue
        for kind in here:
            if kind not in allowed:
                message = f'"{server.id}" is in the {server.group} group and gets {kind} workers'
                yield Violation("group", f"servers[{s}]", message)
        if len(here) > 1 and len(allowed) > 1:
            message = f'"{server.id}" gets base and flexible workers'
            yield Violation("mixed_group", f"servers[{s}]", message)


class _Workers(NamedTuple):
    """The workers of a kind that a job has on a server."""

    job: Job
    kind: Kind
    server: int
    """Its position."""
    number: int


def _workers(instance: Instance, solution: Solution) -> Iterator[_Workers]:
    """Yield the workers of known jobs on known servers."""
    for name, placed in solution.placement.items():
        if name in instance.job_index:
            job = instance.jobs[instance.job_index[name]]
            for kind in KINDS:
                for server, count in placed.counts(kind).items():
                    if server in instance.server_index:
                        yield _Workers(job, kind, instance.server_index[server], count)


def gpus_by_server(instance: Instance, solution: Solution) -> Counter[tuple[int, Kind]]:
    """Return the GPUs of placed workers by position of the server and kind of worker."""
    held: Counter[tuple[int, Kind]] = Counter()
    for workers in _workers(instance, solution):
        held[workers.server, workers.kind] += workers.number * workers.job.gpus_per_worker
    return held


def evaluate(instance: Instance, solution: Solution) -> ByLevel[Number]:
    """Return the objective of the jobs and servers that exist.

    Level 1 counts the jobs with all their base workers, level 2 the flexible workers of all jobs.
    Level 3 counts the GPUs of workers that are not in the preferred pool of their job, if the job
    may use both pools: loan for elastic jobs, training for others. Level 4 counts the servers that
    are empty before and get a worker.
    """
    base: Counter[str] = Counter()
    flexible = off_preference = 0
    opened = set()
    for job, kind, s, count in _workers(instance, solution):
        server = instance.servers[s]
        if kind == "base":
            base[job.id] += count
        else:
            flexible += count
        if len(job.pools) > 1 and server.pool != job.pools[0]:
            off_preference += count * job.gpus_per_worker
        if server.empty:
            opened.add(s)
    placed = sum(base[job.id] == job.base for job in instance.jobs)
    return ByLevel(LEVELS, (placed, flexible, off_preference, len(opened)))


def explain(instance: Instance) -> str:
    """Return why no solution exists: there always is one, without any job."""
    return ""

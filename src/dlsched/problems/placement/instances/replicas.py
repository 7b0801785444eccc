"""Extra replicas after the homes are chosen (MAST, section 3.5), and the checker for them.

Every table gets a copy in another region for disaster recovery. Training jobs that no region can
run get copies of the tables they miss, high priorities first, in the region with the highest supply
of their GPU type. The remaining storage goes to hot tables, up to a quota for each region and GPU
type. Decisions that the paper leaves open are marked (D).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dlsched.errors import OptionError
from dlsched.problems.placement.definition.schema import Instance, Job, Region, Solution
from dlsched.results.result import Violation
from dlsched.schema import Number

Reason = Literal["disaster", "job", "hot"]


@dataclass(frozen=True)
class Replica:
    """A copy of a table in a region other than its home, and its purpose."""

    table: str
    region: str
    reason: Reason


def replicate(
    instance: Instance,
    solution: Solution,
    *,
    disaster: bool = True,
    hot_quota: Number = 0,
) -> tuple[Replica, ...]:
    """Choose the extra replicas of a placement.

    A training job that no region can run gets copies of the tables that it misses: jobs by
    priority, each in the region with the highest supply of its GPU type. Hot tables follow: for
    each region and GPU type, the tables read by most jobs that use the type, up to a quota
    proportional to the supply **(D)**.

    Parameters
    ----------
    instance, solution
        A feasible placement.
    disaster
        Whether every table gets a copy in another region: the largest tables first, each where
        most storage is free **(D)**; the paper's policy uses failure data that it does not print.
    hot_quota
        Bytes that copies of hot tables may take in all regions together.

    Returns
    -------
    tuple of Replica
        In the order in which they were chosen: for disaster recovery, for jobs, hot tables.

    Raises
    ------
    OptionError
        If the quota is negative.
    """
    if hot_quota < 0:
        raise OptionError(f"hot_quota={hot_quota} must be from 0")
    storage = _Storage(instance, solution)
    disasters = storage.disaster() if disaster else ()
    return (*disasters, *storage.for_jobs(), *storage.hot(Fraction(hot_quota)))


def co_location(
    instance: Instance,
    solution: Solution,
    replicas: Iterable[Replica] = (),
    *,
    by: str = "gpu_hours",
) -> Fraction:
    """Return the share of training jobs for which one region has all tables and all GPU types.

    Spark and Presto jobs, which read across regions, do not count. 1 without training jobs.

    Parameters
    ----------
    by
        ``"gpu_hours"`` weights a job by its GPU hours, as MAST's version 2 does, there for high
        priorities only (section 5.6); ``"jobs"`` weights all training jobs equally, as its
        version 1 does.
    """
    if by not in ("gpu_hours", "jobs"):
        raise OptionError(f"by={by!r} must be gpu_hours or jobs")
    copies = _copies(solution, replicas)
    total = hosted = Fraction(0)
    for job in instance.jobs:
        if job.kind == "ml":
            weight = _hours(job) if by == "gpu_hours" else Fraction(1)
            total += weight
            if _hosts(instance, copies, job):
                hosted += weight
    return hosted / total if total else Fraction(1)


def check_replicas(
    instance: Instance,
    solution: Solution,
    replicas: Iterable[Replica],
    *,
    disaster: bool = True,
    hot_quota: Number = 0,
) -> tuple[Violation, ...]:
    """Check extra replicas.

    Violations: ``unknown_table``, ``unknown_region``, ``duplicate_copy`` (the table is there
    already), ``storage_exceeded``, ``hot_quota_exceeded``, and with `disaster` ``unprotected`` (a
    table has no second copy although some region has enough free storage).
    """
    return tuple(_violations(instance, solution, tuple(replicas), disaster, Fraction(hot_quota)))


def _violations(
    instance: Instance,
    solution: Solution,
    replicas: tuple[Replica, ...],
    disaster: bool,
    hot_quota: Fraction,
) -> Iterator[Violation]:
    copies = _copies(solution, ())
    hot = Fraction(0)
    for i, copy in enumerate(replicas):
        flaw = _flaw(instance, copies, copy)
        if flaw is not None:
            yield Violation(flaw[0], f"replicas[{i}]", flaw[1])
        if copy.table in instance.table_index and copy.region in instance.region_index:
            copies.setdefault(copy.table, set()).add(copy.region)
            if copy.reason == "hot":
                hot += instance.tables[instance.table_index[copy.table]].size
    for region, room in _free(instance, copies).items():
        if room < 0:
            yield Violation("storage_exceeded", region, f"{float(-room):g} bytes too many", -room)
    if hot > hot_quota:
        sizes = f"{float(hot):g} bytes, the quota is {float(hot_quota):g}"
        message = f"copies of hot tables have {sizes}"
        yield Violation("hot_quota_exceeded", "replicas", message, hot - hot_quota)
    if disaster:
        yield from _unprotected(instance, copies)


def _flaw(
    instance: Instance, copies: Mapping[str, set[str]], copy: Replica
) -> tuple[str, str] | None:
    """Return what is wrong with a copy beside those before it: the violation, and in words."""
    if copy.table not in instance.table_index:
        return "unknown_table", f'there is no table "{copy.table}"'
    if copy.region not in instance.region_index:
        return "unknown_region", f'there is no region "{copy.region}"'
    if copy.region in copies.get(copy.table, ()):
        return "duplicate_copy", f'"{copy.table}" is in "{copy.region}" already'
    return None


def _unprotected(instance: Instance, copies: Mapping[str, set[str]]) -> Iterator[Violation]:
    """Yield the tables in one region only, where another one has room."""
    free = _free(instance, copies)
    for table in instance.tables:
        here = copies.get(table.id, set())
        fits = [r for r, room in free.items() if r not in here and room >= table.size]
        if len(here) < 2 and fits:
            message = f'"{table.id}" has no second copy, and "{fits[0]}" can store one'
            yield Violation("unprotected", table.id, message)


def _copies(solution: Solution, replicas: Iterable[Replica]) -> dict[str, set[str]]:
    """Return the regions of each table."""
    copies = {name: {region} for name, region in solution.home.items()}
    for copy in replicas:
        copies.setdefault(copy.table, set()).add(copy.region)
    return copies


def _free(instance: Instance, copies: Mapping[str, set[str]]) -> dict[str, Fraction]:
    """Return each region's remaining storage in bytes."""
    free = {region.id: Fraction(region.storage_capacity) for region in instance.regions}
    for table in instance.tables:
        for region in copies.get(table.id, ()):
            free[region] -= table.size
    return free


def _types(job: Job) -> list[str]:
    """Return the GPU types that a job needs, the one with most hours first."""
    return sorted(
        (k for k, hours in job.gpu_hours.items() if hours), key=lambda k: -job.gpu_hours[k]
    )


def _hours(job: Job) -> Fraction:
    return Fraction(sum(job.gpu_hours.values()))


def _able(instance: Instance, job: Job) -> list[Region]:
    """Return the regions that have all GPU types of a job."""
    return [r for r in instance.regions if all(r.gpu_supply.get(kind) for kind in _types(job))]


def _hosts(instance: Instance, copies: Mapping[str, set[str]], job: Job) -> bool:
    """Whether some region has all tables and all GPU types of a job."""
    shared = set.intersection(*(copies.get(name, set()) for name in job.tables))
    return any(region.id in shared for region in _able(instance, job))


class _Storage:
    """The regions of each table's copies, and the remaining storage."""

    def __init__(self, instance: Instance, solution: Solution) -> None:
        self.instance = instance
        self.at = _copies(solution, ())
        self.free = _free(instance, self.at)
        self.size = {table.id: Fraction(table.size) for table in instance.tables}

    def put(self, table: str, region: str, reason: Reason) -> Replica:
        self.at[table].add(region)
        self.free[region] -= self.size[table]
        return Replica(table, region, reason)

    def disaster(self) -> Iterator[Replica]:
        """Yield a second copy of each table, the largest first, where most storage is free."""
        for table in sorted(self.instance.tables, key=lambda t: -t.size):
            others = [r for r in self.free if r not in self.at[table.id]]
            roomiest = max(others, key=self.free.__getitem__, default=None)
            if roomiest is not None and self.free[roomiest] >= table.size:
                yield self.put(table.id, roomiest, "disaster")

    def missing(self, job: Job, region: Region) -> Fraction:
        """Return the bytes of a job's tables that a region does not have."""
        return sum(
            (self.size[name] for name in job.tables if region.id not in self.at[name]), Fraction(0)
        )

    def fitting(self, job: Job) -> list[Region]:
        """Return the regions with a job's GPU types that can store all tables it misses there."""
        regions = _able(self.instance, job)
        return [region for region in regions if self.missing(job, region) <= self.free[region.id]]

    def complete(self, job: Job, region: Region) -> Iterator[Replica]:
        """Yield copies of all tables that a job misses in a region."""
        for name in job.tables:
            if region.id not in self.at[name]:
                yield self.put(name, region.id, "job")

    def for_jobs(self) -> Iterator[Replica]:
        """Yield copies for training jobs that no region can run.

        Of the regions where the copies fit **(D)**, the one with the highest supply of the GPU type
        of which the job needs most **(D)**; for a job without GPUs the one where it misses fewest
        bytes **(D)**. Jobs of equal priority in the order of the file **(D)**.
        """
        for job in sorted(self.instance.jobs, key=lambda j: j.priority):
            if job.kind == "ml" and not _hosts(self.instance, self.at, job):
                fits = self.fitting(job)
                types = _types(job)
                if fits and types:
                    yield from self.complete(job, max(fits, key=lambda r: r.gpu_supply[types[0]]))
                elif fits:
                    yield from self.complete(job, min(fits, key=lambda r: self.missing(job, r)))

    def hot(self, quota: Fraction) -> Iterator[Replica]:
        """Yield copies of hot tables.

        A table that is in the region already uses no quota, and one that does not fit is skipped
        **(D)**; ties in the order of the file **(D)**.
        """
        readers: dict[str, Counter[str]] = defaultdict(Counter)
        for job in self.instance.jobs:
            for kind in _types(job):
                readers[kind].update(job.tables)
        ranked = {kind: sorted(self.size, key=lambda n: -c[n]) for kind, c in readers.items()}
        supply = sum(s for r in self.instance.regions for s in r.gpu_supply.values())
        for region in self.instance.regions:
            for kind, have in region.gpu_supply.items():
                budget = quota * have / supply if have else Fraction(0)
                for name in ranked.get(kind, ()) if budget else ():
                    if not readers[kind][name]:
                        break
                    size = self.size[name]
                    if region.id not in self.at[name] and size <= min(budget, self.free[region.id]):
                        budget -= size
                        yield self.put(name, region.id, "hot")

"""Extra replicas after the homes are chosen (MAST, section 3.5), and the checker for them.

Each table gets a copy elsewhere against disasters; jobs without a region get copies of what they
miss in one region that has their GPU types; what storage is left goes to tables that are hot for a
GPU type, up to a quota. The paper gives the three kinds and no numbers; orders and ties are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dlsched.errors import OptionError
from dlsched.problems.placement.schema import Instance, Job, Solution
from dlsched.result import Violation
from dlsched.schema import Number

Reason = Literal["disaster", "job", "hot"]


@dataclass(frozen=True)
class Replica:
    """A copy of a table in a region other than its home, and what it is for."""

    table: str
    region: str
    reason: Reason


def replicate(
    instance: Instance, solution: Solution, *, disaster: bool = True, hot_quota: Number = 0
) -> tuple[Replica, ...]:
    """Choose the extra replicas of a placement.

    Parameters
    ----------
    instance, solution
        A feasible placement.
    disaster
        Whether every table gets a copy elsewhere, the largest first, where most storage is free.
    hot_quota
        Bytes that copies of hot tables may take in all regions together.

    Returns
    -------
    tuple of Replica
        In the order in which they were chosen: first against disasters, then for jobs, then hot.

    Raises
    ------
    OptionError
        If the quota is negative.
    """
    if hot_quota < 0:
        raise OptionError(f"hot_quota={hot_quota} must be from 0")
    shelf = _Shelf(instance, solution)
    chosen: list[Replica] = []
    if disaster:
        chosen += shelf.disaster()
    chosen += shelf.stranded()
    chosen += shelf.hot(Fraction(hot_quota))
    return tuple(chosen)


def co_location(
    instance: Instance, solution: Solution, replicas: Iterable[Replica] = ()
) -> Fraction:
    """Return the share of GPU hours whose job finds one region with all its tables and its type.

    1 if there is no demand.
    """
    at = _copies(solution, replicas)
    total = found = Fraction(0)
    for job in instance.jobs:
        shared = set.intersection(*(at.get(name, set()) for name in job.tables))
        for kind, hours in job.gpu_hours.items():
            total += hours
            if any(r.id in shared and r.gpu_supply.get(kind) for r in instance.regions):
                found += hours
    return found / total if total else Fraction(1)


def check_replicas(
    instance: Instance,
    solution: Solution,
    replicas: Iterable[Replica],
    *,
    disaster: bool = True,
    hot_quota: Number = 0,
) -> tuple[Violation, ...]:
    """Judge extra replicas.

    Violations: ``unknown_table``, ``unknown_region``, ``duplicate_copy`` (the table is there
    already), ``storage_exceeded``, ``hot_quota_exceeded``, and with `disaster` ``unprotected`` (a
    table has no second copy although some region has room for one).
    """
    return tuple(_violations(instance, solution, tuple(replicas), disaster, Fraction(hot_quota)))


def _violations(
    instance: Instance,
    solution: Solution,
    replicas: tuple[Replica, ...],
    disaster: bool,
    hot_quota: Fraction,
) -> Iterator[Violation]:
    at = _copies(solution, ())
    hot = Fraction(0)
    for i, copy in enumerate(replicas):
        where = f"replicas[{i}]"
        if copy.table not in instance.table_index:
            yield Violation("unknown_table", where, f'there is no table "{copy.table}"')
            continue
        if copy.region not in instance.region_index:
            yield Violation("unknown_region", where, f'there is no region "{copy.region}"')
            continue
        regions = at.setdefault(copy.table, set())
        if copy.region in regions:
            message = f'"{copy.table}" is in "{copy.region}" already'
            yield Violation("duplicate_copy", where, message)
        regions.add(copy.region)
        if copy.reason == "hot":
            hot += instance.tables[instance.table_index[copy.table]].size
    free = _free(instance, at)
    for region in instance.regions:
        if free[region.id] < 0:
            message = f"{float(-free[region.id]):g} bytes too many"
            yield Violation("storage_exceeded", region.id, message, -free[region.id])
    if hot > hot_quota:
        message = (
            f"copies of hot tables have {float(hot):g} bytes, the quota is {float(hot_quota):g}"
        )
        yield Violation("hot_quota_exceeded", "replicas", message, hot - hot_quota)
    if disaster:
        for table in instance.tables:
            here = at.get(table.id, set())
            room = [r for r, have in free.items() if r not in here and have >= table.size]
            if len(here) < 2 and room:
                message = f'"{table.id}" has no second copy, and "{room[0]}" has room for one'
                yield Violation("unprotected", table.id, message)


def _copies(solution: Solution, replicas: Iterable[Replica]) -> dict[str, set[str]]:
    """Return the regions of each table."""
    at = {name: {region} for name, region in solution.home.items()}
    for copy in replicas:
        at.setdefault(copy.table, set()).add(copy.region)
    return at


def _free(instance: Instance, at: Mapping[str, set[str]]) -> dict[str, Fraction]:
    """Return the bytes that each region has left."""
    free = {region.id: Fraction(region.storage_capacity) for region in instance.regions}
    for table in instance.tables:
        for region in at.get(table.id, ()):
            free[region] -= table.size
    return free


class _Shelf:
    """Where copies are, and what is free."""

    def __init__(self, instance: Instance, solution: Solution) -> None:
        self.instance = instance
        self.at = _copies(solution, ())
        self.free = _free(instance, self.at)
        self.size = {table.id: table.size for table in instance.tables}

    def put(self, table: str, region: str, reason: Reason) -> Replica:
        self.at[table].add(region)
        self.free[region] -= self.size[table]
        return Replica(table, region, reason)

    def disaster(self) -> Iterator[Replica]:
        """Yield a second copy of each table, the largest first, where most is free."""
        for table in sorted(self.instance.tables, key=lambda t: -t.size):
            room = [r for r in self.free if r not in self.at[table.id]]
            best = max(room, key=lambda r: self.free[r], default=None)
            if best is not None and self.free[best] >= table.size:
                yield self.put(table.id, best, "disaster")

    def stranded(self) -> Iterator[Replica]:
        """Yield what jobs miss that find no region, those with most GPU hours a missing byte first.

        A job goes where its GPU types are and it misses fewest bytes, if they fit.
        """
        waiting = [(job, self.nearest(job)) for job in self.instance.jobs if self.hours(job)]
        waiting = [(job, found) for job, found in waiting if found and found[0]]
        waiting.sort(key=lambda row: -self.hours(row[0]) / row[1][0] if row[1] else 0)
        for job, _ in waiting:
            found = self.nearest(job)  # earlier copies may serve it too
            if found is None:
                continue
            _, region = found
            for name in job.tables:
                if region not in self.at[name]:
                    yield self.put(name, region, "job")

    def hot(self, quota: Fraction) -> Iterator[Replica]:
        """Yield copies of tables that are hot for a GPU type, in regions that have it.

        A pair of table and type is hotter the more GPU hours of that type read it per byte; its
        copy goes where most GPUs of the type are.
        """
        heat: dict[tuple[str, str], Fraction] = {}
        for job in self.instance.jobs:
            for kind, hours in job.gpu_hours.items():
                for name in job.tables:
                    heat[name, kind] = heat.get((name, kind), Fraction(0)) + Fraction(hours)
        for name, kind in sorted(heat, key=lambda key: -heat[key] / self.size[key[0]]):
            size = self.size[name]
            if size > quota:
                continue
            rooms = [
                region for region in self.instance.regions
                if region.gpu_supply.get(kind) and region.id not in self.at[name]
                and self.free[region.id] >= size
            ]  # fmt: skip
            if rooms and heat[name, kind]:
                best = max(rooms, key=lambda region: Fraction(region.gpu_supply[kind]))
                quota -= Fraction(size)
                yield self.put(name, best.id, "hot")

    def hours(self, job: Job) -> Fraction:
        return sum((Fraction(h) for h in job.gpu_hours.values()), Fraction(0))

    def nearest(self, job: Job) -> tuple[Fraction, str] | None:
        """Return the fewest bytes that a job misses where its types are and they fit, and where.

        ``None`` if there is no such region.
        """
        best: tuple[Fraction, str] | None = None
        for region in self.instance.regions:
            if all(region.gpu_supply.get(k) for k, hours in job.gpu_hours.items() if hours):
                missing = sum(
                    (Fraction(self.size[n]) for n in job.tables if region.id not in self.at[n]),
                    Fraction(0),
                )
                if missing <= self.free[region.id] and (best is None or missing < best[0]):
                    best = (missing, region.id)
        return best

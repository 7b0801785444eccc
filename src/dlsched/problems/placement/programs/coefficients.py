"""Exact coefficients of the model's rows, each rounded outward once where it enters a row.

With shares, the rows suit a solver's tolerances in any units of the instance.
"""

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from dlsched.problems.placement.definition.schema import Instance
from dlsched.problems.placement.programs.rounding import above, below
from dlsched.problems.placement.programs.tunables import PRECISION
from dlsched.schema import Number, granularity


class Group(NamedTuple):
    """Jobs of equal kind and tables, which always run in the same region."""

    together: bool
    """Whether they run only where all their tables are."""
    tables: list[int]
    jobs: list[int]

    @property
    def must_run(self) -> bool:
        """Whether they have a region in every placement."""
        return not self.together or len(self.tables) == 1


class Shares:
    """The shares of groups of jobs, tables and regions in the totals."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.regions = [region.id for region in instance.regions]
        self.tables = [table.id for table in instance.tables]
        self.groups = groups_of(instance)

    @cached_property
    def read(self) -> list[dict[int, Fraction]]:
        """By group and table: the share in all bytes read."""
        size = [Fraction(table.size) for table in self.instance.tables]
        total = sum(size[t] * len(group.jobs) for group in self.groups for t in group.tables)
        return [
            {t: size[t] * len(group.jobs) / total for t in group.tables} for group in self.groups
        ]

    def reads_beyond(self, part: Fraction) -> list[tuple[int, int]]:
        """Return groups that may run without all their tables, and each table that one reads.

        The lightest reads, a part of all bytes together at most, are left out.
        """
        voting = [(g, t) for g, row in enumerate(self.read) for t in row]
        voting = [(g, t) for g, t in voting if not self.groups[g].together]
        order = sorted(voting, key=lambda read: self.read[read[0]][read[1]]) if part else []
        light: set[tuple[int, int]] = set()
        for g, t in order:
            part -= self.read[g][t]
            if part < 0:
                break
            light.add((g, t))
        return [read for read in voting if read not in light]

    @cached_property
    def demand(self) -> dict[tuple[int, int], dict[int, Fraction]]:
        """By type and priority, and group: the share in their GPU hours."""
        return {key: _parts(row) for key, row in self._hours.items()}

    @cached_property
    def load(self) -> dict[int, dict[int, Fraction]]:
        """By type and group: the share in the type's GPU hours."""
        rows: dict[int, dict[int, Fraction]] = {}
        for (k, _), row in self._hours.items():
            for g, hours in row.items():
                rows.setdefault(k, defaultdict(Fraction))[g] += hours
        return {k: _parts(row) for k, row in rows.items()}

    @cached_property
    def part(self) -> dict[tuple[int, int], Fraction]:
        """By type and priority: the share in the type's GPU hours."""
        total: dict[int, Fraction] = defaultdict(Fraction)
        hours = {key: sum(row.values(), Fraction(0)) for key, row in self._hours.items()}
        for (k, _), amount in hours.items():
            total[k] += amount
        return {(k, p): amount / total[k] for (k, p), amount in hours.items()}

    @cached_property
    def _hours(self) -> dict[tuple[int, int], dict[int, Fraction]]:
        kinds = {kind: k for k, kind in enumerate(self.instance.kinds)}
        ranks = {p: i for i, p in enumerate(self.instance.priorities)}
        total: dict[tuple[int, int], dict[int, Fraction]] = {}
        for g, group in enumerate(self.groups):
            for job in [self.instance.jobs[j] for j in group.jobs]:
                for kind, hours in job.gpu_hours.items():
                    if kind in kinds and hours:
                        key = (kinds[kind], ranks[job.priority])
                        total.setdefault(key, defaultdict(Fraction))[g] += hours
        return total

    def cpu_hours(self, app: str) -> list[Number]:
        """Return by group the CPU hours of its jobs of an application."""
        jobs = self.instance.jobs
        return [
            sum(jobs[j].cpu_hours for j in group.jobs if jobs[j].app == app)
            for group in self.groups
        ]

    def hours_at_home(self, g: int, r: int) -> Number:
        """Return a group's GPU hours that count for (6) if it runs in a region."""
        supply = self.instance.regions[r].gpu_supply
        jobs = [self.instance.jobs[j] for j in self.groups[g].jobs]
        wanted = [job.gpu_hours.items() for job in jobs if job.time_sensitive]
        return sum(hours for of_job in wanted for kind, hours in of_job if supply.get(kind))

    @cached_property
    def supply(self) -> list[list[Fraction]]:
        """By region and type: the share in the type's supply."""
        columns = [_parts(self._supply(kind)) for kind in self.instance.kinds]
        return [[column[r] for column in columns] for r in range(len(self.regions))]

    def _supply(self, kind: str) -> dict[int, Fraction]:
        """Return the supply of a type by region."""
        regions = enumerate(self.instance.regions)
        return {r: Fraction(region.gpu_supply.get(kind, 0)) for r, region in regions}

    @cached_property
    def granularity(self) -> dict[int, Fraction]:
        """By type: the largest share of its GPU hours of which every job's are a multiple."""
        parts = {}
        for k, kind in enumerate(self.instance.kinds):
            hours = [job.gpu_hours.get(kind, 0) for job in self.instance.jobs]
            parts[k] = granularity(hours) / sum(hours)
        return parts

    def overload(self, r: int, k: int, load: Fraction) -> Fraction:
        """Return the sigmoid's argument at a load of a region, a share of the type's GPU hours."""
        kind = self.instance.kinds[k]
        demanded = sum(job.gpu_hours.get(kind, 0) for job in self.instance.jobs)
        supply = self._supply(kind)
        offered = [hours for hours in supply.values() if hours]
        mean = sum(offered, Fraction(0)) / len(offered)
        over = max(Fraction(0), load * demanded - supply[r])
        return self.instance.overload_slope * over / mean

    @cached_property
    def bytes(self) -> list[Fraction]:
        """By table: the share in all bytes."""
        total = self.instance.total_size
        return [table.size / total for table in self.instance.tables]

    @cached_property
    def capacity(self) -> list[Fraction]:
        """By region: the share in all storage capacity."""
        total = self.instance.total_capacity or Fraction(1)
        return [region.storage_capacity / total for region in self.instance.regions]

    @cached_property
    def priority_weight(self) -> tuple[Fraction, list[Fraction]]:
        """The largest weight of a priority, and each priority's weight divided by it."""
        weights = [Fraction(self.instance.priority_weight(p)) for p in self.instance.priorities]
        largest = max(weights, default=Fraction(0)) or Fraction(1)
        return largest, [weight / largest for weight in weights]


def groups_of(instance: Instance) -> list[Group]:
    """Return the groups of jobs; a job with one table runs in its home, whatever the kind."""
    groups: dict[tuple[bool, tuple[int, ...]], list[int]] = {}
    for j, job in enumerate(instance.jobs):
        tables = tuple(sorted(instance.table_index[name] for name in job.tables))
        together = job.kind == "ml" or len(tables) == 1
        groups.setdefault((together, tables), []).append(j)
    return [Group(ml, list(tables), jobs) for (ml, tables), jobs in groups.items()]


def at_most(values: Iterable[Number], limit: Number) -> tuple[list[float], float]:
    """Return coefficients and limit of a row of binaries, sum of values <= limit, scaled.

    A value far above the limit is replaced by a smaller one that also exceeds it. Values are
    rounded down and the limit up.
    """
    numbers = [Fraction(v) for v in values]
    limit = Fraction(limit)
    total = sum(numbers, Fraction(0))
    if _is_small(numbers, limit):
        return [float(n) for n in numbers], float(limit)
    if not limit:
        return [float(n > 0) for n in numbers], 0.0
    unit = (min(limit, total) or Fraction(1)) / PRECISION.scale
    row = [below(min(n / unit, Fraction(PRECISION.largest_entry))) for n in numbers]
    return row, above(min(limit / unit, Fraction(PRECISION.scale + 1)))


def at_least(values: Iterable[Number], limit: Number) -> tuple[list[float], float]:
    """Return coefficients and limit of a row of binaries, sum of values >= limit above 0, scaled.

    A value above the limit is replaced by the limit. Values are rounded up.
    """
    numbers = [Fraction(v) for v in values]
    limit = Fraction(limit)
    if _is_small(numbers, limit):
        return [float(n) for n in numbers], float(limit)
    unit = limit / PRECISION.scale
    return [above(min(n / unit, Fraction(PRECISION.scale))) for n in numbers], float(
        PRECISION.scale
    )


def _is_small(numbers: Iterable[Fraction], limit: Fraction) -> bool:
    """Whether a row's numbers are whole and their sum is small."""
    every = [*numbers, limit]
    return sum(every) <= PRECISION.largest_sum and all(n.denominator == 1 for n in every)


def _parts(row: dict[int, Fraction]) -> dict[int, Fraction]:
    total = sum(row.values(), Fraction(0))
    return {key: value / total if total else Fraction(0) for key, value in row.items()}

"""Exact coefficients of the model's rows, each rounded outward once where it enters a row.

With shares, the rows suit a solver's tolerances in any units of the instance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.placement.definition.schema import Instance
from dlsched.problems.placement.programs.rounding import above, below
from dlsched.schema import Number, granularity

Group = tuple[bool, list[int], NDArray[np.int64]]
"""Whether all tables must share the region, tables, jobs."""

_LARGEST_SUM = 10**6
"""A row of whole numbers with at most this sum is not scaled."""
_SCALE, _LARGEST = 1000, 10**6
"""Of any other row: its limit, and its largest coefficient."""


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
        rows = [{t: size[t] * len(jobs) for t in at} for _, at, jobs in self.groups]
        total = sum((sum(row.values(), Fraction(0)) for row in rows), Fraction(0))
        return [{t: part / total for t, part in row.items()} for row in rows]

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
        own = {key: sum(row.values(), Fraction(0)) for key, row in self._hours.items()}
        for (k, _), hours in own.items():
            total[k] += hours
        return {(k, p): hours / total[k] for (k, p), hours in own.items()}

    @cached_property
    def _hours(self) -> dict[tuple[int, int], dict[int, Fraction]]:
        kinds = {kind: k for k, kind in enumerate(self.instance.kinds)}
        ranks = {p: i for i, p in enumerate(self.instance.priorities)}
        total: dict[tuple[int, int], dict[int, Fraction]] = {}
        for g, (_, _, jobs) in enumerate(self.groups):
            for j in jobs:
                job = self.instance.jobs[j]
                for kind, hours in job.gpu_hours.items():
                    if kind in kinds and hours:
                        row = total.setdefault(
                            (kinds[kind], ranks[job.priority]), defaultdict(Fraction)
                        )
                        row[g] += hours
        return total

    @cached_property
    def supply(self) -> list[list[Fraction]]:
        """By region and type: the share in the type's supply."""
        regions, kinds = self.instance.regions, self.instance.kinds
        rows = [[Fraction(r.gpu_supply.get(kind, 0)) for kind in kinds] for r in regions]
        total = [sum(column, Fraction(0)) for column in zip(*rows, strict=True)]
        return [[s / total[k] for k, s in enumerate(row)] for row in rows]

    @cached_property
    def granularity(self) -> dict[int, Fraction]:
        """By type: the largest share of its GPU hours of which every job's are a multiple."""
        kinds = {kind: k for k, kind in enumerate(self.instance.kinds)}
        hours: dict[int, list[Number]] = {k: [] for k in kinds.values()}
        for job in self.instance.jobs:
            for kind, amount in job.gpu_hours.items():
                if kind in kinds:
                    hours[kinds[kind]].append(amount)
        return {k: granularity(amounts) / sum(amounts) for k, amounts in hours.items()}

    def overload(self, r: int, k: int, load: Fraction) -> Fraction:
        """Return the sigmoid's argument at a load of a region, a share of the type's GPU hours."""
        kind = self.instance.kinds[k]
        demanded = sum(Fraction(job.gpu_hours.get(kind, 0)) for job in self.instance.jobs)
        supply = [Fraction(region.gpu_supply.get(kind, 0)) for region in self.instance.regions]
        mean = sum(supply, Fraction(0)) / sum(1 for hours in supply if hours)
        over = max(Fraction(0), load * demanded - supply[r])
        return Fraction(self.instance.overload_slope) * over / mean

    @cached_property
    def bytes(self) -> list[Fraction]:
        """By table: the share in all bytes."""
        sizes = {t: Fraction(table.size) for t, table in enumerate(self.instance.tables)}
        return list(_parts(sizes).values())

    @cached_property
    def capacity(self) -> list[Fraction]:
        """By region: the share in all storage capacity."""
        regions = enumerate(self.instance.regions)
        return list(_parts({r: Fraction(x.storage_capacity) for r, x in regions}).values())

    @cached_property
    def priority_weight(self) -> tuple[Fraction, list[Fraction]]:
        """The largest weight of a priority, and each priority's weight divided by it."""
        weights = [Fraction(self.instance.priority_weight(p)) for p in self.instance.priorities]
        largest = max(weights, default=Fraction(0)) or Fraction(1)
        return largest, [weight / largest for weight in weights]


def groups_of(instance: Instance) -> list[Group]:
    """Return groups of jobs that always run in the same region: of equal kind and tables.

    Each group is (whether all tables must share the region, tables, jobs). A job with one table
    runs in its home, whatever the kind.
    """
    found: dict[tuple[bool, tuple[int, ...]], list[int]] = {}
    for j, job in enumerate(instance.jobs):
        at = tuple(sorted(instance.table_index[name] for name in job.tables))
        found.setdefault((job.kind == "ml" or len(at) == 1, at), []).append(j)
    return [(ml, list(at), np.array(jobs)) for (ml, at), jobs in found.items()]


def at_most(values: Iterable[Number], limit: Number) -> tuple[list[float], float]:
    """Return coefficients and limit of a row of binaries, sum of values <= limit, scaled.

    A value far above the limit is replaced by a smaller one that also exceeds it. Values are
    rounded down and the limit up.
    """
    numbers, limit = [Fraction(v) for v in values], Fraction(limit)
    total = sum(numbers, Fraction(0))
    if _is_small(numbers, limit):
        return [float(n) for n in numbers], float(limit)
    if not limit:
        return [float(n > 0) for n in numbers], 0.0
    unit = (min(limit, total) or Fraction(1)) / _SCALE
    row = [below(min(n / unit, Fraction(_LARGEST))) for n in numbers]
    return row, above(min(limit / unit, Fraction(_SCALE + 1)))


def at_least(values: Iterable[Number], limit: Number) -> tuple[list[float], float]:
    """Return coefficients and limit of a row of binaries, sum of values >= limit above 0, scaled.

    A value above the limit is replaced by the limit. Values are rounded up.
    """
    numbers, limit = [Fraction(v) for v in values], Fraction(limit)
    if _is_small(numbers, limit):
        return [float(n) for n in numbers], float(limit)
    unit = limit / _SCALE
    return [above(min(n / unit, Fraction(_SCALE))) for n in numbers], float(_SCALE)


def _is_small(numbers: Iterable[Fraction], limit: Fraction) -> bool:
    """Whether a row's numbers are whole and their sum is small."""
    every = [*numbers, limit]
    return sum(every) <= _LARGEST_SUM and all(n.denominator == 1 for n in every)


def _parts(row: dict[int, Fraction]) -> dict[int, Fraction]:
    total = sum(row.values(), Fraction(0))
    return {key: value / total if total else Fraction(0) for key, value in row.items()}

"""An instance as arrays, for the searches and the estimate."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.placement.definition.schema import Instance, Solution
from dlsched.schema import Number, granularity
from dlsched.solvers.arrays import FloatRows, Floats, Ints

_MOST = 2**50
"""Units in a total: sums of integers below this are exact in doubles."""
_LARGEST_STORAGE = Fraction(10) ** 300
"""Cap on a capacity in units of bytes, which a double must hold."""
_LARGEST_LOAD = 1e270
"""Cap on the mean supplies that one unit of demand is; the sigmoid is 1 far below it."""


Flags = NDArray[np.bool_]


class Data(NamedTuple):
    """An instance's data: T tables, J jobs, R regions, K GPU types, P priorities, A applications.

    Lists of lists are flat, with the start of each: the tables of job ``j`` are
    ``job_tables[job_start[j]:job_start[j + 1]]``. Bytes, CPU hours, the GPU hours of
    time-sensitive jobs, and those of each type and priority are whole multiples of a unit of their
    own. A limit that is at least the sum of what it limits is infinite, so that a capacity of 1e15
    for "no limit" does not make the unit coarse. Where no unit divides all numbers, demands of
    bytes and CPU are rounded up and limits down (for (6) the opposite), so that a placement within
    these limits is within the instance's; then ``exact`` is false. No bound depends on it.
    """

    exact: bool
    size: Floats
    home: Ints
    """The region of each table today, -1 for none."""
    capacity: Floats
    storage: Floats
    """Capacities that are neither rounded nor infinite."""
    capacity_share: Floats
    bytes_total: float
    bytes_read: float
    quota: float
    job_start: Ints
    job_tables: Ints
    table_start: Ints
    table_jobs: Ints
    ml: Flags
    job_bytes: Floats
    hours_start: Ints
    hours_kind: Ints
    hours: Floats
    """GPU hours, in units of their type and the job's priority."""
    urgent: Floats
    """The same hours in the units of the threshold (6); 0 for a job that (6) does not count."""
    priority: Ints
    load_unit: FloatRows
    """K x P: mean supplies of the type in one unit of demand."""
    supply_load: FloatRows
    """R x K: supply in mean supplies of the type."""
    supply_share: FloatRows
    wanted: FloatRows
    """K x P: GPU hours of all jobs in units, those without a region included."""
    priority_weight: Floats
    app: Ints
    cpu_hours: Floats
    cpu_total: float
    cpu_quota: FloatRows
    """R x A; infinite where there is none."""
    threshold: float
    slope: float
    """Of the sigmoid; 0 in v1, where the factor is always 1/2."""
    traffic_weight: float
    gpu_weight: float
    storage_weight: float


class _Unit(NamedTuple):
    """The unit of which amounts are whole multiples."""

    size: Fraction
    exact: bool
    """Whether all amounts are whole multiples of it."""

    def up(self, value: Number) -> float:
        return float(math.ceil(Fraction(value) / self.size))

    def down(self, value: Number | None) -> float:
        """Return a limit in units; infinite if there is none."""
        return math.inf if value is None else float(math.floor(Fraction(value) / self.size))

    def near(self, value: Number) -> float:
        return float(round(Fraction(value) / self.size))

    def all_up(self, values: Sequence[Number]) -> Any:
        if self.size == 1:
            return np.array([float(v) for v in values])
        return np.array([self.up(v) for v in values], dtype=float)


def arrays(instance: Instance) -> Data:
    """Return an instance as arrays."""
    weights = instance.weights
    second = instance.version == "v2"
    stores = second and instance.total_capacity and instance.tables
    byte, stored = _bytes(instance)
    cpu, used = _cpu(instance)
    hour, threshold = _hours_at_home(instance)
    return Data(
        exact=byte.exact and cpu.exact and hour.exact,
        threshold=threshold,
        priority_weight=np.array(
            [float(instance.priority_weight(p)) for p in instance.priorities], dtype=float
        ),
        slope=float(instance.overload_slope) if second else 0.0,
        traffic_weight=float(weights.traffic),
        gpu_weight=float(weights.gpu),
        storage_weight=float(weights.storage) if stores else 0.0,
        **stored,
        **_reads(instance, stored["size"]),
        **used,
        **_gpus(instance, hour),
    )


def _bytes(instance: Instance) -> tuple[_Unit, dict[str, Any]]:
    """Return the unit of bytes, and the fields of `Data` that hold tables and capacities."""
    total = instance.total_size
    sizes = [table.size for table in instance.tables]
    capacities = [region.storage_capacity for region in instance.regions]
    limits = [_binding(capacity, total) for capacity in capacities]
    quota = _binding(instance.move_quota, total)
    unit = _unit(sizes, limits, [quota])
    size = unit.all_up(sizes)
    all_capacity = instance.total_capacity or Fraction(1)
    homes = [instance.region_index.get(table.home or "", -1) for table in instance.tables]
    storage = [float(min(capacity / unit.size, _LARGEST_STORAGE)) for capacity in capacities]
    return unit, {
        "size": size,
        "home": np.array(homes, dtype=np.int64),
        "capacity": np.array([unit.down(limit) for limit in limits], dtype=float),
        "storage": np.array(storage),
        "capacity_share": np.array([float(capacity / all_capacity) for capacity in capacities]),
        "bytes_total": float(size.sum()),
        "quota": unit.down(quota),
    }


def _reads(instance: Instance, size: Floats) -> dict[str, Any]:
    """Return the fields of `Data` that say which jobs read which tables."""
    jobs = instance.jobs
    index = instance.table_index
    tables = np.array([index[name] for job in jobs for name in job.tables], dtype=np.int64)
    starts = _starts([len(job.tables) for job in jobs])
    readers = np.repeat(np.arange(len(jobs)), np.diff(starts))
    read = np.bincount(readers, size[tables], len(jobs)).astype(float)
    return {
        "ml": np.array([job.kind == "ml" for job in jobs], dtype=np.bool_),
        "job_start": starts,
        "job_tables": tables,
        "job_bytes": read,
        "bytes_read": float(read.sum()),
        "table_start": _starts(np.bincount(tables, minlength=len(size))),
        "table_jobs": readers[np.argsort(tables, kind="stable")],
    }


def _cpu(instance: Instance) -> tuple[_Unit, dict[str, Any]]:
    """Return the unit of CPU hours, and the fields of `Data` that hold them."""
    hours = [job.cpu_hours for job in instance.jobs]
    total = sum(hours)
    apps = {app for region in instance.regions for app in region.cpu_quota}
    position = {app: a for a, app in enumerate(sorted(apps))}
    limits = [
        (r, position[app], _binding(quota, total))
        for r, region in enumerate(instance.regions)
        for app, quota in region.cpu_quota.items()
    ]
    unit = _unit(hours, [limit for _, _, limit in limits])
    quotas = np.full((len(instance.regions), len(apps)), np.inf)
    for r, a, limit in limits:
        quotas[r, a] = unit.down(limit)
    cpu_hours = unit.all_up(hours)
    app_of_job = [position.get(job.app or "", -1) for job in instance.jobs]
    return unit, {
        "app": np.array(app_of_job, dtype=np.int64),
        "cpu_hours": cpu_hours,
        "cpu_total": float(cpu_hours.sum()),
        "cpu_quota": quotas,
    }


def _hours_at_home(instance: Instance) -> tuple[_Unit, float]:
    """Return the unit of the GPU hours that (6) counts, and its threshold in it."""
    urgent = [h for job in instance.jobs if job.time_sensitive for h in job.gpu_hours.values()]
    threshold = instance.at_home_threshold
    if threshold > 2 * sum(urgent) > 0:  # more than the sum cannot be attained
        threshold = 2 * sum(urgent)
    unit = _unit(urgent, [threshold])
    return unit, unit.up(threshold)


def homes_of(instance: Instance, solution: Solution) -> list[int]:
    """Return the position of each table's region."""
    return [instance.region_index[solution.home[table.id]] for table in instance.tables]


def _gpus(instance: Instance, hour: _Unit) -> dict[str, Any]:
    """Return the fields of `Data` that hold GPU hours."""
    regions = instance.regions
    jobs = instance.jobs
    kinds = {kind: k for k, kind in enumerate(instance.kinds)}
    ranks = {p: i for i, p in enumerate(instance.priorities)}
    rank = [ranks[job.priority] for job in jobs]
    rows = [
        (j, kinds[kind], h)
        for j, job in enumerate(jobs)
        for kind, h in job.gpu_hours.items()
        if kind in kinds and h
    ]
    demands: dict[tuple[int, int], list[Number]] = {}
    for j, k, h in rows:
        demands.setdefault((k, rank[j]), []).append(h)
    units = {key: _unit(hours) for key, hours in demands.items()}
    supply = [[Fraction(r.gpu_supply.get(kind, 0)) for kind in kinds] for r in regions]
    supplied = [sum(column, Fraction(0)) for column in zip(*supply, strict=True)]
    mean = [total / sum(1 for row in supply if row[k]) for k, total in enumerate(supplied)]
    wanted, load_unit = np.zeros((2, len(kinds), len(ranks)))
    for (k, p), hours in demands.items():
        unit = units[k, p]
        wanted[k, p] = sum(unit.near(h) for h in hours)
        load_unit[k, p] = float(min(unit.size / mean[k], Fraction(_LARGEST_LOAD)))
    job_of_row = np.array([j for j, _, _ in rows], dtype=np.int64)
    return {
        "hours_start": _starts(np.bincount(job_of_row, minlength=len(jobs))),
        "hours_kind": np.array([k for _, k, _ in rows], dtype=np.int64),
        "hours": np.array([units[k, rank[j]].near(h) for j, k, h in rows], dtype=float),
        "urgent": np.array(
            [hour.down(h) if jobs[j].time_sensitive else 0.0 for j, _, h in rows], dtype=float
        ),
        "priority": np.array(rank, dtype=np.int64),
        "load_unit": load_unit,
        "supply_load": _relative(supply, mean),
        "supply_share": _relative(supply, supplied),
        "wanted": wanted,
    }


def _relative(rows: list[list[Fraction]], units: list[Fraction]) -> FloatRows:
    """Return numbers in units, one for each column."""
    numbers = [float(v / unit) for row in rows for v, unit in zip(row, units, strict=True)]
    return np.array(numbers, dtype=float).reshape(len(rows), len(units))


def _binding(limit: Number | None, total: Number) -> Number | None:
    """Return a limit, or ``None`` if the sum of what it limits cannot exceed it."""
    return None if limit is None or limit >= total else limit


def _unit(*groups: Iterable[Number | None]) -> _Unit:
    """Return a unit of which all numbers are multiples; a fine one if the total would overflow."""
    values = [v for group in groups for v in group if v]
    if not values:
        return _Unit(Fraction(1), True)
    if all(isinstance(v, int) for v in values) and sum(values) < _MOST:
        return _Unit(Fraction(1), True)
    unit = granularity(values)
    total = sum(map(Fraction, values), Fraction(0))
    if total / unit < _MOST:
        return _Unit(unit, True)
    power = total.numerator.bit_length() - total.denominator.bit_length() + 1
    return _Unit(Fraction(2) ** power / _MOST, False)


def _starts(lengths: Any) -> Any:
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))]).astype(np.int64)

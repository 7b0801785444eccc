"""An instance as arrays, for the compiled loops."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dlsched.problems.placement.schema import Instance
from dlsched.schema import Number, grid

_EXACT = 2**53
_MARGIN = 1e-9
"""Relative part of a limit that stays free where sums of doubles would not be exact."""


class Data(NamedTuple):
    """What does not change: T tables, J jobs, R regions, K GPU types, P priorities, A applications.

    Lists of lists are flat, with the start of each: the tables of job ``j`` are
    ``job_tables[job_start[j]:job_start[j + 1]]``. Bytes, GPU hours and CPU hours are counted in
    units in which they are whole numbers, where there are such.
    """

    size: Any
    home: Any
    """The region of each table today, -1 for none."""
    capacity: Any
    capacity_share: Any
    bytes_total: float
    bytes_read: float
    quota: float
    job_start: Any
    job_tables: Any
    table_start: Any
    table_jobs: Any
    ml: Any
    job_bytes: Any
    hours_start: Any
    hours_kind: Any
    hours: Any
    sensitive: Any
    """Whether (6) counts the job."""
    priority: Any
    supply: Any
    supply_share: Any
    supply_mean: Any
    wanted: Any
    """K x P: GPU hours of all jobs, those without a region included."""
    priority_weight: Any
    app: Any
    cpu_hours: Any
    cpu_total: float
    cpu_quota: Any
    """R x A; infinite where there is none."""
    threshold: float
    slope: float
    """Of the sigmoid; 0 in v1, where the factor is always 1/2."""
    traffic_weight: float
    gpu_weight: float
    storage_weight: float


def arrays(instance: Instance) -> Data:
    """Return an instance as arrays."""
    regions, tables, jobs = instance.regions, instance.tables, instance.jobs
    limit = [] if instance.move_quota is None else [instance.move_quota]
    byte, bytes_exact = _unit(
        (t.size for t in tables), (r.storage_capacity for r in regions), limit
    )
    size = _counts((t.size for t in tables), byte)
    capacity = _counts((r.storage_capacity for r in regions), byte)
    quota = float(Fraction(limit[0]) / byte) if limit else np.inf
    if not bytes_exact:
        capacity, quota = capacity * (1 - _MARGIN), quota * (1 - _MARGIN)

    index = instance.table_index
    job_tables = np.array([index[t] for job in jobs for t in job.tables], dtype=np.int64)
    job_start = _starts([len(job.tables) for job in jobs])
    readers = np.repeat(np.arange(len(jobs)), np.diff(job_start))
    order = np.argsort(job_tables, kind="stable")
    table_start = _starts(np.bincount(job_tables, minlength=len(tables)))
    read = np.add.reduceat(np.append(size[job_tables], 0.0), job_start[:-1]) if jobs else size[:0]

    kinds = {kind: k for k, kind in enumerate(instance.kinds)}
    ranks = {p: i for i, p in enumerate(instance.priorities)}
    triples = [
        [(kinds[kind], hours) for kind, hours in job.gpu_hours.items() if kind in kinds and hours]
        for job in jobs
    ]
    supplies = [[r.gpu_supply.get(kind, 0) for kind in kinds] for r in regions]
    hour, hours_exact = _unit(
        (h for row in triples for _, h in row),
        (s for row in supplies for s in row),
        [instance.at_home_threshold],
    )
    hours_kind = np.array([k for row in triples for k, _ in row], dtype=np.int64)
    hours = _counts((h for row in triples for _, h in row), hour)
    hours_start = _starts([len(row) for row in triples])
    priority = np.array([ranks[job.priority] for job in jobs], dtype=np.int64)
    wanted = np.zeros((len(kinds), len(ranks)))
    np.add.at(wanted, (hours_kind, np.repeat(priority, np.diff(hours_start))), hours)
    supply = np.array([_counts(row, hour) for row in supplies]).reshape(len(regions), len(kinds))
    in_all = supply.sum(axis=0)
    have = (supply > 0).sum(axis=0)

    apps = {app: a for a, app in enumerate(sorted({q for r in regions for q in r.cpu_quota}))}
    cpu, cpu_exact = _unit(
        (j.cpu_hours for j in jobs), (q for r in regions for q in r.cpu_quota.values())
    )
    cpu_quota = np.full((len(regions), len(apps)), np.inf)
    for r, region in enumerate(regions):
        for app, limit_ in region.cpu_quota.items():
            cpu_quota[r, apps[app]] = float(Fraction(limit_) / cpu) * (
                1 if cpu_exact else 1 - _MARGIN
            )

    cpu_hours = _counts((job.cpu_hours for job in jobs), cpu)

    weights, second = instance.weights, instance.version == "v2"
    capacity_total = capacity.sum()
    storage = second and capacity_total and len(tables)
    return Data(
        size=size,
        home=np.array(
            [-1 if t.home is None else instance.region_index[t.home] for t in tables],
            dtype=np.int64,
        ),
        capacity=capacity,
        capacity_share=capacity / capacity_total if capacity_total else capacity,
        bytes_total=float(size.sum()),
        bytes_read=float(read.sum()),
        quota=quota,
        job_start=job_start,
        job_tables=job_tables,
        table_start=table_start,
        table_jobs=readers[order],
        ml=np.array([job.kind == "ml" for job in jobs], dtype=np.bool_),
        job_bytes=read,
        hours_start=hours_start,
        hours_kind=hours_kind,
        hours=hours,
        sensitive=np.array([job.time_sensitive for job in jobs], dtype=np.bool_),
        priority=priority,
        supply=supply,
        supply_share=supply / in_all if kinds else supply,
        supply_mean=in_all / np.maximum(have, 1),
        wanted=wanted,
        priority_weight=np.array(
            [float(instance.priority_weight(p)) for p in instance.priorities], dtype=float
        ),
        app=np.array([apps.get(job.app or "", -1) for job in jobs], dtype=np.int64),
        cpu_hours=cpu_hours,
        cpu_total=float(cpu_hours.sum()),
        cpu_quota=cpu_quota,
        threshold=float(Fraction(instance.at_home_threshold) / hour)
        * (1 if hours_exact else 1 + _MARGIN),
        slope=float(instance.overload_slope) if second else 0.0,
        traffic_weight=float(weights.traffic),
        gpu_weight=float(weights.gpu),
        storage_weight=float(weights.storage) if storage else 0.0,
    )


def _unit(*groups: Iterable[Number]) -> tuple[Fraction, bool]:
    """Return a unit of which all the numbers are multiples, and whether their sums are exact."""
    values = [v for group in groups for v in group if v]
    unit = grid(values)
    if unit and sum(values) / unit < _EXACT:
        return unit, True
    return Fraction(1), not values


def _counts(values: Iterable[Number], unit: Fraction) -> Any:
    if unit == 1:
        return np.array([float(v) for v in values])
    return np.array([float(Fraction(v) / unit) for v in values])


def _starts(lengths: Any) -> Any:
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))]).astype(np.int64)

"""The definition of placement: violations and cost.

The sigmoid is irrational, so the second part of the objective is a double with a relative error of
at most `TOLERANCE`. Everything else is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction

from dlsched.objective import ByLevel, Level
from dlsched.problems.placement.schema import Instance, Solution
from dlsched.result import Report, Violation
from dlsched.schema import Number, simplify

LEVELS = (Level("cost", "min", "weighted shares"),)
_STEEP = Fraction(1000)
"""From here on the sigmoid is 1 in double precision; a larger argument may overflow."""
TOLERANCE = 1e-12
"""Relative error of the sum over regions, types and priorities in double precision."""


def check(instance: Instance, solution: Solution) -> Report:
    """Check a solution.

    Violations: ``unknown_table``, ``unknown_region``, ``missing_table``, ``storage_exceeded`` (4),
    ``cpu_exceeded`` (5), ``off_home`` (6: too few GPU hours of time-sensitive jobs are in a region
    with their type), ``quota_exceeded`` (bytes moved).

    ``details`` has the parts ``traffic``, ``gpu`` and ``storage`` before weights, the ``moved``
    bytes, the share of GPU hours of jobs that have a region (``placed``), and the ``overload``: GPU
    hours demanded beyond a region's supply, over all regions and types.
    """
    home = _known(instance, solution)
    violations = tuple(_violations(instance, solution, home))
    return Report(violations, evaluate(instance, home), details(instance, home))


def _known(instance: Instance, solution: Solution) -> dict[str, int]:
    """Return the homes of known tables in known regions, as positions of regions."""
    return {
        table: instance.region_index[region]
        for table, region in solution.home.items()
        if table in instance.table_index and region in instance.region_index
    }


def evaluate(instance: Instance, home: Mapping[str, int]) -> ByLevel[Number]:
    """Return the cost: weighted traffic (1), GPU imbalance (2), and in v2 storage imbalance (3)."""
    weights = instance.weights
    total = Fraction(weights.traffic) * traffic(instance, home)
    total += Fraction(weights.gpu) * Fraction(gpu(instance, home))
    if instance.version == "v2":
        total += Fraction(weights.storage) * storage(instance, home)
    return ByLevel(LEVELS, (simplify(total),))


def traffic(instance: Instance, home: Mapping[str, int]) -> Fraction:
    """Return (1): bytes read from other regions, as a share of all bytes read."""
    read = crossing = Fraction(0)
    for job in instance.jobs:
        region = instance.region_of(job, home)
        for name in job.tables:
            size = instance.tables[instance.table_index[name]].size
            read += size
            if region is None or home.get(name) != region:
                crossing += size
    return crossing / read if read else Fraction(0)


def demand(instance: Instance, home: Mapping[str, int]) -> dict[tuple[int, str, int], Fraction]:
    """Return GPU hours by region, type and priority; jobs without a region count nowhere."""
    total: dict[tuple[int, str, int], Fraction] = {}
    for job in instance.jobs:
        region = instance.region_of(job, home)
        if region is not None:
            for kind, hours in job.gpu_hours.items():
                key = (region, kind, job.priority)
                total[key] = total.get(key, Fraction(0)) + hours
    return total


def gpu(instance: Instance, home: Mapping[str, int]) -> float:
    """Return (2): squared differences of shares of demand and supply, times sigmoid of overload.

    Shares of demand are of all jobs' demand, those without a region included **(D)**. In v1 the
    sigmoid is 1/2 throughout.
    """
    here = demand(instance, home)
    wanted: dict[tuple[str, int], Fraction] = {}
    for job in instance.jobs:
        for kind, hours in job.gpu_hours.items():
            key = (kind, job.priority)
            wanted[key] = wanted.get(key, Fraction(0)) + hours
    parts = []
    for kind in instance.kinds:
        supply = [Fraction(region.gpu_supply.get(kind, 0)) for region in instance.regions]
        mean = sum(supply, Fraction(0)) / sum(1 for s in supply if s)
        for r in range(len(instance.regions)):
            load = sum(
                (here.get((r, kind, p), Fraction(0)) for p in instance.priorities), Fraction(0)
            )
            factor = 0.5
            if instance.version == "v2":
                over = Fraction(instance.overload_slope) * max(Fraction(0), load - supply[r]) / mean
                factor = sigmoid(float(min(over, _STEEP)))
            for priority in instance.priorities:
                if wanted.get((kind, priority)):
                    share = here.get((r, kind, priority), Fraction(0)) / wanted[kind, priority]
                    off = float(share - supply[r] / sum(supply)) ** 2
                    parts.append(float(instance.priority_weight(priority)) * off * factor)
    return math.fsum(parts)


def sigmoid(x: float) -> float:
    """Return 1 / (1 + e^-x)."""
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def storage(instance: Instance, home: Mapping[str, int]) -> Fraction:
    """Return (3): squared differences of regions' shares of bytes and of capacity."""
    size = sum((Fraction(table.size) for table in instance.tables), Fraction(0))
    capacity = sum((Fraction(region.storage_capacity) for region in instance.regions), Fraction(0))
    if not size or not capacity:
        return Fraction(0)
    stored = _stored(instance, home)
    return sum(
        (
            (stored[r] / size - Fraction(region.storage_capacity) / capacity) ** 2
            for r, region in enumerate(instance.regions)
        ),
        Fraction(0),
    )


def _stored(instance: Instance, home: Mapping[str, int]) -> list[Fraction]:
    stored = [Fraction(0)] * len(instance.regions)
    for table in instance.tables:
        if table.id in home:
            stored[home[table.id]] += table.size
    return stored


def moved(instance: Instance, home: Mapping[str, int]) -> Number:
    """Return the bytes of the tables whose home changes; those without one today move for free."""
    return sum(
        table.size
        for table in instance.tables
        if table.home is not None
        and table.id in home
        and home[table.id] != instance.region_index[table.home]
    )


def at_home(instance: Instance, home: Mapping[str, int]) -> Fraction:
    """Return (6): GPU hours of time-sensitive jobs whose region has their type."""
    total = Fraction(0)
    for job in instance.jobs:
        region = instance.region_of(job, home)
        if job.time_sensitive and region is not None:
            have = instance.regions[region].gpu_supply
            total += sum(
                (Fraction(h) for k, h in job.gpu_hours.items() if have.get(k)), Fraction(0)
            )
    return total


def details(instance: Instance, home: Mapping[str, int]) -> dict[str, Number | float]:
    """Return the parts of the cost and further figures; see `check`."""
    here = demand(instance, home)
    wanted = sum(
        (Fraction(h) for job in instance.jobs for h in job.gpu_hours.values()), Fraction(0)
    )
    over = Fraction(0)
    for r, region in enumerate(instance.regions):
        for kind in {k for _, k, _ in here}:
            load = sum((h for (q, k, _), h in here.items() if (q, k) == (r, kind)), Fraction(0))
            over += max(Fraction(0), load - region.gpu_supply.get(kind, 0))
    placed = sum(here.values(), Fraction(0))
    return {
        "traffic": float(traffic(instance, home)),
        "gpu": gpu(instance, home),
        "storage": float(storage(instance, home)),
        "moved": moved(instance, home),
        "placed": float(placed / wanted) if wanted else 1.0,
        "overload": float(over),
    }


def _violations(
    instance: Instance, solution: Solution, home: Mapping[str, int]
) -> Iterable[Violation]:
    for name, region in solution.home.items():
        if name not in instance.table_index:
            yield Violation("unknown_table", f"home.{name}", f'there is no table "{name}"')
        elif region not in instance.region_index:
            yield Violation("unknown_region", f"home.{name}", f'there is no region "{region}"')
    for table in instance.tables:
        if table.id not in solution.home:
            yield Violation("missing_table", "home", f'table "{table.id}" has no home')
    yield from _over_capacity(instance, home)
    have = at_home(instance, home)
    if have < instance.at_home_threshold:
        message = (
            f"{float(have):g} GPU hours are at home, {float(instance.at_home_threshold):g} must"
        )
        yield Violation("off_home", "home", message, instance.at_home_threshold - have)
    bytes_ = moved(instance, home)
    if instance.move_quota is not None and bytes_ > instance.move_quota:
        message = f"{float(bytes_):g} bytes move, the quota is {float(instance.move_quota):g}"
        yield Violation("quota_exceeded", "home", message, bytes_ - instance.move_quota)


def _over_capacity(instance: Instance, home: Mapping[str, int]) -> Iterable[Violation]:
    cpus: dict[tuple[int, str], Fraction] = {}
    for job in instance.jobs:
        at = instance.region_of(job, home)
        if at is not None and job.app is not None:
            key = (at, job.app)
            cpus[key] = cpus.get(key, Fraction(0)) + job.cpu_hours
    for r, (region, stored) in enumerate(
        zip(instance.regions, _stored(instance, home), strict=True)
    ):
        where = f"regions[{r}]"
        if stored > region.storage_capacity:
            message = f"{float(stored):g} bytes, it stores {float(region.storage_capacity):g}"
            yield Violation("storage_exceeded", where, message, stored - region.storage_capacity)
        for (q, app), hours in sorted(cpus.items()):
            quota = region.cpu_quota.get(app)
            if q == r and quota is not None and hours > quota:
                message = f"{float(hours):g} CPU hours of {app}, the quota is {float(quota):g}"
                yield Violation("cpu_exceeded", f"{where}.cpu_quota.{app}", message, hours - quota)


def explain(instance: Instance) -> str:
    """Return why no placement is feasible; an empty string if no reason is known."""
    size = sum((Fraction(table.size) for table in instance.tables), Fraction(0))
    capacity = sum((Fraction(region.storage_capacity) for region in instance.regions), Fraction(0))
    if size > capacity:
        return f"the tables have {float(size):g} bytes, the regions store {float(capacity):g}"
    largest = max((Fraction(region.storage_capacity) for region in instance.regions), default=0)
    for table in instance.tables:
        if table.size > largest:
            return f"table {table.id} has {float(table.size):g} bytes, no region stores as many"
    have = {k for region in instance.regions for k, hours in region.gpu_supply.items() if hours}
    urgent = sum(
        (Fraction(hours) for job in instance.jobs if job.time_sensitive
         for kind, hours in job.gpu_hours.items() if kind in have),
        Fraction(0),
    )  # fmt: skip
    if urgent < instance.at_home_threshold:
        return (
            f"{float(instance.at_home_threshold):g} GPU hours of time-sensitive jobs must be at "
            f"home, {float(urgent):g} are demanded of types that some region has"
        )
    return ""

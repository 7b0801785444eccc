"""The definition of placement: violations and cost.

The sigmoid is irrational, so the second part of the objective is a double with a relative error of
at most `TOLERANCE`. Everything else is exact.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from dlsched.problems.placement.definition.schema import Instance, Solution
from dlsched.results.objective import ByLevel, Level
from dlsched.results.result import Report, Violation
from dlsched.schema import Number, simplify

LEVELS = (Level("cost", "min", "weighted shares"),)
_LEAST_SUM = 1e-290
"""A smaller sum of doubles may have lost terms below the least double."""
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
    placed = Placed(instance, _known(instance, solution))
    violations = tuple(_violations(placed, solution))
    return Report(violations, evaluate(placed), details(placed))


def _known(instance: Instance, solution: Solution) -> dict[str, int]:
    """Return the homes of known tables in known regions, as positions of regions."""
    return {
        table: instance.region_index[region]
        for table, region in solution.home.items()
        if table in instance.table_index and region in instance.region_index
    }


class Placed:
    """Known homes of tables, and what follows from them."""

    def __init__(self, instance: Instance, home: Mapping[str, int]) -> None:
        self.instance, self.home = instance, home
        self.region_of_job = [instance.region_of(job, home) for job in instance.jobs]

    @cached_property
    def traffic(self) -> Fraction:
        """(1): bytes read from other regions, as a share of all bytes read."""
        readers: dict[str, int] = defaultdict(int)
        elsewhere: dict[str, int] = defaultdict(int)
        for job, region in zip(self.instance.jobs, self.region_of_job, strict=True):
            for name in job.tables:
                readers[name] += 1
                elsewhere[name] += region is None or self.home.get(name) != region
        size = {table.id: table.size for table in self.instance.tables}
        read = sum(size[name] * count for name, count in readers.items())
        crossing = sum(size[name] * count for name, count in elsewhere.items() if count)
        return Fraction(crossing) / read if read else Fraction(0)

    @cached_property
    def demand(self) -> Mapping[tuple[int, str, int], Number]:
        """GPU hours by region, type and priority; 0 where no job demands any.

        Jobs without a region are left out.
        """
        total: dict[tuple[int, str, int], Number] = defaultdict(int)
        for job, region in zip(self.instance.jobs, self.region_of_job, strict=True):
            if region is not None:
                for kind, hours in job.gpu_hours.items():
                    total[region, kind, job.priority] += hours
        return total

    @cached_property
    def gpu(self) -> float | Fraction:
        """(2): squared differences of shares of demand and supply, times sigmoid of overload.

        Shares of demand are of all jobs' demand, those without a region included **(D)**. In v1 the
        sigmoid is 1/2 throughout. The sum is a fraction if it is too small for doubles.
        """
        terms = list(_terms(self.instance, self.demand))
        value = math.fsum(float(t.weight) * float(t.difference) ** 2 * t.factor for t in terms)
        if value >= _LEAST_SUM:
            return value
        return sum((t.weight * t.difference**2 * Fraction(t.factor) for t in terms), Fraction(0))

    @cached_property
    def stored(self) -> list[Number]:
        """The bytes in each region."""
        stored: list[Number] = [0] * len(self.instance.regions)
        for table in self.instance.tables:
            if table.id in self.home:
                stored[self.home[table.id]] += table.size
        return stored

    @cached_property
    def storage(self) -> Fraction:
        """(3): squared differences of regions' shares of bytes and of capacity."""
        size = self.instance.total_size
        capacity = self.instance.total_capacity
        if not size or not capacity:
            return Fraction(0)
        differences = (
            stored / size - region.storage_capacity / capacity
            for stored, region in zip(self.stored, self.instance.regions, strict=True)
        )
        return sum((difference**2 for difference in differences), Fraction(0))

    @cached_property
    def at_home(self) -> Number:
        """(6): GPU hours of time-sensitive jobs whose region has their type."""
        total: Number = 0
        for job, region in zip(self.instance.jobs, self.region_of_job, strict=True):
            if job.time_sensitive and region is not None:
                supply = self.instance.regions[region].gpu_supply
                total += sum(hours for kind, hours in job.gpu_hours.items() if supply.get(kind))
        return total


def evaluate(placed: Placed) -> ByLevel[Number]:
    """Return the cost: weighted traffic (1), GPU imbalance (2), and in v2 storage imbalance (3)."""
    weights = placed.instance.weights
    total = Fraction(weights.traffic) * placed.traffic + Fraction(weights.gpu) * Fraction(
        placed.gpu
    )
    if placed.instance.version == "v2":
        total += Fraction(weights.storage) * placed.storage
    return ByLevel(LEVELS, (simplify(total),))


class _Term(NamedTuple):
    """A term of (2): a region, a GPU type and a priority."""

    weight: Number
    difference: Fraction
    factor: float


def _terms(instance: Instance, here: Mapping[tuple[int, str, int], Number]) -> Iterator[_Term]:
    """Yield the terms of (2), given the demand by region, type and priority."""
    wanted: dict[tuple[str, int], Number] = defaultdict(int)
    for job in instance.jobs:
        for kind, hours in job.gpu_hours.items():
            wanted[kind, job.priority] += hours
    for kind in instance.kinds:
        supply = [Fraction(region.gpu_supply.get(kind, 0)) for region in instance.regions]
        total = sum(supply, Fraction(0))
        mean = total / sum(1 for s in supply if s)
        for r, offered in enumerate(supply):
            load = sum(here[r, kind, p] for p in instance.priorities)
            factor = _factor(instance, (load - offered) / mean)
            for p in instance.priorities:
                if wanted[kind, p]:
                    share = Fraction(here[r, kind, p]) / wanted[kind, p]
                    yield _Term(instance.priority_weight(p), share - offered / total, factor)


def _factor(instance: Instance, over: Fraction) -> float:
    """Return the sigmoid at a load above the supply, in mean supplies; 1/2 throughout in v1."""
    if instance.version == "v1":
        return 0.5
    return sigmoid(float(min(instance.overload_slope * max(Fraction(0), over), _STEEP)))


def rounding_margin(instance: Instance) -> float:
    """Return an error of a bound whose terms, of both signs, were computed in doubles.

    It is `TOLERANCE` of the largest cost that weights allow, as shares are from 0 to 1: such terms
    may cancel, so that a part of the bound would not cover their rounding. `_LEAST_SUM` is for
    terms below the least double.
    """
    weights = instance.weights
    kinds = len(instance.kinds)
    gpu_terms = 2 * kinds * sum(instance.priority_weight(p) for p in instance.priorities)
    largest = weights.traffic + gpu_terms * weights.gpu + 2 * weights.storage
    return TOLERANCE * float(largest) + _LEAST_SUM


def sigmoid(x: float) -> float:
    """Return 1 / (1 + e^-x)."""
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def moved(instance: Instance, home: Mapping[str, int]) -> Number:
    """Return the bytes of the tables whose home changes; those without one today move for free."""
    return sum(
        table.size
        for table in instance.tables
        if table.home is not None
        and table.id in home
        and home[table.id] != instance.region_index[table.home]
    )


def details(placed: Placed) -> dict[str, Number | float]:
    """Return the parts of the cost and further figures; see `check`."""
    instance, here = placed.instance, placed.demand
    wanted = sum(hours for job in instance.jobs for hours in job.gpu_hours.values())
    loads: dict[tuple[int, str], Number] = defaultdict(int)
    for (r, kind, _), hours in here.items():
        loads[r, kind] += hours
    over = sum(
        max(0, load - instance.regions[r].gpu_supply.get(kind, 0))
        for (r, kind), load in loads.items()
    )
    return {
        "traffic": float(placed.traffic),
        "gpu": float(placed.gpu),
        "storage": float(placed.storage),
        "moved": moved(instance, placed.home),
        "placed": float(Fraction(sum(here.values())) / wanted) if wanted else 1.0,
        "overload": float(over),
    }


def _violations(placed: Placed, solution: Solution) -> Iterable[Violation]:
    instance = placed.instance
    for name, region in solution.home.items():
        if name not in instance.table_index:
            yield Violation("unknown_table", f"home.{name}", f'there is no table "{name}"')
        elif region not in instance.region_index:
            yield Violation("unknown_region", f"home.{name}", f'there is no region "{region}"')
    for table in instance.tables:
        if table.id not in solution.home:
            yield Violation("missing_table", "home", f'table "{table.id}" has no home')
    yield from _over_capacity(placed)
    have = placed.at_home
    if have < instance.at_home_threshold:
        message = (
            f"{float(have):g} GPU hours are at home, {float(instance.at_home_threshold):g} must"
        )
        yield Violation("off_home", "home", message, instance.at_home_threshold - have)
    bytes_ = moved(instance, placed.home)
    if instance.move_quota is not None and bytes_ > instance.move_quota:
        message = f"{float(bytes_):g} bytes move, the quota is {float(instance.move_quota):g}"
        yield Violation("quota_exceeded", "home", message, bytes_ - instance.move_quota)


def _over_capacity(placed: Placed) -> Iterable[Violation]:
    cpus: dict[tuple[int, str], Number] = defaultdict(int)
    for job, home in zip(placed.instance.jobs, placed.region_of_job, strict=True):
        if home is not None and job.app is not None:
            cpus[home, job.app] += job.cpu_hours
    for r, region in enumerate(placed.instance.regions):
        where = f"regions[{r}]"
        stored = placed.stored[r]
        excess = stored - region.storage_capacity
        if excess > 0:
            message = f"{float(stored):g} bytes, it stores {float(region.storage_capacity):g}"
            yield Violation("storage_exceeded", where, message, excess)
        for app, quota in sorted(region.cpu_quota.items()):
            hours = cpus[r, app]
            if hours > quota:
                message = f"{float(hours):g} CPU hours of {app}, the quota is {float(quota):g}"
                yield Violation("cpu_exceeded", f"{where}.cpu_quota.{app}", message, hours - quota)


def explain(instance: Instance) -> str:
    """Return why no placement is feasible; an empty string if no reason is known."""
    size = instance.total_size
    capacity = instance.total_capacity
    if size > capacity:
        return f"the tables have {float(size):g} bytes, the regions store {float(capacity):g}"
    largest = max((region.storage_capacity for region in instance.regions), default=0)
    for table in instance.tables:
        if table.size > largest:
            return f"table {table.id} has {float(table.size):g} bytes, no region stores as many"
    supplied = {k for region in instance.regions for k, hours in region.gpu_supply.items() if hours}
    urgent = sum(
        hours
        for job in instance.jobs
        if job.time_sensitive
        for kind, hours in job.gpu_hours.items()
        if kind in supplied
    )
    if urgent < instance.at_home_threshold:
        return (
            f"{float(instance.at_home_threshold):g} GPU hours of time-sensitive jobs must be at "
            f"home, {float(urgent):g} are demanded of types that some region has"
        )
    return ""

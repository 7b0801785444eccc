"""Instance and solution of placement: the home region of every table (MAST, section 3)."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, StrictBool, model_validator

from dlsched import schema
from dlsched.extras import require
from dlsched.schema import (
    Amount,
    Document,
    Flaw,
    Id,
    Number,
    PositiveAmount,
    PositiveCount,
    derived,
)

MOST_PRIORITIES = 1000
"""Largest priority that is accepted."""


class Weights(Document):
    """Weights of the three parts of the objective."""

    traffic: Amount = 1
    """Weight of the share of bytes read from other regions (eq. 1)."""
    gpu: Amount = 1
    """Weight of the imbalance of GPUs (eq. 2)."""
    storage: Amount = 1
    """Weight of the imbalance of stored bytes (eq. 3); not used in v1."""


class Region(Document):
    """A region: bytes that it can store, GPU hours by type, CPU hours by application."""

    id: Id
    """Id of the region."""
    storage_capacity: Amount
    """Bytes that it can store (eq. 4). Unit: bytes."""
    gpu_supply: dict[Id, Amount] = Field(default_factory=dict)
    """GPU hours that it offers, by type. Unit: GPU hours."""
    cpu_quota: dict[Id, Amount] = Field(default_factory=dict)
    """The most CPU hours by application; an absent one has no limit (eq. 5). Unit: CPU hours."""


class Table(Document):
    """A table: its size in bytes, and the region where it is today, if any."""

    id: Id
    """Id of the table."""
    size: PositiveAmount
    """Its size. Unit: bytes."""
    home: Id | None = None
    """The region where it is today, if any."""


class Job(Document):
    """A recurrent job: the tables that it reads, and its demand."""

    id: Id
    """Id of the job."""
    kind: Literal["ml", "spark", "presto"]
    """Training (ml: needs all its tables in one region), or analytics (spark, presto)."""
    tables: tuple[Id, ...]
    """Ids of the tables that it reads."""
    gpu_hours: dict[Id, Amount] = Field(default_factory=dict)
    """GPU hours that it demands, by type. Unit: GPU hours."""
    cpu_hours: Amount = 0
    """CPU hours that it demands. Unit: CPU hours."""
    app: Id | None = None
    """Application whose CPU quota it uses."""
    priority: PositiveCount = 1
    """Priority, from 1; jobs of one priority are balanced together."""
    time_sensitive: StrictBool = False
    """Whether its GPU hours count for ``at_home_threshold``."""


class Instance(schema.Instance):
    """Regions, tables, and the jobs that read them."""

    ORDERED_LISTS: ClassVar[frozenset[str]] = frozenset({"regions"})
    """A job with as many of its tables in two regions runs in the earlier one."""

    problem: Literal["placement"] = "placement"
    version: Literal["v1", "v2"] = "v2"
    """The paper's objective v1 (no overload, no storage) or v2."""
    weights: Weights = Weights()
    """Weights of the parts of the objective."""
    priority_weights: dict[Id, Amount] = Field(default_factory=dict)
    """Weight by priority; 1 for a priority that is absent."""
    overload_slope: PositiveAmount = 5
    """Steepness of the sigmoid of overload. Unit: 1 / mean supply of the type."""
    at_home_threshold: Amount = 0
    """Least GPU hours of time-sensitive jobs in regions with their type (eq.

    6). Unit: GPU hours.
    """
    move_quota: Amount | None = None
    """The most bytes of tables that change their home. Unit: bytes."""
    regions: tuple[Region, ...]
    """The regions; ties go to the earlier one."""
    tables: tuple[Table, ...]
    """The tables."""
    jobs: tuple[Job, ...]
    """The recurrent jobs."""

    @model_validator(mode="after")
    def _resolve(self) -> Self:
        for name in ("regions", "tables", "jobs"):
            schema.require_unique((thing.id for thing in getattr(self, name)), name)
        if not self.regions and self.tables:
            raise Flaw(("regions",), "is empty", "add a region for the tables")
        for t, table in enumerate(self.tables):
            if table.home is not None and table.home not in self.region_index:
                raise schema.dangling(
                    ("tables", t, "home"), "region", table.home, self.region_index
                )
        for j, job in enumerate(self.jobs):
            self._check_job(j, job)
        for key in self.priority_weights:
            if not key.isascii() or not key.isdigit() or (key[0] == "0" and key != "0"):
                raise Flaw(("priority_weights", key), "is not a priority", 'write "1", "2", ...')
        return self

    def _check_job(self, j: int, job: Job) -> None:
        if not job.tables:
            raise Flaw(
                ("jobs", j, "tables"), "is empty", "name at least one table, or drop the job"
            )
        seen: set[str] = set()
        for i, name in enumerate(job.tables):
            path = ("jobs", j, "tables", i)
            if name not in self.table_index:
                raise schema.dangling(path, "table", name, self.table_index)
            if name in seen:
                raise Flaw(path, f'names "{name}" twice', "name every table once")
            seen.add(name)
        if job.priority > MOST_PRIORITIES:
            raise Flaw(
                ("jobs", j, "priority"),
                f"{job.priority} is too large",
                f"at most {MOST_PRIORITIES}",
            )
        if job.cpu_hours and job.app is None:
            raise Flaw(("jobs", j, "app"), "is missing", "name the application whose quota it uses")

    @derived
    def region_index(self) -> dict[str, int]:
        """Position of each region."""
        return {region.id: r for r, region in enumerate(self.regions)}

    @derived
    def table_index(self) -> dict[str, int]:
        """Position of each table."""
        return {table.id: t for t, table in enumerate(self.tables)}

    @derived
    def total_size(self) -> Fraction:
        """Bytes of all tables."""
        return Fraction(sum(table.size for table in self.tables))

    @derived
    def total_capacity(self) -> Fraction:
        """Bytes that all regions can store."""
        return Fraction(sum(region.storage_capacity for region in self.regions))

    @derived
    def kinds(self) -> tuple[str, ...]:
        """GPU types with supply in some region and demand from some job; others add no cost."""
        wanted = {k for job in self.jobs for k, hours in job.gpu_hours.items() if hours}
        supplied: dict[str, None] = {}
        for region in self.regions:
            for kind, hours in region.gpu_supply.items():
                if hours and kind in wanted:
                    supplied[kind] = None
        return tuple(supplied)

    @derived
    def priorities(self) -> tuple[int, ...]:
        """The jobs' priorities, ascending."""
        return tuple(sorted({job.priority for job in self.jobs}))

    def priority_weight(self, priority: int) -> Number:
        """Return the weight of a priority, 1 by default."""
        return self.priority_weights.get(str(priority), 1)

    def region_of(self, job: Job, home: Mapping[str, int]) -> int | None:
        """Return the region in which a job runs, given the tables' regions; ``None`` for none.

        The region of an ML job is the home that all its tables share; that of a Spark or Presto job
        is the home of most of its tables, ties to the earlier region in the file.
        """
        homes = [home[name] for name in job.tables if name in home]
        if len(homes) < len(job.tables):
            return None
        if job.kind == "ml":
            return homes[0] if len(set(homes)) == 1 else None
        return min(set(homes), key=lambda r: (-homes.count(r), r))

    def to_networkx(self) -> Any:
        """Return which jobs read which tables, as a bipartite ``networkx.Graph``.

        Nodes are ``("job", id)`` with ``kind`` and ``gpu_hours``, and ``("table", id)`` with
        ``size`` and ``home``.
        """
        nx = require("networkx", "Instance.to_networkx")
        graph = nx.Graph(name=self.name)
        for job in self.jobs:
            hours = dict(job.gpu_hours)
            graph.add_node(("job", job.id), bipartite=0, kind=job.kind, gpu_hours=hours)
        for table in self.tables:
            graph.add_node(("table", table.id), bipartite=1, size=table.size, home=table.home)
        for job in self.jobs:
            graph.add_edges_from((("job", job.id), ("table", name)) for name in job.tables)
        return graph


class Solution(schema.Solution):
    """The home region of each table."""

    problem: Literal["placement"] = "placement"
    home: dict[Id, Id]
    """Region by table."""

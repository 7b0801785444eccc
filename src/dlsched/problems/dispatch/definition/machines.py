"""The machines of an instance of dispatch: regions, clusters, groups of identical machines."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple, Self

from pydantic import model_validator

from dlsched.schema import Amount, Count, Document, Flaw, Id, PositiveCount, brief

RESOURCES = ("gpus", "cpus", "memory")
"""What machines have and tasks need."""


class Machines(Document):
    """Identical machines of one rack; they are called ``id#0``, ``id#1``, ..."""

    id: Id
    """Id of the machines, unique in all clusters."""
    count: PositiveCount = 1
    """How many there are. Unit: machines."""
    rack: Count = 0
    """Number of their rack within the cluster."""
    gpu_type: Id | None = None
    """Type of their GPUs; absent exactly if they have none."""
    gpus: Count = 0
    """GPUs of each. Unit: GPUs."""
    cpus: Amount
    """CPU cores of each. Unit: CPUs."""
    memory: Amount
    """Memory of each. Unit: GB."""

    @model_validator(mode="after")
    def _require_type(self) -> Self:
        require_type(self.gpu_type, self.gpus)
        return self


class Cluster(Document):
    """A cluster: machines that one job can run on together."""

    id: Id
    """Id of the cluster, unique in all regions."""
    machines: tuple[Machines, ...]
    """Its machines."""


class Region(Document):
    """A region: the tables that it stores, as home or replica, and its clusters."""

    id: Id
    """Id of the region."""
    tables: tuple[Id, ...] = ()
    """Ids of the tables of which it has a copy."""
    clusters: tuple[Cluster, ...]
    """Its clusters."""

    @model_validator(mode="after")
    def _require_distinct_tables(self) -> Self:
        require_distinct(self.tables)
        return self


def require_type(gpu_type: str | None, gpus: int) -> None:
    """Refuse GPUs without a type, and a type without GPUs."""
    if gpus and gpu_type is None:
        raise Flaw(("gpu_type",), f"is missing, with {gpus} GPUs", "name the type of the GPUs")
    if gpu_type is not None and not gpus:
        raise Flaw(("gpu_type",), "is given without GPUs", "leave it out, or give gpus above 0")


def require_distinct(tables: Sequence[str]) -> None:
    """Refuse a list of tables in which one stands twice."""
    if len(set(tables)) < len(tables):
        second = next(i for i, table in enumerate(tables) if table in tables[:i])
        problem = f'names "{brief(tables[second])}" twice'
        raise Flaw(("tables", second), problem, "name every table once")


class Group(NamedTuple):
    """Machines of the file, their cluster, the position of their region, the first's number."""

    machines: Machines
    cluster: str
    region: int
    first: int


class Kinds:
    """The group of each machine by its number, without a list of all machines."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups = tuple(groups)
        self.firsts = tuple(group.first for group in groups)

    def __len__(self) -> int:
        """Return the number of machines."""
        return sum(group.machines.count for group in self.groups)

    def __getitem__(self, number: int) -> Group:
        """Return the group of the machine with this number."""
        return self.groups[bisect_right(self.firsts, number) - 1]

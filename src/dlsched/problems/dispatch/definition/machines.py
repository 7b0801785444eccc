"""The machines of an instance of dispatch: regions, clusters, groups of identical machines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from dlsched.schema import Amount, Count, Document, Id, PositiveCount

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
        last = self.groups[-1] if self.groups else None
        self.total = last.first + last.machines.count if last else 0

    def __len__(self) -> int:
        """Return the number of machines."""
        return self.total

    def __getitem__(self, number: int) -> Group:
        """Return the group of the machine with this number."""
        return self.groups[bisect_right(self.firsts, number) - 1]

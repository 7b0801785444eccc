"""The cluster of a simulation: servers, and how many of a pool are on loan at what time."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from dlsched.display.markup import document_html
from dlsched.errors import InstanceError
from dlsched.schema import (
    Amount,
    Count,
    Document,
    Flaw,
    Id,
    Number,
    PositiveCount,
    derived,
    require_unique,
)
from dlsched.schema.document import FrozenDict
from dlsched.simulation.workload.clock import ticks

TRAINING, LOAN = "training", "loan"
"""The pool that is there all the time, and the one whose servers come and go."""
BOTH = ("start", "end")
MOST_SERVERS = 1_000_000
"""Of a cluster that is stated by numbers; larger than any published one by far."""


class Server(Document):
    """One server.

    Attributes
    ----------
    gpu_type, cpus, memory
        Type of its GPUs, number of its CPUs and GB of its memory; None if no policy asks.
    pool
        ``"training"``, or ``"loan"`` for a server that is there only while it is lent.
    region, cluster
        Names of its region, and of its cluster within the region, for policies that choose one.
    partitions
        The partitions that it is in; empty for all. Jobs of other partitions do not run on it.
    features
        What it has that jobs may ask for; it has no others.
    """

    id: Id
    gpus: PositiveCount
    gpu_type: str | None = None
    cpus: Amount | None = None
    memory: Amount | None = None
    pool: str = TRAINING
    region: str | None = None
    cluster: str | None = None
    partitions: tuple[Id, ...] = ()
    features: tuple[Id, ...] = ()


class Loan(Document):
    """From `time` on, `servers` servers of the loan pool may be used (seconds)."""

    time: Amount
    servers: Count


class Away(Document):
    """From `start` to `end` a server is not there: an outage, or maintenance (seconds).

    Jobs on it are preempted at `start`: those without checkpoints lose their work.
    """

    server: Id
    start: Amount
    end: Amount


class Cluster(Document):
    """Servers, in the order in which policies that go through them do so.

    Attributes
    ----------
    loans
        How many servers of the loan pool are lent, by time; none before the first entry.
    away
        When servers that are not of the loan pool are not there; by time for each server.
    """

    servers: tuple[Server, ...]
    loans: tuple[Loan, ...] = ()
    away: tuple[Away, ...] = ()

    @classmethod
    def uniform(
        cls,
        servers: int = 8,
        gpus: int = 8,
        *,
        gpu_type: str | None = None,
        cpus: int | None = None,
        memory: int | None = None,
    ) -> Self:
        """Return a cluster of servers that are all alike; they are s1, s2, and so on.

        Parameters
        ----------
        servers, gpus
            Number of servers, and of GPUs on each.
        gpu_type, cpus, memory
            Type of the GPUs, CPUs and GB of memory of each server.
        """
        kind = {"gpus": gpus, "gpu_type": gpu_type, "cpus": cpus, "memory": memory}
        return cls.of([kind | {"count": servers}])

    @classmethod
    def of(cls, kinds: Sequence[Mapping[str, object]]) -> Self:
        """Return a cluster of several kinds of servers: fields of `Server` without id, and a count.

        Raises
        ------
        InstanceError
            Naming the field, what is wrong and the remedy.
        """
        counts = [int(str(kind.get("count", 1))) for kind in kinds]
        if sum(counts) > MOST_SERVERS:
            what = f"are {sum(counts):,}, more than {MOST_SERVERS:,}"
            raise InstanceError("the cluster", "servers", what, "state fewer")
        rows = [
            {key: value for key, value in kind.items() if key != "count"}
            for kind, count in zip(kinds, counts, strict=True)
            for _ in range(count)
        ]
        data = {"servers": [{"id": f"s{i + 1}"} | row for i, row in enumerate(rows)]}
        return cls.parse(data, "the cluster")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        require_unique((server.id for server in self.servers), "servers")
        if not self.servers:
            raise Flaw(("servers",), "there is no server", "give at least one")
        lent = sum(server.pool == LOAN for server in self.servers)
        for i, (before, loan) in enumerate(zip((None, *self.loans), self.loans, strict=False)):
            if before is not None and loan.time <= before.time:
                raise Flaw(("loans", i, "time"), "is not after the entry before", "sort by time")
            if loan.servers > lent:
                raise Flaw(
                    ("loans", i, "servers"),
                    f"{loan.servers} exceeds the {lent} servers of the loan pool",
                    "lend fewer, or add servers with pool loan",
                )
        own = {server.id for server in self.servers if server.pool != LOAN}
        back: dict[Id, Number] = {}
        for i, away in enumerate(self.away):
            if away.server not in own:
                raise Flaw(("away", i, "server"), f"{away.server!r} is none", "name a server")
            if not away.start < away.end:
                raise Flaw(("away", i, "end"), "is not after start", "give when it is back")
            if away.start < back.get(away.server, 0):
                raise Flaw(("away", i, "start"), "is before the end of the last", "sort by time")
            back[away.server] = away.end
        return self

    def _repr_html_(self) -> str:
        """Return servers and loans, with ranges of their fields, for a notebook."""
        most = Counter(self.gpus_by_type).most_common()
        types = ", ".join(f"{count:,} {kind or 'of no type'}" for kind, count in most)
        return document_html("cluster", f"{self.gpus:,} GPUs", self, f"GPUs by type: {types}")

    @derived
    def by_id(self) -> dict[str, Server]:
        """The servers by id."""
        return {server.id: server for server in self.servers}

    @cached_property
    def order(self) -> tuple[tuple[str, ...], Mapping[str, int], NDArray[np.int64]]:
        """The servers' ids, the position of each, and their GPUs, shape (servers,)."""
        names = tuple(server.id for server in self.servers)
        sizes = np.array([server.gpus for server in self.servers], np.int64)
        sizes.flags.writeable = False
        return names, FrozenDict({name: i for i, name in enumerate(names)}), sizes

    @cached_property
    def loan_servers(self) -> frozenset[str]:
        """The servers of the loan pool."""
        return frozenset(server.id for server in self.servers if server.pool == LOAN)

    @cached_property
    def changes(self) -> tuple[tuple[int, bool, str], ...]:
        """When servers go and are back, in ticks, in the order of time; those that are back first.

        A row is the time, whether the server goes, and its id.
        """
        rows = ((ticks(getattr(a, at)), at == "start", a.server) for a in self.away for at in BOTH)
        return tuple(sorted(rows))

    @cached_property
    def gpus(self) -> int:
        """GPUs of all servers, on loan or not."""
        return sum(server.gpus for server in self.servers)

    @property
    def gpus_by_type(self) -> dict[str | None, int]:
        """GPUs by type."""
        count: Counter[str | None] = Counter()
        for server in self.servers:
            count[server.gpu_type] += server.gpus
        return dict(count)

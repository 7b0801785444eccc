"""Instance and solution of workers: the server of each worker of each job (Lyra, section 5.3)."""

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, StrictBool, model_validator

from dlsched import schema
from dlsched.schema import Count, Document, Flaw, Id, PositiveCount, derived

Pool = Literal["training", "loan"]
Kind = Literal["base", "flexible"]
POOLS: tuple[Pool, ...] = ("training", "loan")
KINDS: tuple[Kind, ...] = ("base", "flexible")


class Server(Document):
    """A training server, or an inference server on loan."""

    id: Id
    """Id of the server."""
    pool: Pool
    """Where it belongs: training, or on loan from the inference cluster."""
    gpus: PositiveCount
    """GPUs of the server. Unit: GPUs."""
    free: Count
    """GPUs that running jobs leave free. Unit: GPUs."""
    group: Kind | None = None
    """Which workers run on this loan server already; none if it may become either."""

    @property
    def empty(self) -> bool:
        """Whether no worker runs there."""
        return self.free == self.gpus


class Job(Document):
    """A job to place: a gang of base workers, and flexible workers if it is elastic."""

    id: Id
    """Id of the job."""
    gpus_per_worker: PositiveCount
    """GPUs of each worker. Unit: GPUs."""
    base: PositiveCount
    """Base workers; the job gets all of them or is not placed. Unit: workers."""
    flexible: Count = 0
    """Flexible workers that it may get in addition. Unit: workers."""
    elastic: StrictBool = False
    """Whether it is elastic; such a job prefers servers on loan."""
    fungible: StrictBool = False
    """Whether all its workers may be on loan servers instead of training servers."""
    heterogeneous: StrictBool = False
    """Whether its workers may be on servers of both pools at a time."""

    @property
    def pools(self) -> tuple[Pool, ...]:
        """Pools that its workers may be in, the preferred one first."""
        if not (self.fungible or self.heterogeneous):
            return ("training",)
        return ("loan", "training") if self.elastic else ("training", "loan")


class Instance(schema.Instance):
    """Servers with free GPUs, and the jobs whose workers are to be placed."""

    problem: Literal["workers"] = "workers"
    separate_groups: StrictBool = True
    """Whether a loan server holds base workers or flexible workers, but not both."""
    servers: tuple[Server, ...]
    """Servers of both pools."""
    jobs: tuple[Job, ...]
    """Jobs to place."""

    @model_validator(mode="after")
    def _resolve(self) -> Self:
        schema.require_unique((s.id for s in self.servers), "servers")
        schema.require_unique((j.id for j in self.jobs), "jobs")
        for s, server in enumerate(self.servers):
            if server.free > server.gpus:
                raise Flaw(
                    ("servers", s, "free"),
                    f"{server.free} GPUs are free, the server has {server.gpus}",
                    "write at most its gpus",
                )
            if server.group and server.pool == "training":
                raise Flaw(
                    ("servers", s, "group"),
                    "only servers on loan have groups",
                    "remove it, or write pool loan",
                )
            if server.group and server.empty:
                raise Flaw(
                    ("servers", s, "group"),
                    "an empty server has no group",
                    "remove it, or write how many GPUs are free",
                )
        for j, job in enumerate(self.jobs):
            if job.flexible and not job.elastic:
                raise Flaw(
                    ("jobs", j, "flexible"),
                    "a job that is not elastic has no flexible workers",
                    "write 0, or elastic true",
                )
        return self

    @derived
    def server_index(self) -> dict[str, int]:
        """Position of each server id."""
        return {s.id: i for i, s in enumerate(self.servers)}

    @derived
    def job_index(self) -> dict[str, int]:
        """Position of each job id."""
        return {j.id: i for i, j in enumerate(self.jobs)}

    @derived
    def kinds(self) -> tuple[tuple[Kind, ...] | None, ...]:
        """For each server the kinds of workers it may get; ``None`` where kinds may share it.

        A loan server in separate groups has one kind if its group is stated, else both, of which
        it may get only one.
        """
        return tuple(
            None
            if server.pool == "training" or not self.separate_groups
            else (server.group,)
            if server.group
            else KINDS
            for server in self.servers
        )


class Placed(Document):
    """Where the workers of a job are."""

    base: dict[Id, PositiveCount] = Field(default_factory=dict)
    """Base workers by server. Unit: workers."""
    flexible: dict[Id, PositiveCount] = Field(default_factory=dict)
    """Flexible workers by server. Unit: workers."""

    def counts(self, kind: Kind) -> Mapping[str, int]:
        """Return the workers of a kind by server."""
        return self.base if kind == "base" else self.flexible


class Solution(schema.Solution):
    """Where the workers of the placed jobs are; a job that is absent is not placed."""

    problem: Literal["workers"] = "workers"
    placement: dict[Id, Placed]
    """Workers by job."""

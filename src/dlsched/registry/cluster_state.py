"""A cluster's state at a moment, and the adapters that make a problem's instance from it.

The adapter of a problem is the module ``state`` of its package. Its function ``instance(state, *,
...)`` returns the instance that a scheduler would solve at that moment, without labels; its keyword
arguments are what neither the state nor a trace records. ``SERVERS`` is how many servers of 8 GPUs
a trace is replayed onto unless told otherwise.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dlsched import registry
from dlsched.errors import OptionError
from dlsched.schema.fields import Id
from dlsched.schema.quantities import Number


@dataclass(frozen=True, slots=True)
class Server:
    """One server and its number of GPUs.

    Attributes
    ----------
    pool
        ``"training"``, or ``"loan"`` for an inference server on loan (Lyra).
    gpu_type, region, cluster
        Type of its GPUs, its region and its cluster there; None if nobody asks.
    """

    id: Id
    gpus: int
    pool: str = "training"
    gpu_type: str | None = None
    region: str | None = None
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class JobState:
    """What a scheduler may know of one job at a moment. All times are in seconds.

    Attributes
    ----------
    gpus
        GPUs that the job was submitted with.
    min_gpus, max_gpus
        Fewest and most GPUs that it can run with; both are `gpus` unless the job is elastic.
    submit
        When it was submitted, on the clock of the state's `time`.
    remaining, attained
        Time that it still needs and time that it has run, both with `gpus` GPUs.
    allocation
        ``(server id, GPUs held there)`` in the order of allocation; empty while the job waits.
    stages
        Time per iteration by resource, as recorded: data loading with preprocessing, GPU, network.
    gpus_per_worker
        GPUs of one worker, which are on one server.
    fungible, heterogeneous
        Whether it may run on servers of either pool, and of both at once.
    scaling_loss
        Share of its throughput that each GPU above `min_gpus` loses.
    throughputs
        Instead of that, from `min_gpus` to `max_gpus`, in any unit; empty for a job without.
    rates, gpu_type
        Iterations per second by type of GPU, and the type for which `remaining` is stated. With
        rates on fewer than two types, it is the type that it needs.
    work
        Time that it needs altogether, as `remaining`; None for the sum of `remaining` and
        `attained`.
    tenant, priority
        Who submitted it, and the priority of that tenant; None if nobody asks.
    within_quota
        Whether a running job counts against its tenant's quota (MAST, section 4.2).
    regions
        The regions that have its data; empty for all.
    """

    id: Id
    gpus: int
    min_gpus: int
    max_gpus: int
    submit: Number
    remaining: Number
    attained: Number = 0
    allocation: tuple[tuple[Id, int], ...] = ()
    model: str | None = None
    stages: tuple[Number, ...] = ()
    gpus_per_worker: int = 1
    fungible: bool = False
    heterogeneous: bool = False
    scaling_loss: Number = 0
    throughputs: tuple[Number, ...] = ()
    rates: Mapping[str, Number] = field(default_factory=dict)
    gpu_type: str | None = None
    work: Number | None = None
    tenant: str | None = None
    priority: Number | None = None
    within_quota: bool = True
    regions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterState:
    """Servers and jobs at a moment.

    Attributes
    ----------
    time
        Seconds from the first submission.
    running, waiting
        Jobs that hold GPUs, in the order of their start, and jobs that wait, in that of submission.
    """

    time: Number
    servers: tuple[Server, ...]
    running: tuple[JobState, ...]
    waiting: tuple[JobState, ...]

    @property
    def gpus(self) -> int:
        """GPUs of all servers."""
        return sum(server.gpus for server in self.servers)

    def __repr__(self) -> str:
        """Return the moment, and the numbers of servers and jobs."""
        return (
            f"<cluster at {float(self.time):,.0f} s: {len(self.servers):,} servers of "
            f"{self.gpus:,} GPUs, {len(self.running):,} jobs running, "
            f"{len(self.waiting):,} waiting>"
        )


def uniform(text: str, seed: int) -> float:
    """Return a random number in [0, 1) that depends on the text, as a job's id, and the seed."""
    digest = hashlib.blake2b(f"{seed}:{text}".encode(), digest_size=6).digest()
    return int.from_bytes(digest) / 2.0**48


def adapter(problem: str) -> Any:
    """Return the module ``state`` of a problem.

    `UnknownName` is raised if there is no such problem; `OptionError` if the problem has no
    adapter, naming those that have one.
    """
    owner = registry.problem(problem)
    if not owner.has_module("state"):
        able = ", ".join(p.name for p in registry.usable_problems() if p.has_module("state"))
        raise OptionError(
            f"{problem} has no adapter from a cluster's state; those that have: {able}"
        )
    return owner.module("state")

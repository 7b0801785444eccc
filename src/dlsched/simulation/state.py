"""What a policy sees when it decides: time, jobs, servers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.schema import Id, Number, simplify
from dlsched.simulation.clock import seconds
from dlsched.simulation.cluster import Cluster, Server
from dlsched.simulation.decision import Allocation
from dlsched.simulation.job import Job
from dlsched.simulation.workload import Workload
from dlsched.state import ClusterState, JobState
from dlsched.state import Server as ServerState

Vector = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class JobView:
    """One job at a moment. All times are in seconds.

    Attributes
    ----------
    job
        The job as the workload has it.
    remaining
        Running time that it still needs at speed 1.
    attained
        Time that it has held GPUs.
    service
        The same, each second times the GPUs then held.
    allocation
        What it holds; None while it waits.
    first_start
        When it first started; None if it never did.
    preemptions
        How often it was preempted.
    """

    job: Job
    remaining: Number
    attained: Number
    service: Number
    allocation: Allocation | None
    first_start: Number | None
    preemptions: int

    @property
    def id(self) -> Id:
        """The job's id."""
        return self.job.id


class ServerView(NamedTuple):
    """A server that may be used at the moment, and what is free on it."""

    server: Server
    free: int
    free_cpus: Number | None
    free_memory: Number | None


class Arrays(NamedTuple):
    """The waiting and running jobs as vectors, in the order of submission; times in microseconds.

    ``job`` are positions in the workload, ``running`` is 1 for a job that holds GPUs.
    """

    job: Vector
    submit: Vector
    gpus: Vector
    remaining: Vector
    attained: Vector
    service: Vector
    running: Vector


@dataclass(frozen=True)
class State:
    """A cluster and its jobs at the moment of a decision.

    Attributes
    ----------
    time
        Seconds on the workload's clock.
    causes
        What happened at this moment: of ``"arrival"``, ``"completion"``, ``"round"``, ``"wake"``
        and ``"loan"``, in this order.
    number
        How many decisions were made before this one.
    loan
        Servers of the loan pool that may be used from now on. If more of them are in use, the
        decision returns the surplus (`Decision.returned`).
    """

    time: Number
    causes: tuple[str, ...]
    number: int
    seed: int
    loan: int
    workload: Workload
    cluster: Cluster
    _jobs: Callable[[], tuple[tuple[JobView, ...], tuple[JobView, ...]]]
    _servers: Callable[[], tuple[ServerView, ...]]
    _arrays: Callable[[], Arrays]
    _held: Mapping[Id, Allocation]
    _free: Mapping[Id, int]
    _vector: Vector

    @cached_property
    def _views(self) -> tuple[tuple[JobView, ...], tuple[JobView, ...]]:
        return self._jobs()

    @property
    def waiting(self) -> tuple[JobView, ...]:
        """The jobs that wait, in the order of submission."""
        return self._views[0]

    @property
    def running(self) -> tuple[JobView, ...]:
        """The jobs that hold GPUs, in the order of their last start."""
        return self._views[1]

    @cached_property
    def servers(self) -> tuple[ServerView, ...]:
        """The servers that may be used, in the cluster's order."""
        return self._servers()

    @cached_property
    def arrays(self) -> Arrays:
        """The same jobs as vectors, for policies that decide often."""
        return self._arrays()

    @property
    def allocations(self) -> Mapping[Id, Allocation]:
        """What each running job holds, in the order of their last start."""
        return MappingProxyType(self._held)

    @property
    def free_gpus(self) -> Mapping[Id, int]:
        """Free GPUs of each server that may be used."""
        return MappingProxyType(self._free)

    @property
    def free(self) -> Vector:
        """Free GPUs by position in the cluster, a copy; 0 for a server that may not be used."""
        return self._vector.copy()

    @cached_property
    def rng(self) -> np.random.Generator:
        """Random numbers that depend on the seed and on the number of the decision alone."""
        return np.random.default_rng([self.seed, self.number])

    def snapshot(self) -> ClusterState:
        """Return what the adapters of the problems' packages take."""
        return ClusterState(
            time=self.time,
            servers=tuple(
                ServerState(own.id, own.gpus, own.pool, own.gpu_type, own.region, own.cluster)
                for own, *_ in self.servers
            ),
            running=tuple(map(job_state, self.running)),
            waiting=tuple(map(job_state, self.waiting)),
        )


def job_state(view: JobView) -> JobState:
    """Return a job as the adapters of the problems' packages take it."""
    held = () if view.allocation is None else view.allocation.shares
    return JobState(
        id=view.job.id,
        gpus=view.job.gpus,
        min_gpus=view.job.min_gpus,
        max_gpus=view.job.max_gpus,
        # On the clock, as the state's time: their difference has no more digits than a double.
        submit=number(view.job.submit_ticks),
        remaining=view.remaining,
        attained=view.attained,
        allocation=tuple((share.server, share.gpus) for share in held),
        model=view.job.model,
        stages=view.job.stages,
        gpus_per_worker=view.job.gpus_per_worker,
        fungible=view.job.fungible,
        heterogeneous=view.job.heterogeneous,
        scaling_loss=view.job.scaling_loss,
        rates=view.job.rates,
        gpu_type=view.job.gpu_type,
        work=view.job.work,
        tenant=view.job.tenant,
        priority=view.job.priority,
        regions=view.job.regions,
    )


def number(ticks: int) -> Number:
    """Return a time in microseconds as a number of seconds."""
    return simplify(seconds(int(ticks)))  # type: ignore[arg-type]

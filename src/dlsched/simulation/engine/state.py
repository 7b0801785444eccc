"""What a policy sees when it decides: time, jobs, servers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple, Protocol, overload

import numpy as np

from dlsched.registry.cluster_state import ClusterState, JobState
from dlsched.registry.cluster_state import Server as ServerState
from dlsched.schema import Id, Number
from dlsched.simulation.engine.decision import Allocation
from dlsched.simulation.engine.vectors import Arrays, Key, LinesByGpus, Vector
from dlsched.simulation.workload.clock import seconds
from dlsched.simulation.workload.cluster import Cluster, Server
from dlsched.simulation.workload.eligibility import Eligibility
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Workload


@dataclass(frozen=True, slots=True)
class JobView:
    """One job at a moment. All times are in seconds.

    Attributes
    ----------
    job
        The job as the workload has it.
    remaining
        Running time that it still needs at speed 1, for all that a scheduler knows: by
        `Job.estimate` if it has one, and no less than a microsecond.
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

    def snapshot(self) -> JobState:
        """Return the job as the adapters of the problems' packages take it."""
        shares = () if self.allocation is None else self.allocation.shares
        held = [(share.server, share.gpus) for share in shares]
        return job_state(self.job, self.remaining, held, self.attained)


class Views(Sequence[JobView]):
    """Jobs in order; each view is made when it is looked at, so that a long queue costs nothing.

    Parameters
    ----------
    positions
        The jobs' positions in the workload.
    view
        Returns the view of a job as it is now.
    """

    def __init__(self, positions: Sequence[int], view: Callable[[int], JobView]) -> None:
        self._positions, self._view = positions, view
        self._kept: tuple[JobView, ...] | None = None

    def keep(self) -> None:
        """Make all views: the jobs are about to change, and somebody still has these."""
        if self._kept is None:
            self._kept = tuple(self)

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self._positions) if self._kept is None else len(self._kept)

    def __iter__(self) -> Iterator[JobView]:
        """Go through the jobs in order."""
        return map(self._view, self._positions) if self._kept is None else iter(self._kept)

    @overload
    def __getitem__(self, index: int) -> JobView: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[JobView, ...]: ...
    def __getitem__(self, index: int | slice) -> JobView | tuple[JobView, ...]:
        """Return a job, or a tuple of several."""
        if self._kept is not None:
            return self._kept[index]
        if isinstance(index, slice):
            return tuple(map(self._view, self._positions[index]))
        return self._view(self._positions[index])

    def __add__(self, other: Sequence[JobView]) -> tuple[JobView, ...]:
        """Return these jobs and then others."""
        return (*self, *other)

    def __repr__(self) -> str:
        """Return the jobs as a tuple shows them."""
        return repr(tuple(self))


class ServerView(NamedTuple):
    """A server that may be used at the moment, and what is free on it."""

    server: Server
    free: int
    free_cpus: Number | None
    free_memory: Number | None


class Shown(Protocol):
    """What a state shows, made when it is asked for; see the properties of `State`."""

    @property
    def held(self) -> Mapping[Id, Allocation]: ...  # noqa: D102
    @property
    def free(self) -> Mapping[Id, int]: ...  # noqa: D102
    @property
    def vector(self) -> Vector: ...  # noqa: D102
    def waiting(self) -> Views: ...  # noqa: D102
    def running(self) -> Views: ...  # noqa: D102
    def servers(self) -> tuple[ServerView, ...]: ...  # noqa: D102
    def present(self) -> Arrays: ...  # noqa: D102
    def holding(self) -> Arrays: ...  # noqa: D102
    def vectors(self, names: Iterable[Id]) -> Arrays: ...  # noqa: D102
    def lines(self, key: Key) -> LinesByGpus: ...  # noqa: D102


@dataclass(frozen=True)
class State:
    """A cluster and its jobs at the moment of a decision.

    Attributes
    ----------
    causes
        What happened at this moment: of ``"arrival"``, ``"completion"``, ``"round"``, ``"wake"``,
        ``"loan"``, ``"away"`` (a server goes or is back) and ``"cancellation"``, in this order.
    number
        How many decisions were made before this one.
    loan
        Servers of the loan pool that may be used from now on. If more of them are in use, the
        decision returns the surplus (`Decision.returned`).
    where
        Which jobs may run on which servers, by classes.
    """

    _now: int
    causes: tuple[str, ...]
    number: int
    seed: int
    loan: int
    workload: Workload
    cluster: Cluster
    where: Eligibility
    _shown: Shown

    @cached_property
    def time(self) -> Number:
        """Seconds on the workload's clock."""
        return number(self._now)

    @cached_property
    def waiting(self) -> Views:
        """The jobs that wait, in the order of submission."""
        return self._shown.waiting()

    @cached_property
    def running(self) -> Views:
        """The jobs that hold GPUs, in the order of their last start."""
        return self._shown.running()

    @cached_property
    def servers(self) -> tuple[ServerView, ...]:
        """The servers that may be used, in the cluster's order."""
        return self._shown.servers()

    @cached_property
    def arrays(self) -> Arrays:
        """The same jobs as vectors, for policies that decide often."""
        return self._shown.present()

    @cached_property
    def holding(self) -> Arrays:
        """The running jobs alone as vectors."""
        return self._shown.holding()

    def vectors(self, names: Iterable[Id]) -> Arrays:
        """Return some of the jobs as vectors, in the order of submission."""
        return self._shown.vectors(names)

    def lines(self, key: Key) -> LinesByGpus:
        """Return the waiting jobs in lines, one for each number of GPUs asked for.

        Parameters
        ----------
        key
            By which each line is ordered, least first; ties in the order of submission. It must
            depend on the job alone, and stay the same as long as it waits: it is computed once for
            each time that the job begins to wait.

        Returns
        -------
        LinesByGpus
            The key and the position in the workload of each job, by GPUs. It is what the simulator
            goes on with: to be read in this decision, never to be changed.
        """
        return self._shown.lines(key)

    @property
    def allocations(self) -> Mapping[Id, Allocation]:
        """What each running job holds, in the order of their last start."""
        return MappingProxyType(self._shown.held)

    @property
    def free_gpus(self) -> Mapping[Id, int]:
        """Free GPUs of each server that may be used."""
        return MappingProxyType(self._shown.free)

    @property
    def free(self) -> Vector:
        """Free GPUs by position in the cluster, a copy; 0 for a server that may not be used."""
        return self._shown.vector.copy()

    @property
    def free_by_class(self) -> Vector:
        """Free GPUs of each server class of `where`."""
        return self.where.by_class(self._shown.vector)

    @cached_property
    def rng(self) -> np.random.Generator:
        """Random numbers that depend on the seed and on the number of the decision alone."""
        return np.random.default_rng([self.seed, self.number])

    def snapshot(
        self,
        running: Iterable[JobView] | None = None,
        waiting: Iterable[JobView] | None = None,
    ) -> ClusterState:
        """Return what the adapters of the problems' packages take.

        Parameters
        ----------
        running, waiting
            The jobs that count; None for all.
        """
        return ClusterState(
            time=self.time,
            servers=tuple(
                ServerState(
                    server.id,
                    server.gpus,
                    server.pool,
                    server.gpu_type,
                    server.region,
                    server.cluster,
                )
                for server, *_ in self.servers
            ),
            running=tuple(v.snapshot() for v in (self.running if running is None else running)),
            waiting=tuple(v.snapshot() for v in (self.waiting if waiting is None else waiting)),
        )


def job_state(
    job: Job, remaining: Number, held: Iterable[tuple[Id, int]] = (), attained: Number = 0
) -> JobState:
    """Return a job as the adapters of the problems' packages take it.

    Parameters
    ----------
    remaining, attained
        As in `JobView`.
    held
        The GPUs that it holds, by server.
    """
    return JobState(
        id=job.id,
        gpus=job.gpus,
        min_gpus=job.min_gpus,
        max_gpus=job.max_gpus,
        # On the clock, as the state's time: their difference has no more digits than a double.
        submit=number(job.submit_ticks),
        remaining=remaining,
        attained=attained,
        allocation=tuple(held),
        model=job.model,
        stages=job.stages,
        gpus_per_worker=job.gpus_per_worker,
        fungible=job.fungible,
        heterogeneous=job.heterogeneous,
        scaling_loss=job.scaling_loss,
        rates=job.rates,
        gpu_type=job.gpu_type,
        work=job.work if job.estimate is None else job.estimate,
        tenant=job.tenant,
        priority=job.priority,
        regions=job.regions,
    )


def number(ticks: int) -> Number:
    """Return a time in microseconds as a number of seconds."""
    return seconds(int(ticks))

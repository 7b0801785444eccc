"""The cluster at a moment of a trace, and the instances that the problems' adapters make of it."""

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple

from dlsched.errors import OptionError, has_no_option
from dlsched.records.job import TraceJob
from dlsched.records.readers.values import format_duration, parse_duration
from dlsched.records.trace import Trace
from dlsched.registry.cluster_state import ClusterState, JobState, Server, adapter, uniform
from dlsched.registry.labels import labelled
from dlsched.schema.envelope import AnyInstance
from dlsched.schema.fields import Id
from dlsched.schema.flaws import Flaw
from dlsched.schema.quantities import Number, exact, to_json
from dlsched.simulation.api import simulate
from dlsched.simulation.workload.clock import seconds
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload
from dlsched.text.figures import shorten


class Placement(NamedTuple):
    """A job that was started.

    Attributes
    ----------
    start, finish
        Seconds from the trace's first submission.
    gpus
        ``(server, GPUs held there)`` in the order of placement.
    """

    job: TraceJob
    start: Number
    finish: Number
    gpus: tuple[tuple[Id, int], ...]


@dataclass(frozen=True)
class Snapshot:
    """A cluster at one moment of a trace.

    Attributes
    ----------
    at
        Seconds from the trace's first submission.
    servers, gpus
        Number of servers, and of GPUs on each.
    demand
        Servers that `reclaiming` asks to return; None for a tenth.
    running
        The jobs that hold GPUs, with where and since when, in the order of their start.
    queued
        The jobs that wait, in the order of submission.
    refused
        The jobs submitted so far that are larger than the cluster.
    finished
        Number of jobs that have ended.
    elastic_ids
        Ids of the running and queued jobs that are elastic.
    name
        Name of the instances; None for one made of problem, trace, moment, cluster and options.
    source
        Python expression that returns the snapshot.
    settings
        The options that are not at their defaults, for the instances' names.
    state
        What the problems' adapters take. The servers are s1, s2, and so on; an elastic job can run
        with half of its GPUs, rounded up, and with twice that number.
    """

    trace: str
    at: Number
    servers: int
    gpus: int
    demand: int | None
    running: tuple[Placement, ...]
    queued: tuple[TraceJob, ...]
    refused: tuple[TraceJob, ...]
    finished: int
    elastic_ids: frozenset[Id]
    name: str | None
    source: str
    settings: Mapping[str, Any]
    state: ClusterState

    def __repr__(self) -> str:
        """Return trace, moment, cluster, and the numbers of jobs."""
        return (
            f"<snapshot of {shorten(self.trace, 60)!r} at {format_duration(self.at)}: "
            f"{self.servers:,} servers of {self.gpus:,} GPUs, {self.free_gpus:,} GPUs free; "
            f"{len(self.running):,} jobs running, {len(self.queued):,} queued, "
            f"{len(self.refused):,} refused, {self.finished:,} finished>"
        )

    @property
    def held_gpus(self) -> int:
        """GPUs that running jobs hold."""
        return sum(p.job.gpus for p in self.running)

    @property
    def free_gpus(self) -> int:
        """GPUs that no job holds."""
        return self.servers * self.gpus - self.held_gpus

    def instance(self, problem: str, **options: Any) -> AnyInstance:
        """Return the instance of a problem at this moment.

        Parameters
        ----------
        problem
            Name of a problem that has an adapter: a module ``state``.
        **options
            Keyword arguments of the adapter's function ``instance``.

        Raises
        ------
        UnknownName
            If there is no such problem.
        OptionError
            If the problem has no adapter, or this has no such option or cannot take the value.
        """
        function = adapter(problem).instance
        known = inspect.signature(function).parameters
        for name in options:
            if name not in list(known)[1:]:
                raise OptionError(has_no_option(f"the state of {problem}", name, list(known)[1:]))
        adapted: AnyInstance = function(self.state, **options)
        chosen = {k: v for k, v in options.items() if v != known[k].default}
        label = f"{problem}-{self.trace}-{format_duration(self.at)}-{self.servers}x{self.gpus}"
        given = "".join(f", {k}={v!r}" for k, v in options.items() if v is not None)
        counts = (
            f"{len(self.running)} jobs running, {len(self.queued)} queued, "
            f"{len(self.refused)} refused, {self.finished} finished; {self.free_gpus} GPUs free"
        )
        labels = {
            "name": self.name or labelled(label, chosen | dict(self.settings)),
            "source": f"{self.source}.instance({problem!r}{given})",
            "notes": "; ".join(filter(None, (counts, adapted.notes))),
        }
        return adapted.model_copy(update=labels)

    @cached_property
    def reclaiming(self) -> AnyInstance:
        """Which `demand` servers to return (Lyra, section 4)."""
        return self.instance("reclaiming", demand=self.demand)

    @cached_property
    def elastic(self) -> AnyInstance:
        """Which jobs get the GPUs that no base worker holds (Lyra, section 5.2)."""
        return self.instance("elastic")


def snapshot(
    trace: Trace,
    at: float | str | Number,
    *,
    servers: int = 64,
    gpus: int = 8,
    demand: int | None = None,
    elastic: float = 0.2,
    seed: int = 0,
    name: str | None = None,
) -> Snapshot:
    """Return the cluster at a moment of a trace whose jobs run under the policy ``fifo``.

    All servers are empty at the first submission. Jobs start strictly in the order of submission,
    where `dlsched.simulation.policies.placement.Placement` puts them. At any moment jobs end first,
    then jobs arrive, then jobs start. A job without GPUs is left out.

    Parameters
    ----------
    at
        Seconds from the trace's first submission, or a duration like ``"3d"``. Jobs submitted at
        that moment are included; jobs that finish at it are not.
    servers, gpus
        Number of servers, and of GPUs on each.
    demand
        Servers to return, for `Snapshot.reclaiming`; a tenth by default, at least one.
    elastic
        Share of the jobs with two GPUs or more that are elastic, which no trace records. Half of
        such a job's GPUs, rounded down, are flexible workers.
    seed
        With a job's id alone, decides whether the job is elastic.
    name
        Name of all instances.

    Raises
    ------
    OptionError
        If an option is out of its range.
    """
    if not 0 <= elastic <= 1:
        raise OptionError(f"elastic={elastic} must be a share from 0 to 1")
    if demand is not None and demand < 0:
        raise OptionError(f"demand={demand} must be at least 0 servers")
    if servers < 1 or gpus < 1:
        raise OptionError("servers and gpus must be at least 1")
    seconds = _moment(at)
    past = [job for job in trace.jobs if job.gpus and job.submit - trace.first <= seconds]
    placements = _placements(trace, [j for j in past if j.gpus <= servers * gpus], servers, gpus)
    started = [p for p in placements if p.start <= seconds]
    running = tuple(p for p in started if seconds < p.finish)
    queued = tuple(p.job for p in placements if p.start > seconds)
    elastic_ids = frozenset(
        job.id
        for job in (*(p.job for p in running), *queued)
        if job.gpus > 1 and uniform(job.id, seed) < elastic
    )

    def job_state(job: TraceJob, **progress: Any) -> JobState:
        return _job_state(trace, job, job.id in elastic_ids, **progress)

    held = (
        job_state(
            p.job, remaining=p.finish - seconds, attained=seconds - p.start, allocation=p.gpus
        )
        for p in running
    )
    state = ClusterState(
        time=seconds,
        servers=tuple(Server(f"s{i + 1}", gpus) for i in range(servers)),
        running=tuple(held),
        waiting=tuple(job_state(job, remaining=job.duration) for job in queued),
    )
    options = f"{servers=}, {gpus=}, {elastic=}, {seed=}"
    options += "" if demand is None else f", {demand=}"
    chosen, usual = {"elastic": elastic, "seed": seed}, {"elastic": 0.2, "seed": 0}
    return Snapshot(
        trace=trace.name,
        at=seconds,
        servers=servers,
        gpus=gpus,
        demand=demand,
        running=running,
        queued=queued,
        refused=tuple(job for job in past if job.gpus > servers * gpus),
        finished=len(started) - len(running),
        elastic_ids=elastic_ids,
        name=name,
        source=f"dlsched.simulation.snapshot({trace.source or trace.name}, "
        f"at={to_json(seconds)}, {options})",
        settings={k: v for k, v in chosen.items() if v != usual[k]},
        state=state,
    )


def _placements(
    trace: Trace, jobs: Sequence[TraceJob], servers: int, gpus: int
) -> tuple[Placement, ...]:
    """Return when and where jobs run under the policy fifo, in the order of their start."""
    if not jobs:
        return ()
    rows = [
        {"id": job.id, "gpus": job.gpus, "submit": job.submit - trace.first, "work": job.duration}
        for job in jobs
    ]
    workload = Workload.parse({"name": trace.name, "jobs": rows}, trace.name)
    log = simulate(workload, Cluster.uniform(servers, gpus), "fifo").log
    placements = []
    for row in sorted(log.rows("segments"), key=itemgetter(1, 0)):
        job, start, end, _, shares, *_ = row
        held = tuple((name, count) for name, count, *_ in json.loads(shares))
        placements.append(Placement(jobs[job], seconds(int(start)), seconds(int(end)), held))
    return tuple(placements)


def _moment(value: float | str | Number) -> Number:
    """Return a moment after the first submission as an exact number of seconds."""
    try:
        seconds = exact(parse_duration(value) if isinstance(value, str) else value)
    except Flaw as flaw:
        raise OptionError(f"the time {flaw.problem}; write seconds, or a duration as 3d") from None
    if seconds < 0:
        raise OptionError(f"the time {value} is negative; count from the first submission")
    return seconds


def queue(
    trace: Trace,
    at: float | str | Number,
    *,
    servers: int = 8,
    gpus: int = 8,
    resources: int = 3,
    order: str = "srsf",
    name: str | None = None,
) -> AnyInstance:
    """Return the jobs that Muri would group at a moment (Algorithm 1, lines 3-5).

    Parameters
    ----------
    at, servers, gpus, name
        As in `snapshot`.
    resources, order
        As in `dlsched.problems.interleaving.instances.state.instance`.

    Raises
    ------
    UnknownName
        If there is no such order.
    """
    shot = snapshot(trace, at, servers=servers, gpus=gpus, name=name)
    return shot.instance("interleaving", resources=resources, order=order)


def pool(
    trace: Trace, *, resources: int = 3, budget: float | None = None, name: str | None = None
) -> AnyInstance:
    """Return all jobs of a trace as one cover of interleaving, as if they waited at once.

    Parameters
    ----------
    resources, budget
        As in `dlsched.problems.interleaving.instances.state.pool`.
    name
        Name of the instance.
    """
    jobs = [_job_state(trace, job, False, remaining=job.duration) for job in trace.jobs]
    pooled: AnyInstance = adapter("interleaving").pool(jobs, resources=resources, budget=budget)
    label = f"interleaving-{trace.name}-k{resources}"
    label += "" if budget is None else f"-budget={budget}"
    source = f"dlsched.simulation.pool({trace.source or trace.name}, {resources=}, {budget=})"
    return pooled.model_copy(update={"name": name or label, "source": source})


def _job_state(trace: Trace, job: TraceJob, elastic: bool, **progress: Any) -> JobState:
    least = job.gpus - job.gpus // 2 if elastic else job.gpus
    return JobState(
        id=job.id,
        gpus=job.gpus,
        min_gpus=least,
        max_gpus=2 * least if elastic else least,
        submit=job.submit - trace.first,
        model=job.model,
        stages=job.stages,
        **progress,
    )

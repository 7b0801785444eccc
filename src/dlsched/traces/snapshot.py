"""The cluster at a moment of a trace, as an instance of reclaiming and an epoch of elastic."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from dlsched import registry
from dlsched.errors import OptionError
from dlsched.labels import labelled
from dlsched.problems.reclaiming.schema import Instance as Reclaiming
from dlsched.schema import Id, Instance, Number, to_json
from dlsched.traces.duration import spell_duration
from dlsched.traces.replay import Placement, moment, replay
from dlsched.traces.trace import Trace, TraceJob


@dataclass(frozen=True)
class Snapshot:
    """A cluster on loan at one moment of a trace.

    Attributes
    ----------
    at
        Seconds from the trace's first submission.
    servers, gpus
        Number of servers, and of GPUs on each.
    demand
        Servers that `reclaiming` asks back.
    running
        The jobs that hold GPUs, with where and since when, in the order of their start.
    queued
        The jobs that wait, in the order of submission.
    refused
        The jobs submitted so far that are larger than the cluster.
    finished
        How many jobs have left.
    elastic_ids
        Ids of the running and queued jobs that are elastic.
    name
        Name of the instances; ``None`` for one made of problem, trace, moment and cluster.
    source
        How to obtain the snapshot again, as a Python expression.
    settings
        The options that are not at their defaults, for the instances' names.
    """

    trace: str
    at: Number
    servers: int
    gpus: int
    demand: int
    running: tuple[Placement, ...]
    queued: tuple[TraceJob, ...]
    refused: tuple[TraceJob, ...]
    finished: int
    elastic_ids: frozenset[Id]
    name: str | None
    source: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def held_gpus(self) -> int:
        """GPUs that running jobs hold."""
        return sum(p.job.gpus for p in self.running)

    @property
    def free_gpus(self) -> int:
        """GPUs that nobody holds."""
        return self.servers * self.gpus - self.held_gpus

    def base_gpus(self, job: TraceJob) -> int:
        """GPUs that a job cannot run without: half of an elastic job's, rounded up, else all."""
        return job.gpus - job.gpus // 2 if job.id in self.elastic_ids else job.gpus

    @cached_property
    def reclaiming(self) -> Reclaiming:
        """Which `demand` servers to return (Lyra, section 4): the running jobs where they are.

        A worker of the instance is all that a job holds on a server, split where some of it is
        flexible. An elastic job's flexible GPUs are those that it was given last.
        """
        data = self._envelope("reclaiming") | {
            "demand": self.demand,
            "servers": [{"id": f"s{s + 1}", "gpus": self.gpus} for s in range(self.servers)],
            "jobs": [{"id": p.job.id, "workers": self._workers(p)} for p in self.running],
        }
        return Reclaiming.parse(data, "the snapshot")

    @cached_property
    def elastic(self) -> Instance:
        """The epoch's allocation (Lyra, section 5.2): who gets the GPUs that no base worker holds.

        A worker has one GPU. An elastic job has from its base to twice its base workers, any
        other exactly its GPUs. Running times are what the trace's duration leaves, scaled from
        the job's recorded GPUs to its most workers, and rounded up to whole milliseconds.
        """
        jobs = [self._ranged(p.job, p.finish - self.at, True) for p in self.running]
        jobs += [self._ranged(job, job.duration, False) for job in self.queued]
        held = sum(self.base_gpus(p.job) for p in self.running)
        data = self._envelope("elastic") | {
            "capacity": self.servers * self.gpus - held,
            "jobs": jobs,
        }
        made: Instance = registry.problem("elastic").instance.parse(data, "the snapshot")
        return made

    def _envelope(self, problem: str) -> dict[str, Any]:
        label = f"{problem}-{self.trace}-{spell_duration(self.at)}-{self.servers}x{self.gpus}"
        label = labelled(label, self.settings)
        return {
            "dlsched": 1,
            "problem": problem,
            "name": self.name or label,
            "source": self.source,
            "notes": f"{len(self.running)} jobs running, {len(self.queued)} queued, "
            f"{len(self.refused)} refused, {self.finished} finished; {self.free_gpus} GPUs free",
        }

    def _workers(self, placement: Placement) -> list[dict[str, Any]]:
        base = self.base_gpus(placement.job)
        workers: list[dict[str, Any]] = []
        for server, gpus in placement.gpus:
            stays = min(gpus, base)
            base -= stays
            for count, flexible in ((stays, False), (gpus - stays, True)):
                if count:
                    worker = {"server": f"s{server + 1}", "gpus": count, "flexible": flexible}
                    workers.append(worker)
        return workers

    def _ranged(self, job: TraceJob, left: Number, running: bool) -> dict[str, Any]:
        least = self.base_gpus(job)
        most = 2 * least if job.id in self.elastic_ids else job.gpus
        milliseconds = math.ceil(Fraction(left) * 1000 * job.gpus / most)
        entry = {
            "id": job.id,
            "gpus_per_worker": 1,
            "min_workers": least,
            "max_workers": most,
            # A job that is over in no time would have no running time to scale.
            "min_running_time": Fraction(max(1, milliseconds), 1000),
        }
        return entry | ({"running": True} if running else {})


def snapshot(
    trace: Trace,
    at: float | str | Number,
    *,
    servers: int = 64,
    gpus: int = 8,
    demand: int | None = None,
    elastic: float = 0.2,
    seed: int = 0,
    spread: bool = True,
    name: str | None = None,
) -> Snapshot:
    """Replay a trace up to a moment and return the cluster as it then is.

    Parameters
    ----------
    at
        Seconds from the trace's first submission, or a duration like ``"3d"``. Jobs submitted at
        that moment are there; jobs that finish at it are gone.
    servers, gpus, spread
        The cluster, and whether jobs may be spread over it; see `dlsched.traces.replay`.
    demand
        Servers to return; a tenth by default, at least one.
    elastic
        Share of the jobs with two GPUs or more that are elastic, which no trace records. Half of
        such a job's GPUs, rounded down, are flexible workers.
    seed
        Decides, job by job from its id, which they are.
    name
        Name of both instances.

    Raises
    ------
    OptionError
        If an option is out of its range.
    """
    if not 0 <= elastic <= 1:
        raise OptionError(f"elastic={elastic} must be a share from 0 to 1")
    if demand is not None and demand < 0:
        raise OptionError(f"demand={demand} must be at least 0 servers")
    seconds = moment(at)
    story = replay(trace, servers=servers, gpus=gpus, until=seconds, spread=spread)
    running = story.running(seconds)
    jobs = [*(p.job for p in running), *story.queued]
    demand = max(1, servers // 10) if demand is None else demand
    chosen = {"demand": demand, "elastic": elastic, "seed": seed, "spread": spread}
    usual = {"demand": max(1, servers // 10), "elastic": 0.2, "seed": 0, "spread": True}
    options = f"{servers=}, {gpus=}, {demand=}, {elastic=}, {seed=}, {spread=}"
    return Snapshot(
        trace=trace.name,
        at=seconds,
        servers=servers,
        gpus=gpus,
        demand=demand,
        running=running,
        queued=story.queued,
        refused=story.refused,
        finished=len(story.placements) - len(running),
        elastic_ids=frozenset(
            job.id for job in jobs if job.gpus > 1 and _lot(job.id, seed) < elastic
        ),
        name=name,
        source=f"dlsched.traces.snapshot({trace.source or trace.name}, "
        f"at={to_json(seconds)}, {options})",
        settings={k: v for k, v in chosen.items() if v != usual[k]},
    )


def _lot(job: str, seed: int) -> float:
    """Draw from [0, 1) by the job's id alone, so that other jobs do not change its lot."""
    digest = hashlib.blake2b(f"{seed}:{job}".encode(), digest_size=6).digest()
    return int.from_bytes(digest) / 2.0**48

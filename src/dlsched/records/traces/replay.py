"""Replaying a trace onto a cluster: first come first served, best fit."""

from __future__ import annotations

import heapq
import math
from collections import deque
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError
from dlsched.problems.reclaiming.instances.generate import best_fit
from dlsched.records.readers.values import parse_duration
from dlsched.records.traces.job import TraceJob
from dlsched.records.traces.trace import Trace
from dlsched.schema.flaws import Flaw
from dlsched.schema.quantities import Number, exact, simplify


@dataclass(frozen=True, slots=True)
class Placement:
    """A job that was started.

    Attributes
    ----------
    start, finish
        Seconds from the trace's first submission.
    gpus
        ``(server, GPUs held there)`` in the order of placement; servers count from 0.
    """

    job: TraceJob
    start: Number
    finish: Number
    gpus: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Replay:
    """The jobs submitted until a moment: started, waiting or refused.

    Attributes
    ----------
    until
        The moment, in seconds from the first submission; None if the replay ran to its end.
    placements
        The jobs started, in that order, which is the order of submission.
    queued
        The jobs still waiting, in the order of submission.
    refused
        The jobs larger than the cluster.
    """

    servers: int
    gpus: int
    until: Number | None
    placements: tuple[Placement, ...]
    queued: tuple[TraceJob, ...]
    refused: tuple[TraceJob, ...]

    def __repr__(self) -> str:
        """Return the cluster, and the numbers of jobs."""
        end = "" if self.until is None else f" until {float(self.until):,.0f} s"
        return (
            f"<replay{end} on {self.servers:,} servers of {self.gpus:,} GPUs: "
            f"{len(self.placements):,} jobs started, {len(self.queued):,} queued, "
            f"{len(self.refused):,} refused>"
        )

    def running(self, at: Number) -> tuple[Placement, ...]:
        """Return the jobs that hold GPUs at a moment not after ``until``; at its end, none does."""
        return tuple(p for p in self.placements if p.start <= at < p.finish)


def replay(
    trace: Trace,
    *,
    servers: int = 64,
    gpus: int = 8,
    until: float | str | Number | None = None,
    spread: bool = True,
) -> Replay:
    """Replay a trace onto servers that are all empty at its first submission.

    Jobs start strictly in the order of submission: while the first in the queue does not fit, all
    others wait, even if they would fit (no backfilling). A started job holds its GPUs for its
    duration. At any moment jobs end first, then jobs arrive, then jobs start.

    A job of n GPUs takes n // `gpus` empty servers and n % `gpus` GPUs of one other server, the one
    with the fewest free GPUs that suffice. If that is impossible and `spread` is true, it takes
    single GPUs, each on the server with the fewest free ones; so it waits only while fewer GPUs are
    free than it needs. A job that needs more GPUs than the cluster has is refused, and one that
    needs none is left out.

    Parameters
    ----------
    servers, gpus
        Number of servers, and of GPUs on each.
    until
        End of the replay: seconds from the first submission, or a duration like ``"3d"``.
    spread
        Whether a job may take single GPUs; otherwise it waits for whole servers and one part.

    Raises
    ------
    OptionError
        If the cluster is empty, or `until` is negative or not a time.
    """
    if servers < 1 or gpus < 1:
        raise OptionError("servers and gpus must be at least 1")
    rate = trace.ticks_per_second
    limit = None if until is None else moment(until)
    cluster = _Cluster(trace, servers, gpus, spread)
    cluster.run(math.inf if limit is None else math.floor(limit * rate))
    jobs = trace.jobs

    def seconds(ticks: int) -> Number:
        return simplify(Fraction(ticks, rate))

    return Replay(
        servers,
        gpus,
        limit,
        tuple(
            Placement(jobs[j], seconds(start), seconds(start + cluster.length[j]), servers_used)
            for j, start, servers_used in cluster.started
        ),
        tuple(jobs[j] for j in cluster.queue),
        tuple(jobs[j] for j in cluster.refused),
    )


def moment(value: float | str | Number) -> Number:
    """Return a moment of a replay as an exact number of seconds.

    Raises
    ------
    OptionError
        If it is negative, not finite, or neither a number nor a duration.
    """
    try:
        seconds = exact(parse_duration(value) if isinstance(value, str) else value)
    except Flaw as flaw:
        raise OptionError(f"the time {flaw.problem}; write seconds, or a duration as 3d") from None
    if seconds < 0:
        raise OptionError(f"the time {value} is negative; count from the first submission")
    return seconds


class _Cluster:
    """The state of a replay; times are whole ticks, so that events are ordered exactly."""

    def __init__(self, trace: Trace, servers: int, gpus: int, spread: bool) -> None:
        self.submit, self.length = trace.ticks
        self.size = [job.gpus for job in trace.jobs]
        self.gpus = gpus
        self.spread = spread
        self.free = np.full(servers, gpus)
        self.idle = self.total = servers * gpus
        self.queue: deque[int] = deque()
        self.refused: list[int] = []
        self.started: list[tuple[int, int, tuple[tuple[int, int], ...]]] = []
        self.leaving: list[tuple[int, int]] = []  # heap of (tick, position in started)

    def run(self, limit: float) -> None:
        """Process all events until `limit`, that tick included."""
        arrivals = deque(range(len(self.submit)))
        while arrivals or self.leaving:
            now = min(
                self.submit[arrivals[0]] if arrivals else math.inf,
                self.leaving[0][0] if self.leaving else math.inf,
            )
            if now > limit:
                return
            while self.leaving and self.leaving[0][0] == now:
                self.release(heapq.heappop(self.leaving)[1])
            while arrivals and self.submit[arrivals[0]] == now:
                self.arrive(arrivals.popleft())
            while self.queue and self.start(self.queue[0], int(now)):
                self.queue.popleft()

    def arrive(self, j: int) -> None:
        """Add a job to the queue, or to the refused jobs if it exceeds the cluster."""
        if self.size[j] > self.total:
            self.refused.append(j)
        elif self.size[j]:
            self.queue.append(j)

    def start(self, j: int, now: int) -> bool:
        """Start a job if it fits; return whether it did."""
        if self.size[j] > self.idle:
            return False
        where = place(self.free, self.gpus, self.size[j], self.spread)
        if where is None:
            return False
        self.idle -= self.size[j]
        heapq.heappush(self.leaving, (now + self.length[j], len(self.started)))
        self.started.append((j, now, tuple(where.items())))
        return True

    def release(self, position: int) -> None:
        """Free a job's GPUs."""
        j, _, where = self.started[position]
        self.idle += self.size[j]
        for server, gpus in where:
            self.free[server] += gpus


def place(
    free: NDArray[np.int64], gpus: int, size: int, spread: bool = True
) -> dict[int, int] | None:
    """Place a job on servers of `gpus` GPUs by the rule of `replay`, and take its GPUs from `free`.

    Returns
    -------
    dict or None
        ``{server: GPUs}`` in the order of placement; None, with `free` unchanged, if it does
        not fit.
    """
    whole, rest = divmod(size, gpus)
    remaining = free.copy()
    servers = best_fit(remaining, gpus, whole)
    if servers is not None:
        last = best_fit(remaining, rest, 1) if rest else []
        if last is not None:
            free[:] = remaining
            return dict.fromkeys(servers, gpus) | dict.fromkeys(last, rest)
    singles = best_fit(free, 1, size) if spread else None
    if singles is None:
        return None
    where: dict[int, int] = {}
    for server in singles:
        where[server] = where.get(server, 0) + 1
    return where

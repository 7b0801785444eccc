"""Replaying a trace's arrivals onto a cluster: first come first served, best fit."""

from __future__ import annotations

import heapq
import math
from collections import deque
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError
from dlsched.problems.reclaiming.generate import best_fit
from dlsched.schema import Flaw, Number, exact
from dlsched.traces.duration import parse_duration
from dlsched.traces.trace import Trace, TraceJob


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
    """What became of every job submitted until a moment.

    Attributes
    ----------
    until
        The moment, in seconds from the first submission; ``None`` if the replay ran to its end.
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

    def running(self, at: Number) -> tuple[Placement, ...]:
        """Return the jobs that hold GPUs at a moment not after ``until``; one leaves on time."""
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

    Jobs are served strictly in the order of submission: while the first in the queue does not
    fit, those behind it wait too, even if they would fit (no backfilling). A started job holds
    its GPUs for its duration. At any moment departures come first, then arrivals, then starts.

    A job is kept together if it can be: it takes as many whole servers as it fills, and the rest
    of its GPUs on one server, the fullest that has room. If that fails, and with `spread`, it
    takes single GPUs, each on the fullest server with one left; so a job waits only while there
    are fewer free GPUs than it needs. A job that needs more GPUs than the cluster has is refused,
    and one that needs none is not replayed.

    Parameters
    ----------
    servers, gpus
        Number of servers, and of GPUs on each.
    until
        Stop here: seconds from the first submission, or a duration like ``"3d"``. What happens
        later does not matter to what happened before.
    spread
        Whether a job may be spread by single GPUs; otherwise it waits until it can be together.

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
    return Replay(
        servers,
        gpus,
        limit,
        tuple(
            Placement(jobs[j], _seconds(start, rate), _seconds(start + cluster.length[j], rate), at)
            for j, start, at in cluster.started
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
    """The state of a replay; all times are whole ticks, so that no rounding reorders events."""

    def __init__(self, trace: Trace, servers: int, gpus: int, spread: bool) -> None:
        self.submit, self.length = trace.ticks
        self.size = [job.gpus for job in trace.jobs]
        self.gpus, self.spread = gpus, spread
        self.free = np.full(servers, gpus)
        self.idle = self.total = servers * gpus
        self.queue: deque[int] = deque()
        self.refused: list[int] = []
        self.started: list[tuple[int, int, tuple[tuple[int, int], ...]]] = []
        self.leaving: list[tuple[int, int]] = []  # heap of (tick, position in started)

    def run(self, limit: float) -> None:
        """Let everything happen until `limit`, that moment included."""
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
        """Queue a job that the cluster could hold."""
        if self.size[j] > self.total:
            self.refused.append(j)
        elif self.size[j]:
            self.queue.append(j)

    def start(self, j: int, now: int) -> bool:
        """Start a job if it fits."""
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
        """Give a job's GPUs back."""
        j, _, where = self.started[position]
        self.idle += self.size[j]
        for server, gpus in where:
            self.free[server] += gpus


def place(
    free: NDArray[np.int64], gpus: int, size: int, spread: bool = True
) -> dict[int, int] | None:
    """Place a job on servers of `gpus` GPUs by the rule of `replay`, and book its GPUs.

    Returns
    -------
    dict or None
        ``{server: GPUs}`` in the order of placement; ``None``, with nothing booked, if it does
        not fit.
    """
    whole, rest = divmod(size, gpus)
    room = free.copy()
    servers = best_fit(room, gpus, whole)
    if servers is not None:
        last = best_fit(room, rest, 1) if rest else []
        if last is not None:
            free[:] = room
            return dict.fromkeys(servers, gpus) | dict.fromkeys(last, rest)
    singles = best_fit(free, 1, size) if spread else None
    if singles is None:
        return None
    where: dict[int, int] = {}
    for server in singles:
        where[server] = where.get(server, 0) + 1
    return where


def _seconds(ticks: int, rate: int) -> Number:
    seconds = Fraction(ticks, rate)
    return int(seconds) if seconds.denominator == 1 else seconds

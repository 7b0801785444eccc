"""What happens in the published event loop, as rows of the log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from dlsched.simulation.log import DecisionRow, Ending, Log, Segment
from dlsched.simulation.published.muri.jobs import JobState
from dlsched.simulation.published.muri.servers import Shares

BATCH = 5000
"""Rows after which the log is committed."""


class Held(NamedTuple):
    """What a running job holds: GPUs by server, the name of its group, and its iteration time."""

    shares: Shares
    sharing: str | None
    iteration: float


class _Open:
    """A segment that has not ended."""

    __slots__ = ("held", "overhead", "start", "work")

    def __init__(self, held: Held, start: float) -> None:
        self.held, self.start = held, start
        self.overhead = self.work = 0.0


class Recorder:
    """Joins what happens between events to segments, one per stretch in which nothing changes.

    Parameters
    ----------
    log
        Open; rows are added and committed.
    servers
        Ids of the servers, by position.
    method
        What groups the jobs, for the log.
    """

    def __init__(self, log: Log, servers: Sequence[str], method: str | None) -> None:
        self.log, self.servers = log, servers
        self.solved = json.dumps({} if method is None else {"method": method})
        self.decisions = 0
        self.open: dict[int, _Open] = {}
        self._texts: dict[Shares, str] = {}

    def progress(self, job: JobState, overhead: float, work: float) -> None:
        """Add seconds of overhead and iterations to a running job's segment."""
        segment = self.open[job.index]
        segment.overhead += overhead
        segment.work += work

    def complete(self, job: JobState, time: float) -> None:
        """End a job: the published simulator counts what is left as done, without overhead."""
        self.open[job.index].work += job.left
        self._close(job.index, time, Ending.COMPLETED)
        self.log.add("completions", (job.index, time))

    def decide(
        self, time: float, cause: str, waiting: int, held: dict[int, Held], seconds: float
    ) -> None:
        """Record what all running jobs hold from now on.

        Parameters
        ----------
        waiting
            Jobs that waited before the decision.
        held
            By position of the job.
        seconds
            That the decision took.
        """
        before = self.open
        running = len(before)
        stopped = [index for index in before if index not in held]
        for index in stopped:
            self._close(index, time, Ending.PREEMPTED)
        started = 0
        for index, now in held.items():
            segment = before.get(index)
            if segment is None:
                started += 1
            elif segment.held == now:
                continue
            else:
                self._close(index, time, Ending.CHANGED)
            before[index] = _Open(now, time)
        row = DecisionRow(time, cause, waiting, running, started, len(stopped), self.solved)
        self.log.add("decisions", row)
        self.log.add("timings", (self.decisions, seconds))
        self.decisions += 1
        if self.log.pending >= BATCH:
            self.log.commit()

    def _close(self, index: int, time: float, ending: Ending) -> None:
        segment = self.open.pop(index)
        held = segment.held
        overhead = min(max(segment.overhead, 0.0), time - segment.start)  # the sum is rounded
        row = Segment(
            index,
            segment.start,
            time,
            sum(gpus for _, gpus in held.shares),
            self._text(held.shares),
            held.sharing,
            repr(1 / held.iteration),
            overhead,
            segment.work,
            0.0,
            ending,
        )
        self.log.add("segments", row)

    def _text(self, shares: Shares) -> str:
        if shares not in self._texts:
            self._texts[shares] = json.dumps([[self.servers[s], gpus] for s, gpus in shares])
        return self._texts[shares]

"""What happens in a published simulator as rows of the log: a segment while nothing changes."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from dlsched.simulation.log import Ending, Segment
from published.log import DecisionRow, Log

Held = TypeVar("Held")
"""What a job holds, as far as a segment lasts only while it stays the same."""


@dataclass(slots=True)
class Open(Generic[Held]):
    """A segment that has not ended: what the job holds, since when, and what it did."""

    held: Held
    start: float
    overhead: float = 0.0
    work: float = 0


class SegmentRecorder(ABC, Generic[Held]):
    """Joins what happens between events to segments, one per stretch in which nothing changes.

    Attributes
    ----------
    open
        The segments of the running jobs, by position of the job.
    counts_moves
        Whether jobs that run on with something else count as started.
    """

    counts_moves: ClassVar[bool]

    def __init__(self, log: Log) -> None:
        self.log = log
        self.open: dict[int, Open[Held]] = {}
        self.decisions = 0

    @abstractmethod
    def row(self, job: int, segment: Open[Held], end: float, ending: Ending) -> Segment:
        """Return the log's row of a segment that ends."""

    def end(self, job: int, time: float, ending: Ending) -> None:
        """End a job's segment."""
        self.log.add("segments", self.row(job, self.open.pop(job), time, ending))

    def complete(self, job: int, time: float) -> None:
        """End a job."""
        self.end(job, time, Ending.COMPLETED)
        self.log.add("completions", (job, time))

    def decide(
        self,
        time: float,
        causes: str,
        waiting: int,
        held: Mapping[int, Held],
        solved: str,
        seconds: float,
    ) -> None:
        """Record what all running jobs hold from now on.

        Parameters
        ----------
        waiting
            Jobs that waited before the decision.
        held
            By position of the job.
        solved, seconds
            How the decision was found, as JSON, and the time that it took.
        """
        running = len(self.open)
        stopped = [job for job in self.open if job not in held]
        for job in stopped:
            self.end(job, time, Ending.PREEMPTED)
        started = 0
        for job, now in held.items():
            segment = self.open.get(job)
            if segment is not None:
                if segment.held == now:
                    continue
                self.end(job, time, Ending.CHANGED)
            started += segment is None or self.counts_moves
            self.open[job] = Open(now, time)
        row = DecisionRow(time, causes, waiting, running, started, len(stopped), solved)
        self.log.add("decisions", row)
        self.log.add("timings", (self.decisions, seconds))
        self.decisions += 1

"""What happens in the event loop of Muri's published simulator, as rows of the log."""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dlsched.simulation.log import Ending, Segment
from published.log import Log
from published.muri.jobs import JobState
from published.muri.servers import Shares
from published.recorder import Open, SegmentRecorder


class Held(NamedTuple):
    """What a running job holds: GPUs by server, the name of its group, and its iteration time."""

    shares: Shares
    sharing: str | None
    iteration: float


class Recorder(SegmentRecorder[Held]):
    """Writes segments, completions and decisions; work is in iterations.

    Parameters
    ----------
    log
        Rows are added to it.
    servers
        Ids of the servers, by position.
    method
        What groups the jobs, for the log.
    """

    counts_moves = False

    def __init__(self, log: Log, servers: Sequence[str], method: str | None) -> None:
        super().__init__(log)
        self.servers = servers
        self.solved = json.dumps({} if method is None else {"method": method})
        self._texts: dict[Shares, tuple[int, str]] = {}

    def progress(self, job: JobState, overhead: float, work: float) -> None:
        """Add seconds of overhead and iterations to a running job's segment."""
        segment = self.open[job.index]
        segment.overhead += overhead
        segment.work += work

    def complete_all(self, job: JobState, time: float) -> None:
        """End a job: the published simulator counts what is left as done, without overhead."""
        self.open[job.index].work += job.left
        self.complete(job.index, time)

    def record(
        self, time: float, causes: str, waiting: int, held: Mapping[int, Held], seconds: float
    ) -> None:
        """Record a decision."""
        self.decide(time, causes, waiting, held, self.solved, seconds)

    def row(self, job: int, segment: Open[Held], end: float, ending: Ending) -> Segment:
        """Return the log's row of a segment that ends."""
        shares, sharing, iteration = segment.held
        known = self._texts.get(shares)
        if known is None:
            listed = json.dumps([[self.servers[s], gpus] for s, gpus in shares])
            known = self._texts[shares] = sum(gpus for _, gpus in shares), listed
        return Segment(
            job=job,
            start=segment.start,
            end=end,
            gpus=known[0],
            shares=known[1],
            sharing=sharing,
            speed=repr(1 / iteration),
            # The sum is rounded.
            overhead=min(max(segment.overhead, 0.0), end - segment.start),
            work=float(segment.work),
            lost=0.0,
            ending=ending,
        )

"""The log of Synergy's public simulator: one segment for rounds in which nothing changes."""

import json
from typing import NamedTuple

from dlsched.simulation.log import Ending, Segment
from published.log import Log
from published.recorder import Open, SegmentRecorder
from published.synergy.jobs import SimulatedJob


class Held(NamedTuple):
    """What a job holds: GPUs by server, CPUs and memory in total, and its iterations per round."""

    gpus: int
    shares: tuple[tuple[int, int], ...]
    cpus: float
    memory: float
    iterations: int


class Record(SegmentRecorder[Held]):
    """Writes segments, completions and decisions.

    Work is in iterations. A job does the same whole number of them in every round of a segment, so
    that its speed is that number over the seconds of a round, as a fraction. In a job's last round
    what is left takes less; the rest of the round counts as overhead.

    Parameters
    ----------
    servers
        Names of the servers, in order.
    interval
        Seconds of a round.
    pooled
        Whether shares are of GPUs alone, as the mechanism gives no CPUs and memory on servers.
    """

    counts_moves = True

    def __init__(self, log: Log, servers: list[str], interval: int, pooled: bool) -> None:
        super().__init__(log)
        self.servers = servers
        self.interval = interval
        self.pooled = pooled

    def round(
        self, time: float, waiting: int, jobs: list[SimulatedJob], seconds: float, solved: str
    ) -> None:
        """Log a decision: these jobs run from now on, all others wait."""
        held = {}
        for job in jobs:
            shares = tuple(job.shares.items())
            iterations = job.progress(self.interval)
            held[job.index] = Held(job.gpus, shares, job.cpus, job.memory, iterations)
        # Those that stop do so by their positions.
        self.open = dict(sorted(self.open.items()))
        self.decide(time, "round", waiting, held, solved, seconds)

    def row(self, job: int, segment: Open[Held], end: float, ending: Ending) -> Segment:
        """Return the log's row of a segment that ends."""
        held = segment.held
        shares: list[list[object]] = []
        for s, count in held.shares:
            amounts = [held.cpus * count / held.gpus, held.memory * count / held.gpus]
            shares.append([self.servers[s], count, *([] if self.pooled else amounts)])
        length = end - segment.start
        idle = 0.0
        if segment.work < round(length / self.interval) * held.iterations:
            idle = length - segment.work * self.interval / held.iterations
        return Segment(
            job=job,
            start=segment.start,
            end=end,
            gpus=held.gpus,
            shares=json.dumps(shares),
            sharing=None,
            speed=f"{held.iterations}/{self.interval}",
            overhead=idle,
            work=segment.work,
            lost=0,
            ending=ending,
        )
